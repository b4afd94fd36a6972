//! The calls of the application.

use fairwire_units::{Duration, Instant, Rate};
use fairwire_wire::feature::Feature;

use super::{Connection, Context, State, footprint};
use crate::error::SendError;
use crate::event::{Fate, Received};
use crate::feature::Location;
use crate::id::DatagramId;
use crate::payload::Payload;
use crate::sending::{Resend, SendOptions};
use crate::stats::Stats;

impl Connection {
    /// Queues a datagram.
    pub(crate) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        payload: Payload,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        let given = payload.len();
        let payload = self.carried(payload, options.resend != Resend::Never);
        let size = payload.len();
        self.check_datagram(ctx.now, size, options)
            .map_err(|error| error.without(size - given))?;
        self.expire_queued(ctx);
        self.check_group(options)?;
        while let Some(older) = self.queue.displace(size, options.priority) {
            self.drop_queued(ctx, &older, Fate::Refused);
        }
        if !self.make_room(ctx, size, options) || self.queue.is_outranked(size) {
            return self.turn_away(ctx, options);
        }
        // A member that made room has broken the group.
        self.check_group(options)?;
        let queued = self.queue.push(ctx.now, payload, options);
        queued.ok_or(SendError::Full)
    }

    /// Returns an error if a datagram cannot be queued whatever else waits.
    #[inline]
    fn check_datagram(
        &self,
        now: Instant,
        size: usize,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let open = matches!(self.state, State::Request | State::PartOpen | State::Open);
        if !open || self.drain_until.is_some() || self.is_end_announced() {
            return Err(SendError::Closed);
        }
        // RFC 4340, 11.7.2: no more data once the peer's application has stopped reading.
        if self.reported.is_not_listening {
            return Err(SendError::NotListening);
        }
        let max = self.max_datagram();
        // RFC 4340, 14: a datagram above the maximum packet size is refused.
        if size > max {
            return Err(SendError::TooLarge { size, max });
        }
        if options.resend != Resend::Never {
            self.check_resend()?;
        }
        if options.deadline.is_some_and(|deadline| deadline < now) {
            return Err(SendError::DeadlinePassed);
        }
        Ok(())
    }

    /// Returns an error if the group of a datagram is broken.
    #[inline]
    fn check_group(&self, options: SendOptions) -> Result<(), SendError> {
        match options.group {
            Some(group) if self.groups.is_broken(group) => Err(SendError::GroupBroken { group }),
            _ => Ok(()),
        }
    }

    /// Makes room for a datagram of `size` bytes in the endpoint's memory, by dropping older ones if the policy allows
    /// it. Returns whether there is room. An empty queue always takes a datagram, so that every connection can make
    /// progress.
    fn make_room(&mut self, ctx: &mut Context<'_>, size: usize, options: SendOptions) -> bool {
        let (needed, mut room) = (footprint::of_queued(size, options), ctx.room);
        while room < needed && !self.queue.is_empty() {
            let Some(older) = self.queue.drop_oldest(options.priority) else {
                return false;
            };
            let freed = footprint::of_queued(older.payload.len(), older.options);
            self.drop_queued(ctx, &older, Fate::Refused);
            room = room.saturating_add(freed);
        }
        true
    }

    /// Answers a datagram for which there is no room: it has to wait, or where older ones make room, it is dropped
    /// because all that wait have a higher priority.
    fn turn_away(
        &mut self,
        ctx: &mut Context<'_>,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        if !self.queue.drops_oldest() {
            self.queue.refuse();
            return Err(SendError::Full);
        }
        let id = self.queue.take_id();
        self.never_sent(ctx, id, Fate::Refused);
        if let Some(group) = options.group {
            self.break_group(ctx, group);
        }
        Ok(id)
    }

    /// Returns whether the connection is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns how long the queue may drain after a close.
    pub(crate) fn drain_timeout(&self) -> Duration {
        self.config.drain_timeout.into()
    }

    /// Counts a packet of this flow with a wrong checksum.
    pub(crate) fn count_checksum_error(&mut self) {
        self.stats.checksum_errors += 1;
    }

    /// Takes the next datagram out of the receive queue.
    pub(crate) fn recv(&mut self) -> Option<Received> {
        // What came before the session began is for the session.
        let is_raw = self
            .secure
            .as_ref()
            .is_some_and(|secure| secure.session().is_none());
        if is_raw { None } else { self.received.pop() }
    }

    /// Returns whether there is room for a datagram of `size` bytes, with `room` bytes left of the endpoint's memory.
    pub(crate) fn can_send(&self, size: usize, room: usize) -> bool {
        let open = matches!(self.state, State::Request | State::PartOpen | State::Open);
        open && self.drain_until.is_none()
            && !self.is_end_announced()
            && !self.reported.is_not_listening
            && size <= self.max_datagram()
            && self.queue.has_room(size)
            && (self.queue.is_empty() || room >= footprint::of_datagram(size))
    }

    /// Returns how long the oldest datagram has waited in the send queue.
    pub(crate) fn queue_age(&self, now: Instant) -> Option<Duration> {
        let since = self.queue.oldest()?;
        Some(now.saturating_since(since))
    }

    /// Returns the counters and gauges.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.stats;
        stats.receive_drops = self.received.drops;
        stats.queued_packets = self.queue.len();
        stats.queued_bytes = self.queue.bytes();
        stats.queued_resends = self.queue.resends();
        stats.sequence_window = self.sequence.local_window;
        stats.ack_ratio = self.negotiation.current(Feature::AckRatio, Location::Local);
        stats.srtt = self.rtt.map(Into::into);
        stats.path_mtu = self.sizes.path_mtu();
        if let Some(tx) = &self.tx {
            stats.flight_packets = tx.flight().packets;
            stats.srtt = tx.srtt().or(self.rtt).map(Into::into);
            stats.gauges = tx.gauges();
            stats.allowed_rate = self.allowed_rate();
            stats.target_bitrate = self.target_bitrate();
        }
        if let Some(rx) = &self.rx {
            stats.loss_events_seen = rx.loss_events();
            stats.loss_rate_seen = rx.loss_rate();
            stats.ack_vector_state = rx.state_len();
        }
        stats
    }

    /// Returns the rate that congestion control allows now.
    pub(super) fn allowed_rate(&self) -> Option<Rate> {
        let allowed = self.tx.as_ref().and_then(|tx| tx.allowed_rate());
        allowed.or_else(|| self.window_rate())
    }

    /// Returns the window divided by the round-trip time, with the mean size of the packets sent so far.
    fn window_rate(&self) -> Option<Rate> {
        let tx = self.tx.as_ref()?;
        let (cwnd, srtt) = (tx.cwnd()?, tx.srtt()?);
        let size = match self.stats.data_sent {
            0 => self.sizes.max_datagram() as f64,
            sent => self.stats.bytes_sent as f64 / sent as f64,
        };
        let seconds = srtt.as_secs_f64();
        (seconds > 0.0).then(|| Rate::from_bytes_per_s(cwnd * size / seconds))
    }
}
