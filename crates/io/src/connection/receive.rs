//! Receiving datagrams.

use std::task::{Context, Poll};

use fairwire_proto::CloseReason;

use super::{Connection, Inner};
use crate::error::{ConnectionClosed, TryRecvError};
use crate::received::{Received, ReceivedId, ReceivedInto};
use crate::state::State;
use crate::waiting::Place;

/// Receiving. Datagrams that arrived before the end of the connection can still be read after it.
impl Connection {
    /// Waits for the next datagram. Cancelling loses no datagram.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and every datagram was read;
    /// [`is_orderly`](ConnectionClosed::is_orderly) returns whether it was closed properly.
    pub async fn recv(&self) -> Result<Received, ConnectionClosed> {
        self.receive().await.map(Received::of)
    }

    /// Waits for the next datagram and copies it into `buffer`. Cancelling loses no datagram.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn recv_into(&self, buffer: &mut [u8]) -> Result<ReceivedInto, ConnectionClosed> {
        // Copied after the lock was released.
        let received = self.receive().await?;
        let data = received.payload.as_slice();
        let fits = data.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&data[..fits]);
        Ok(ReceivedInto {
            len: received.payload.len(),
            ecn: received.ecn,
            lost_before: received.lost_before,
            id: ReceivedId(received.seq),
            corrupt: received.corrupt,
        })
    }

    /// Waits for a datagram and appends it to `into`, with those that arrived after it, at most `limit` in all.
    ///
    /// Takes one lock and one wake-up for all of them. Returns how many were appended. Cancelling loses no datagram.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn recv_many(
        &self,
        into: &mut Vec<Received>,
        limit: usize,
    ) -> Result<usize, ConnectionClosed> {
        if limit == 0 {
            return Ok(0);
        }
        let Inner { handle, id } = &*self.inner;
        let ready_value = |state: &mut State| {
            let first = self.next(state)?;
            Some(first.map(|first| {
                let rest = std::iter::from_fn(|| state.proto.recv(*id));
                let all = std::iter::once(first).chain(rest.take(limit - 1));
                let before = into.len();
                into.extend(all.map(Received::of));
                into.len() - before
            }))
        };
        handle.wait(Place::Readable(*id), ready_value).await
    }

    /// Returns the next datagram if one has arrived.
    ///
    /// # Errors
    /// See [`TryRecvError`].
    pub fn try_recv(&self) -> Result<Received, TryRecvError> {
        match self.next(&mut self.inner.handle.lock()) {
            Some(Ok(received)) => Ok(Received::of(received)),
            Some(Err(closed)) => Err(TryRecvError::Closed(closed)),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Returns the next datagram, or registers the task of `context` to be woken when one arrives.
    ///
    /// This is [`recv`](Self::recv) for futures written by hand. Only the task of the last call is woken.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn poll_recv(&self, context: &mut Context<'_>) -> Poll<Result<Received, ConnectionClosed>> {
        let Inner { handle, id } = &*self.inner;
        let polled = handle.poll(Place::Readable(*id), context, |state| self.next(state));
        polled.map(|received| received.map(Received::of))
    }

    async fn receive(&self) -> Result<fairwire_proto::Received, ConnectionClosed> {
        let Inner { handle, id } = &*self.inner;
        handle
            .wait(Place::Readable(*id), |state| self.next(state))
            .await
    }

    /// Returns the next datagram, or the end of the connection after the last one.
    fn next(
        &self,
        state: &mut State,
    ) -> Option<Result<fairwire_proto::Received, ConnectionClosed>> {
        let Inner { id, .. } = &*self.inner;
        if let Some(received) = state.proto.recv(*id) {
            return Some(Ok(received));
        }
        match state.connections.get(id) {
            Some(connection) => connection.end().map(Err),
            None => Some(Err(ConnectionClosed {
                reason: CloseReason::Aborted,
            })),
        }
    }
}
