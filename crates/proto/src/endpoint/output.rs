//! Packets that leave, and timers: by fair turns.
//!
//! - [`Endpoint::handle_timeout`] lets each connection have one turn at most, however its timers are
//!   set anew meanwhile: a timer is put in place by [`Endpoint::poll_transmit`] only.
//! - [`Endpoint::poll_transmit`] gives each connection one packet, then it goes to the end of the
//!   line. Who has nothing to send leaves the line, so a call ends after one visit to each.
//! - Answers to strangers go first: there are no more of them than packets that came, and no more
//!   than their limits. Syncs, acknowledgements and retransmissions have limits in time, data has its
//!   queue: at one moment a connection sends a bounded number of packets.
//! - A timer that is still due after its turn waits for a millisecond (`connection::clock`).

use fairwire_units::Instant;
use fairwire_units::plant::{Plant, planted};
use fairwire_wire::HeadBuf;

use super::Endpoint;
use crate::connection::{Connection, Context};
use crate::transmit::Transmit;

impl Endpoint {
    /// When to call [`Endpoint::handle_timeout`], if ever.
    ///
    /// Valid once [`Endpoint::poll_transmit`] has been drained.
    pub fn next_timeout(&self) -> Option<Instant> {
        match (self.timers.peek(), self.time_wait.next_timeout()) {
            (Some(timer), Some(time_wait)) => Some(timer.min(time_wait)),
            (timer, time_wait) => timer.or(time_wait),
        }
    }

    /// The moment of [`Endpoint::next_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.time_wait.purge(now);
        while let Some(slot) = self.timers.pop_due(now) {
            self.with(now, slot, Connection::handle_timeout);
        }
    }

    /// The next packet to send, its head written to `head`; `None` when there is none now.
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
                transmit = connection.poll_transmit(ctx, head);
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

    /// Lets something happen to a connection, and puts in order what follows from it.
    pub(super) fn with(
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

    /// The same where nothing is queued, so that no room is needed and none has to be counted.
    #[inline]
    fn visit(
        &mut self,
        now: Instant,
        slot: usize,
        room: usize,
        act: impl FnOnce(&mut Connection, &mut Context<'_>),
    ) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let before = connection.state();
        let awaited = connection.awaited_at();
        let mut ctx = Context {
            now,
            events: &mut self.events,
            replies: &mut self.replies,
            room,
            told: &mut self.told,
        };
        act(connection, &mut ctx);
        let after = connection.state();
        let ended = connection.take_ended();
        if let Some(port) = awaited
            && connection.is_announced()
        {
            self.listeners.take_place(port);
        }
        if before != after {
            self.note_state(slot, before, after);
        }
        match ended {
            None => self.wake(slot),
            Some(time_wait) => self.bury(now, slot, time_wait),
        }
    }

    /// Puts a connection in line for [`Endpoint::poll_transmit`].
    fn wake(&mut self, slot: usize) {
        if slot >= self.is_ready.len() {
            self.is_ready.resize(slot + 1, false);
        }
        if !std::mem::replace(&mut self.is_ready[slot], true) {
            self.ready.push_back(slot);
        }
    }

    /// A connection is over: its flow is free, or waits; what the application knows of stays to
    /// be read until it is released.
    fn bury(&mut self, now: Instant, slot: usize, time_wait: bool) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let flow = connection.flow;
        let announced = connection.is_announced();
        // A copy of the packet with the Init Cookie could begin it again.
        let time_wait = time_wait || connection.may_begin_again(now);
        self.detach(slot);
        if time_wait {
            self.time_wait.insert(now, self.secret.name(&flow));
        }
        // Planted: what the application never knew of stays.
        if !announced && !planted(Plant::HalfOpenKept) {
            self.drop_connection(slot);
        }
    }
}
