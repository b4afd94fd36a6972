//! Blocking connections.

use std::collections::VecDeque;
use std::ops::Deref;
use std::time::Duration;

use bytes::Bytes;
use fairwire_proto::{CloseReason, DatagramId, Fate, TargetBitrate};

use super::runtime::Runtime;
use crate::error::{ConnectionClosed, FateError, SendError};
use crate::event::ConnectionEvent;
use crate::options::SendOptions;
use crate::received::{Received, ReceivedInto};

/// A DCCP connection, as [`fairwire::Connection`](crate::Connection), whose calls block.
///
/// Clones refer to the same connection, so one thread can send while another one receives.
#[derive(Clone, Debug)]
pub struct Connection {
    inner: crate::Connection,
    runtime: Runtime,
}

impl Connection {
    pub(super) fn new(inner: crate::Connection, runtime: Runtime) -> Self {
        Self { inner, runtime }
    }

    /// Queues a datagram, waiting until the send queue has room.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send(&self, data: impl Into<Bytes>) -> Result<DatagramId, SendError> {
        self.runtime.wait(self.inner.send(data))
    }

    /// Queues a datagram with options, waiting until the send queue has room or its deadline has passed.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_with(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        self.runtime.wait(self.inner.send_with(data, options))
    }

    /// Queues a message of up to 64 KiB, which arrives whole or not at all, as
    /// [`Connection::send_message`](crate::Connection::send_message) does.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_message(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<Vec<DatagramId>, SendError> {
        self.runtime.wait(self.inner.send_message(data, options))
    }

    /// Waits until there is room for one datagram, and queues as many as there is room for, from the front.
    ///
    /// # Errors
    /// As for [`fairwire::Connection::send_many`](crate::Connection::send_many).
    pub fn send_many(&self, datagrams: &mut VecDeque<Bytes>) -> Result<Vec<DatagramId>, SendError> {
        self.runtime.wait(self.inner.send_many(datagrams))
    }

    /// Waits for the next datagram.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and every datagram was read.
    pub fn recv(&self) -> Result<Received, ConnectionClosed> {
        self.runtime.wait(self.inner.recv())
    }

    /// Waits for the next datagram, for at most `limit`; `None` if none arrived.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn recv_timeout(&self, limit: Duration) -> Result<Option<Received>, ConnectionClosed> {
        let received = self.runtime.wait_for(limit, self.inner.recv());
        received.transpose()
    }

    /// Waits for the next datagram and copies it into `buffer`.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn recv_into(&self, buffer: &mut [u8]) -> Result<ReceivedInto, ConnectionClosed> {
        self.runtime.wait(self.inner.recv_into(buffer))
    }

    /// Waits for a datagram and appends it to `into`, with those that arrived after it, at most `limit` in all.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn recv_many(
        &self,
        into: &mut Vec<Received>,
        limit: usize,
    ) -> Result<usize, ConnectionClosed> {
        self.runtime.wait(self.inner.recv_many(into, limit))
    }

    /// Waits for the next datagram whose fate is known, and returns its id and fate.
    ///
    /// # Errors
    /// See [`FateError`].
    pub fn fate(&self) -> Result<(DatagramId, Fate), FateError> {
        self.runtime.wait(self.inner.fate())
    }

    /// Waits for the next fate, for at most `limit`; `None` if there was none.
    ///
    /// # Errors
    /// As for [`fate`](Self::fate).
    pub fn fate_timeout(&self, limit: Duration) -> Result<Option<(DatagramId, Fate)>, FateError> {
        let fate = self.runtime.wait_for(limit, self.inner.fate());
        fate.transpose()
    }

    /// Waits until the target bitrate has changed enough to matter, and returns it.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over.
    pub fn rate_changed(&self) -> Result<TargetBitrate, ConnectionClosed> {
        self.runtime.wait(self.inner.rate_changed())
    }

    /// Waits for the next change: of the largest datagram, of the CCID, of a peer that cannot keep up.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and all events have been read.
    pub fn event(&self) -> Result<ConnectionEvent, ConnectionClosed> {
        self.runtime.wait(self.inner.event())
    }

    /// Sends what is queued, closes the connection, and waits until it is closed.
    ///
    /// # Errors
    /// [`ConnectionClosed`] if the connection did not end with an orderly close.
    pub fn close(&self) -> Result<(), ConnectionClosed> {
        self.runtime.wait(self.inner.close())
    }

    /// Closes as [`close`](Self::close) does, and tells the peer's application why, as
    /// [`Connection::close_with`](crate::Connection::close_with) does.
    ///
    /// # Errors
    /// [`ConnectionClosed`] if the connection did not end with an orderly close.
    pub fn close_with(&self, code: u32, text: &str) -> Result<(), ConnectionClosed> {
        self.runtime.wait(self.inner.close_with(code, text))
    }

    /// Waits until the connection is over, whichever side ends it, and returns why.
    pub fn closed(&self) -> CloseReason {
        self.runtime.wait(self.inner.closed())
    }
}

impl Deref for Connection {
    type Target = crate::Connection;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}
