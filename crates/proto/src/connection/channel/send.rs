//! The calls of the application that fill the send queue.

use fairwire_units::{Duration, Instant};

use super::{Carrier, Channel, Context};
use crate::connection::footprint;
use crate::error::SendError;
use crate::event::Fate;
use crate::id::DatagramId;
use crate::payload::Payload;
use crate::sending::{Resend, SendOptions};

impl Channel {
    /// Queues a datagram.
    #[inline]
    pub(crate) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        payload: Payload,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        let given = payload.len();
        let payload = self.carried(payload, options.is_framed());
        let size = payload.len();
        self.check_datagram(ctx.now, carrier, size, options)
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
        carrier: &impl Carrier,
        size: usize,
        options: SendOptions,
    ) -> Result<(), SendError> {
        if !self.takes_data(carrier) {
            return Err(SendError::Closed);
        }
        // RFC 4340, 11.7.2: no more data once the peer's application has stopped reading.
        if self.readers.has_peer_stopped {
            return Err(SendError::NotListening);
        }
        let max = self.max_datagram(carrier);
        // RFC 4340, 14: a datagram above the maximum packet size is refused.
        if size > max {
            return Err(SendError::TooLarge { size, max });
        }
        if options.resend != Resend::Never {
            self.check_resend(carrier)?;
        }
        if options.deadline.is_some_and(|deadline| deadline < now) {
            return Err(SendError::DeadlinePassed);
        }
        Ok(())
    }

    /// Returns whether the application may still give data: no end of the connection is near.
    pub(super) fn takes_data(&self, carrier: &impl Carrier) -> bool {
        carrier.takes_data() && self.drain_until.is_none() && !self.is_end_announced()
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

    /// Returns whether there is room for a datagram of `size` bytes, with `room` bytes left of the endpoint's memory.
    #[inline]
    pub(crate) fn can_send(&self, carrier: &impl Carrier, size: usize, room: usize) -> bool {
        self.takes_data(carrier)
            && !self.readers.has_peer_stopped
            && size <= self.max_datagram(carrier)
            && self.queue.has_room(size)
            && (self.queue.is_empty() || room >= footprint::of_datagram(size))
    }

    /// Returns how long the oldest datagram has waited in the send queue.
    pub(crate) fn queue_age(&self, now: Instant) -> Option<Duration> {
        let since = self.queue.oldest()?;
        Some(now.saturating_since(since))
    }
}
