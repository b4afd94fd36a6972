//! Every timer of a connection, and what happens when it fires.
//!
//! After a timer has fired, timers that were already due at that moment fire again only a millisecond later. So
//! whatever a peer makes a half ask for, a connection wakes its endpoint at most a thousand times a second, apart from
//! timers set for later.

use fairwire_units::{Duration, Instant};
use fairwire_wire::ResetCode;

use super::{Call, State, Subflow};
use crate::connection::channel::Channel;
use crate::event::CloseReason;
use crate::half::AckDue;

/// How long a connection waits after a timer has fired and is still due.
const NEXT_TURN: Duration = Duration::from_millis(1);

impl Subflow {
    /// Returns when to call [`Self::handle_timeout`]; valid once every packet that may leave has left.
    pub(crate) fn next_timeout(&self, channel: &Channel, now: Instant) -> Option<Instant> {
        let at = self.soonest(channel, now)?;
        match self.fired_at {
            Some(fired) if at <= fired => Some(fired + NEXT_TURN),
            _ => Some(at),
        }
    }

    /// Returns the earliest of all timers.
    #[inline]
    fn soonest(&self, channel: &Channel, now: Instant) -> Option<Instant> {
        if self.state == State::Closed {
            return None;
        }
        let is_open = self.state == State::Open;
        let has_data = is_open || self.state == State::PartOpen;
        let drained = channel.drain_until;
        let always = [
            self.retry.at(),
            self.deadline,
            channel.queue.next_expiry(),
            drained.filter(|_| self.state < State::CloseReq),
        ];
        let at = Instant::earliest(always);
        if self.state < State::PartOpen {
            return at;
        }
        let at = Instant::earliest([at, self.liveness.gives_up_at()]);
        if !has_data {
            return at;
        }
        let copies = drained.and_then(|_| channel.copies_end_at());
        let session = channel.secure.as_ref();
        let at = Instant::earliest([
            at,
            copies,
            channel.messages_end_at(),
            self.pace_at,
            self.tx.as_ref().and_then(|tx| tx.next_timeout()),
            self.ack_wanted_at(now),
            session.and_then(|secure| secure.next_timeout()),
        ]);
        if !is_open {
            return at;
        }
        let probes = self.mtu.due(self.syncs.probes_from());
        let migration = self.migration.as_ref();
        let checks = migration.and_then(|migration| migration.next_timeout());
        Instant::earliest([at, self.liveness.keep_alive_at(), probes, checks])
    }

    /// Returns when an Ack should leave by itself.
    fn ack_wanted_at(&self, now: Instant) -> Option<Instant> {
        let feedback = match self.rx.as_ref()?.ack_due(now) {
            AckDue::No | AckDue::WithData => None,
            AckDue::Now => self.next_ack_at,
            AckDue::At(at) => Some(at),
        };
        let acknowledges = self.owes_ack_of_ack(now);
        let acks = self.next_ack_at.filter(|_| acknowledges);
        let at = Instant::earliest([feedback, self.agreed.due, acks]);
        at.map(|at| self.next_ack_at.map_or(at, |floor| at.max(floor)))
    }

    /// Handles every timer that has expired.
    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_, '_>) {
        let now = call.now;
        self.fired_at = Some(now);
        if self.state == State::Closed {
            return;
        }
        if self.deadline.is_some_and(|at| at <= now) {
            return self.give_up(call);
        }
        let drained = call.channel.drain_until.is_some_and(|at| at <= now);
        if drained && self.state == State::Request {
            return self.abort(call);
        }
        let silent = self.liveness.gives_up_at().is_some_and(|at| at <= now);
        if silent && self.state >= State::CloseReq {
            return self.give_up(call);
        }
        if silent && self.state >= State::PartOpen {
            let reason = CloseReason::IdleTimeout;
            return self.reset(call, ResetCode::Aborted, [0; 3], reason);
        }
        if self.retry.expired(now) {
            match self.state {
                // RFC 4340, 8.1.5: another Ack.
                State::PartOpen => self.due.ack = true,
                State::Invited => self.on_listen_timeout(),
                State::Request => {
                    self.reset_older_peer(call);
                    self.due.handshake = true;
                }
                State::CloseReq | State::Closing => self.due.handshake = true,
                // RFC 4340, 8.1.3: a Response is never repeated by a timer.
                State::Closed | State::Listen1 | State::Respond | State::Open => {}
            }
        }
        self.on_probe_timeout(call);
        self.on_migration_timeout(now);
        call.channel.expire_queued(call.ctx);
        call.channel.expire_messages(now);
        call.channel.on_session_timeout(call.ctx, self);
        self.note_dropped(call.channel);
        let waiting = call.channel.waiting(now);
        if let Some(tx) = &mut self.tx
            && tx.next_timeout().is_some_and(|at| at <= now)
        {
            tx.handle_timeout(now, waiting, call.ctx.outcome);
            let silence = call.ctx.outcome.silence;
            self.settle_outcome(call);
            self.note_losses(now, u32::from(silence), 0);
            if silence {
                self.follow_silence(call);
            }
        }
    }
}
