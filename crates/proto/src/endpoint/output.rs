//! Transmission and timers, with fair turns for all connections.
//!
//! - [`Endpoint::handle_timeout`] gives each connection one turn at most, even if its timers are set again meanwhile:
//!   only [`Endpoint::poll_transmit`] arms the endpoint's timer of a connection.
//! - [`Endpoint::poll_transmit`] takes one packet from a connection, which then goes to the end of the queue. A
//!   connection with nothing to send leaves the queue, so a call ends after one visit to each.
//! - Answers to unknown sources go first. There are at most as many as received packets, and rate limits apply.
//! - At one moment a connection sends a bounded number of packets: Syncs, acknowledgements and retransmissions are
//!   limited by time, data by its queue.
//! - A timer that is still due after its turn waits for a millisecond (`connection::subflow::clock`).

use fairwire_units::Instant;
use fairwire_wire::HeadBuf;

use super::Endpoint;
use crate::connection::{Connection, Context, Subflow};
use crate::transmit::Transmit;

impl Endpoint {
    /// Returns when to call [`Endpoint::handle_timeout`], if ever.
    ///
    /// It is valid only after [`Endpoint::poll_transmit`] has returned `None`.
    pub fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest([self.timers.peek(), self.time_wait.next_timeout()])
    }

    /// Handles the timers that are due. Call it at [`Endpoint::next_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        self.time_wait.purge(now);
        while let Some(slot) = self.timers.pop_due(now) {
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, Subflow::handle_timeout);
            });
        }
    }

    /// Returns the next packet to send and writes its header to `head`; `None` when there is none now.
    ///
    /// Connections with something to send take turns, packet by packet.
    pub fn poll_transmit(&mut self, now: Instant, head: &mut HeadBuf) -> Option<Transmit> {
        loop {
            if let Some(transmit) = self.replies.poll_transmit(head) {
                return Some(transmit);
            }
            let slot = self.ready.pop_front()?;
            self.is_ready[slot] = false;
            let mut transmit = None;
            self.visit(now, slot, 0, |connection, ctx| {
                let outgoing =
                    connection.with(ctx, |subflow, call| subflow.poll_transmit(call, head));
                if let Some(outgoing) = outgoing {
                    transmit = Some(outgoing.on(connection.flow().path, Some(connection.id())));
                }
            });
            if transmit.is_some() {
                return transmit;
            }
            // `visit` made it ready again; it has nothing more to send until something happens.
            if self.is_ready[slot] {
                self.ready.pop_back();
                self.is_ready[slot] = false;
            }
            let at = self.connections.get(slot).and_then(|c| c.next_timeout(now));
            self.timers.set(slot, at);
        }
    }

    /// Runs `act` on a connection, then updates what the endpoint keeps about the connection.
    pub(super) fn with_connection(
        &mut self,
        now: Instant,
        slot: usize,
        act: impl FnOnce(&mut Connection, &mut Context<'_>),
    ) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let room = self.room_of(connection);
        self.visit(now, slot, room, act);
        self.recount(slot);
    }

    /// Does the same as [`Self::with_connection`] where nothing is queued: `room` need not be computed, nor memory
    /// recounted.
    #[inline]
    fn visit(
        &mut self,
        now: Instant,
        slot: usize,
        room: usize,
        act: impl FnOnce(&mut Connection, &mut Context<'_>),
    ) {
        let budget = self.room();
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let before = connection.state();
        let awaited = connection.pending_port();
        let mut ctx = Context {
            now,
            events: &mut self.events,
            replies: &mut self.replies,
            room,
            budget,
            outcome: &mut self.outcome,
            records: &mut self.records,
        };
        act(connection, &mut ctx);
        let after = connection.state();
        let moved_from = connection.subflow_mut().take_moved_from();
        let ended = connection.subflow_mut().take_ended();
        if let Some(port) = awaited
            && connection.is_announced()
        {
            self.listeners.take_place(port);
        }
        if let Some(flow) = moved_from {
            self.follow(now, slot, &flow);
        }
        if before != after {
            self.on_state_change(slot, before, after);
        }
        match ended {
            None => self.mark_ready(slot),
            Some(time_wait) => self.remove_ended(now, slot, time_wait),
        }
    }

    /// Puts a connection into the queue of [`Endpoint::poll_transmit`].
    fn mark_ready(&mut self, slot: usize) {
        if slot >= self.is_ready.len() {
            self.is_ready.resize(slot + 1, false);
        }
        if !std::mem::replace(&mut self.is_ready[slot], true) {
            self.ready.push_back(slot);
        }
    }

    /// Removes a connection that has ended: its flow is freed or enters TIMEWAIT.
    ///
    /// The record of a connection that the application knows stays readable until it is released.
    fn remove_ended(&mut self, now: Instant, slot: usize, time_wait: bool) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let flow = connection.flow();
        let announced = connection.is_announced();
        // A copy of the packet with the Init Cookie could begin it again.
        let time_wait = time_wait || connection.subflow().may_begin_again(now);
        self.detach(slot);
        if time_wait {
            self.time_wait.insert(now, self.secret.flow_hash(&flow));
        }
        if !announced {
            self.drop_connection(slot);
        }
    }
}
