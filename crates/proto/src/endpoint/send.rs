//! The calls of the application about what a connection sends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fairwire_cc::{EncoderInput, TargetBitrate};
use fairwire_units::{Instant, Rate};

use super::Endpoint;
use crate::connection::Connection;
use crate::error::SendError;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;
use crate::security::{Security, Session};
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
        let mut sent = Err(SendError::Closed);
        if self.get(id).is_some() {
            self.with_connection(now, id.slot(), |connection, ctx| {
                sent = connection.send(ctx, payload, options);
            });
        }
        sent
    }

    /// Queues a message of up to 64 KiB, which arrives whole or not at all. Returns the ids of its datagrams, in order.
    ///
    /// A message that fits into one datagram is one. Others need [`Config::messages`](crate::Config::messages) at both
    /// ends. The options are those of each part, so the deadline is that of the whole. The parts are a group of their own,
    /// unless the options name one: once a part has expired or is lost for good, the others do not leave. All parts are
    /// queued or none, so the message has to fit into the send queue. The peer's application gets the message as one
    /// [`Received`](crate::Received), as soon as the last part has arrived.
    ///
    /// # Errors
    /// See [`SendError`]. Nothing is queued then.
    pub fn send_message(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: &Bytes,
        options: SendOptions,
    ) -> Result<Vec<DatagramId>, SendError> {
        let mut sent = Err(SendError::Closed);
        if self.get(id).is_some() {
            self.with_connection(now, id.slot(), |connection, ctx| {
                sent = connection.send_message(ctx, data, options);
            });
        }
        sent
    }

    /// Queues datagrams from the front of `datagrams`, as [`send`](Self::send) does with each, until one is refused.
    /// Appends the ids of those that were queued to `ids`.
    ///
    /// # Errors
    /// The [`SendError`] of the one that was refused. It stays the first of `datagrams`.
    pub fn send_many(
        &mut self,
        now: Instant,
        id: ConnectionId,
        datagrams: &mut VecDeque<Bytes>,
        ids: &mut Vec<DatagramId>,
    ) -> Result<(), SendError> {
        let mut sent = Err(SendError::Closed);
        if self.get(id).is_some() {
            self.with_connection(now, id.slot(), |connection, ctx| {
                sent = connection.send_many(ctx, datagrams, ids);
            });
        }
        sent
    }

    /// Encrypts a connection. Call it once, before anything is sent: at [`Event::Connected`](crate::Event::Connected) or
    /// before it, and at [`Event::Accepted`](crate::Event::Accepted).
    ///
    /// The application's datagrams wait until [`Event::Secured`](crate::Event::Secured), and nothing leaves in clear
    /// text. If the encryption fails, the connection is reset
    /// ([`CloseReason::Security`](crate::CloseReason::Security)).
    pub fn secure(&mut self, now: Instant, id: ConnectionId, with: Arc<dyn Security>) {
        let Some((tag, key)) = self.get(id).map(|connection| {
            let (flow, iss) = connection.subflow().origin();
            let tag = self.secret.copies_tag(&flow, iss);
            (tag, self.secret.path_key(&flow, iss))
        }) else {
            return;
        };
        self.begin_migration(id.slot(), key);
        self.act(now, id, |connection, ctx| connection.secure(ctx, with, tag));
    }

    /// Returns the session of an encrypted connection, once it has begun; also after the end of the connection.
    pub fn session(&self, id: ConnectionId) -> Option<&dyn Session> {
        self.get(id)?.session()
    }

    /// Returns whether the peer of an encrypted connection announced its end, so that nobody on the path can have cut
    /// its data short.
    pub fn is_end_announced(&self, id: ConnectionId) -> bool {
        self.get(id).is_some_and(Connection::is_end_announced)
    }

    /// Sets the most application data that a connection sends from now on, as
    /// [`Config::max_rate`](crate::Config::max_rate) does from the start. At least 1 bit/s; `None` for no cap.
    pub fn set_max_rate(&mut self, now: Instant, id: ConnectionId, rate: Option<Rate>) {
        self.act(now, id, |connection, _| connection.set_max_rate(now, rate));
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

    /// Returns what an [`EncoderTarget`](crate::EncoderTarget) needs to know; `None` if there is no such connection.
    ///
    /// Call it before a frame is queued. CCID 3 and 4 do not report single losses.
    pub fn encoder_input(&self, now: Instant, id: ConnectionId) -> Option<EncoderInput> {
        let stats = self.stats(id)?;
        Some(EncoderInput {
            rate: stats.target_bitrate.map(|target| target.rate),
            queue_age: self.queue_age(now, id).unwrap_or_default(),
            sent: stats.data_sent,
            lost: stats.lost,
            expired: stats.expired,
        })
    }

    /// Returns what the datagram that leaves next waits for; `None` if there is no such connection.
    ///
    /// Like [`Endpoint::next_timeout`], it is valid only after [`Endpoint::poll_transmit`] has returned `None`.
    pub fn waits_for(&self, now: Instant, id: ConnectionId) -> Option<Waiting> {
        self.get(id).map(|connection| connection.waits_for(now))
    }

    /// Returns whether the send queue has room for a datagram of `size` bytes.
    pub fn can_send(&self, id: ConnectionId, size: usize) -> bool {
        self.get(id)
            .is_some_and(|connection| connection.can_send(size, self.room_of(connection)))
    }

    /// Returns whether `send_with` accepts datagrams that may be sent again ([`Resend`](crate::Resend)).
    ///
    /// # Errors
    /// The [`SendError`] with which they are refused now.
    pub fn can_resend(&self, id: ConnectionId) -> Result<(), SendError> {
        self.get(id)
            .map_or(Err(SendError::Closed), Connection::check_resend)
    }

    /// Returns the largest datagram that `send` accepts, in bytes (RFC 4340, section 14).
    ///
    /// It leaves room for options, so that an accepted datagram never fails later.
    pub fn max_datagram_size(&self, id: ConnectionId) -> Option<usize> {
        self.get(id).map(Connection::max_datagram)
    }
}
