//! Sending datagrams.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use bytes::Bytes;
use fairwire_proto::{DatagramId, Payload};

use super::{Connection, Inner};
use crate::error::{SendError, TrySendError};
use crate::state::{ConnectionState, State};
use crate::waiting::Place;

/// Sending. A datagram that is accepted waits in the send queue until congestion control lets it leave. Its id
/// identifies it in [`fate`](Connection::fate).
impl Connection {
    /// Queues a datagram, waiting until the send queue has room. If the future is cancelled, nothing is sent.
    ///
    /// # Errors
    /// See [`SendError`].
    pub async fn send(&self, data: impl Into<Bytes>) -> Result<DatagramId, SendError> {
        let data = data.into();
        let Inner { handle, id } = &*self.inner;
        let queue = |state: &mut State| self.queue_or_wait(state, &data);
        handle.wait(Place::Writable(*id), queue).await
    }

    /// Queues as many of `datagrams` as there is room for, from the front.
    ///
    /// Waits until there is room for one. Returns the ids of those that were queued; `datagrams` keeps the rest. If the
    /// future is cancelled, nothing is sent.
    ///
    /// # Errors
    /// See [`SendError`]: it concerns the first datagram. No datagram was queued then, and `datagrams` is unchanged.
    pub async fn send_many(
        &self,
        datagrams: &mut VecDeque<Bytes>,
    ) -> Result<Vec<DatagramId>, SendError> {
        if datagrams.is_empty() {
            return Ok(Vec::new());
        }
        let Inner { handle, id } = &*self.inner;
        let queue = |state: &mut State| {
            let mut taken = Vec::new();
            while let Some(data) = datagrams.front() {
                match self.queue(state, data) {
                    Ok(id) => taken.push(id),
                    Err(_) if !taken.is_empty() => break,
                    Err(TrySendError::Full) => return None,
                    Err(TrySendError::Send(error)) => return Some(Err(error)),
                }
                datagrams.pop_front();
            }
            Some(Ok(taken))
        };
        handle.wait(Place::Writable(*id), queue).await
    }

    /// Queues a datagram if there is room now.
    ///
    /// # Errors
    /// See [`TrySendError`].
    pub fn try_send(&self, data: impl Into<Bytes>) -> Result<DatagramId, TrySendError> {
        self.queue(&mut self.inner.handle.lock(), &data.into())
    }

    /// Queues a datagram, or registers the task of `context` to be woken when there is room.
    ///
    /// This is [`send`](Self::send) for futures written by hand. Only the task of the last call is woken.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn poll_send(
        &self,
        context: &mut Context<'_>,
        data: &Bytes,
    ) -> Poll<Result<DatagramId, SendError>> {
        let Inner { handle, id } = &*self.inner;
        handle.poll(Place::Writable(*id), context, |state| {
            self.queue_or_wait(state, data)
        })
    }

    fn queue_or_wait(
        &self,
        state: &mut State,
        data: &Bytes,
    ) -> Option<Result<DatagramId, SendError>> {
        match self.queue(state, data) {
            Ok(id) => Some(Ok(id)),
            Err(TrySendError::Full) => None,
            Err(TrySendError::Send(error)) => Some(Err(error)),
        }
    }

    fn queue(&self, state: &mut State, data: &Bytes) -> Result<DatagramId, TrySendError> {
        let Inner { handle, id } = &*self.inner;
        let end = |state: &State| state.connections.get(id).and_then(ConnectionState::end);
        let closed = |state: &State| end(state).map_or(SendError::Closing, SendError::Closed);
        if state.driver_ended {
            // The driver, which would send it, has ended.
            return Err(closed(state).into());
        }
        let payload = Payload::Bytes(data.clone());
        match state.proto.send(handle.clock.now(), *id, payload) {
            Ok(datagram) => {
                handle.wake_driver(state);
                Ok(datagram)
            }
            Err(fairwire_proto::SendError::Full) if end(state).is_none() => Err(TrySendError::Full),
            Err(fairwire_proto::SendError::TooLarge { size, max }) => {
                Err(SendError::TooLarge { size, max }.into())
            }
            Err(fairwire_proto::SendError::NotListening) => Err(SendError::NotListening.into()),
            Err(_) => Err(closed(state).into()),
        }
    }
}
