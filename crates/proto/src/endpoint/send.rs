//! The calls of the application about what a connection sends.

use std::time::Duration;

use fairwire_cc::TargetBitrate;
use fairwire_units::Instant;

use super::Endpoint;
use crate::config::QueuePolicy;
use crate::connection::Connection;
use crate::error::SendError;
use crate::event::Direction;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::{Deferred, Payload, Unsent};
use crate::sending::{SendOptions, Waiting};

/// Sending.
impl Endpoint {
    /// Queues a datagram and returns its id, which [`Event::Fate`](crate::Event::Fate) refers to.
    ///
    /// # Errors
    /// See [`SendError`]. The payload is dropped then; to try again, keep a clone (cheap for `Bytes`).
    pub fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        payload: Payload,
    ) -> Result<DatagramId, SendError> {
        self.send_with(now, id, payload, SendOptions::default())
    }

    /// Queues a datagram with a deadline, a priority or a group, or one that may be sent again, and returns its id.
    ///
    /// # Errors
    /// See [`SendError`]. The payload is dropped then.
    pub fn send_with(
        &mut self,
        now: Instant,
        id: ConnectionId,
        payload: Payload,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        self.queue(now, id, payload.into(), options)
    }

    /// Queues a datagram whose data is made when it leaves; otherwise like [`send_with`](Self::send_with).
    ///
    /// If the data cannot be made then, the datagram is dropped with the fate [`Fate::Refused`](crate::Fate::Refused).
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_deferred(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: Deferred,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        self.queue(now, id, data.into(), options)
    }

    fn queue(
        &mut self,
        now: Instant,
        id: ConnectionId,
        payload: Unsent,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        let mut sent = Err(SendError::Closed);
        if self.get(id).is_some() {
            self.with_connection(now, id.slot(), |connection, ctx| {
                sent = connection.send(ctx, payload, options);
            });
        }
        sent
    }

    /// Drops every datagram in the send queue; returns how many there were.
    ///
    /// Their fate is [`Fate::Refused`](crate::Fate::Refused), or [`Fate::Lost`](crate::Fate::Lost) if they were to be
    /// sent again. Groups with members among them are broken.
    pub fn purge(&mut self, now: Instant, id: ConnectionId) -> usize {
        let mut purged = 0;
        self.act(now, id, |connection, ctx| purged = connection.purge(ctx));
        purged
    }

    /// Returns the rate that the application's data can keep up, and what limits it.
    ///
    /// `None` while neither a round-trip time nor a window is known, and if there is no such connection.
    pub fn target_bitrate(&self, id: ConnectionId) -> Option<TargetBitrate> {
        self.get(id)?.target_bitrate()
    }

    /// Returns the target bitrate if it has changed enough to matter since this call last returned one
    /// ([`TargetBitrate::has_left`]), or if it has never returned one.
    ///
    /// [`Event::TargetBitrate`](crate::Event::TargetBitrate) tells when to call it.
    pub fn take_target_change(&mut self, id: ConnectionId) -> Option<TargetBitrate> {
        self.get(id)?;
        self.connections.get_mut(id.slot())?.take_target_change()
    }

    /// Returns how long the oldest datagram has waited in the send queue; `None` if the queue is empty.
    pub fn queue_age(&self, now: Instant, id: ConnectionId) -> Option<Duration> {
        self.get(id)?.queue_age(now).map(Into::into)
    }

    /// Returns what the datagram that leaves next waits for; `None` if there is no such connection.
    ///
    /// Like [`Endpoint::next_timeout`], it is valid only after [`Endpoint::poll_transmit`] has returned `None`.
    pub fn waits_for(&self, now: Instant, id: ConnectionId) -> Option<Waiting> {
        self.get(id).map(|connection| connection.waits_for(now))
    }

    /// Returns whether the send queue has room for a datagram of `size` bytes.
    pub fn can_send(&self, id: ConnectionId, size: usize) -> bool {
        self.can_send_with(id, size, SendOptions::default())
    }

    /// Returns whether the send queue has room for a datagram of `size` bytes with these options.
    pub fn can_send_with(&self, id: ConnectionId, size: usize, options: SendOptions) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.can_send(size, options, self.room_of(connection)))
    }

    /// Checks whether [`send_with`](Self::send_with) would take a datagram of `size` bytes, without one: for data that
    /// is costly to make.
    ///
    /// If it is refused for lack of room, [`Event::Writable`](crate::Event::Writable) tells when there is some.
    ///
    /// # Errors
    /// The error of `send_with`.
    pub fn check_send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        size: usize,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let mut checked = Err(SendError::Closed);
        if self.get(id).is_some() {
            self.with_connection(now, id.slot(), |connection, ctx| {
                checked = connection.check_send(ctx, size, options);
            });
        }
        checked
    }

    /// Asks for [`Event::Writable`](crate::Event::Writable) as soon as the send queue has room, as a datagram does that
    /// was refused.
    pub fn ask_for_room(&mut self, id: ConnectionId) {
        let connection = self.connections.get_mut(id.slot());
        if let Some(connection) = connection.filter(|connection| connection.id == id) {
            connection.ask_for_room();
        }
    }

    /// Returns what a connection does with a datagram that finds its send queue full.
    pub fn send_queue_policy(&self, id: ConnectionId) -> Option<QueuePolicy> {
        self.get(id).map(Connection::send_queue_policy)
    }

    /// Returns whether a connection takes datagrams at all, if there is room for them.
    ///
    /// It does not before and after it is open, once this side closes it, or once the peer's application stopped
    /// reading.
    pub fn takes_datagrams(&self, id: ConnectionId) -> bool {
        self.get(id).is_some_and(Connection::takes_datagrams)
    }

    /// Returns whether `send_with` accepts datagrams that may be sent again ([`Resend`](crate::Resend)).
    ///
    /// # Errors
    /// The [`SendError`] with which they are refused now.
    pub fn can_resend(&self, id: ConnectionId) -> Result<(), SendError> {
        self.get(id)
            .map_or(Err(SendError::Closed), Connection::check_resend)
    }

    /// Returns whether the data of this direction may be sent again, as far as both ends have agreed by now (the
    /// feature Allow Copies).
    pub fn allows_copies(&self, id: ConnectionId, direction: Direction) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.allows_copies(direction))
    }

    /// Returns the largest datagram that `send` accepts, in bytes (RFC 4340, section 14).
    ///
    /// It leaves room for options, so that an accepted datagram never fails later.
    pub fn max_datagram_size(&self, id: ConnectionId) -> Option<usize> {
        self.get(id).map(Connection::max_datagram)
    }
}
