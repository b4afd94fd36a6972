//! Receiving datagrams.

use std::task::{Context, Poll};

use fairwire_proto::CloseReason;

use super::{Connection, Inner};
use crate::error::{ConnectionClosed, TryRecvError};
use crate::received::{Received, ReceivedInto};
use crate::state::State;
use crate::waiting::Awaited;

/// Receiving. Datagrams that arrived before the end of the connection can still be read after it.
impl Connection {
    /// Waits for the next datagram. Cancelling loses no datagram.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and every datagram was read;
    /// [`is_orderly`](ConnectionClosed::is_orderly) returns whether it was closed properly.
    pub async fn recv(&self) -> Result<Received, ConnectionClosed> {
        let Inner { handle, id } = &*self.inner;
        let next = handle.wait(Awaited::Readable(*id), |state| self.next(state));
        next.await.map_err(|reason| self.closed_for(reason))
    }

    /// Waits for the next datagram and copies it into `buffer`. Cancelling loses no datagram.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn recv_into(&self, buffer: &mut [u8]) -> Result<ReceivedInto, ConnectionClosed> {
        // Copied after the lock was released.
        let received = self.recv().await?;
        let data = &received.data;
        let fits = data.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&data[..fits]);
        Ok(ReceivedInto {
            len: data.len(),
            ecn: received.ecn,
            at: received.at,
            lost_before: received.lost_before,
            id: received.id,
            corrupt: received.corrupt,
            resent: received.resent,
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
        let take = |state: &mut State| {
            let each = |received| into.push(Received::of(received, handle.clock));
            match state.proto.recv_many(*id, limit, each) {
                0 => self.over(state).map(Err),
                taken => Some(Ok(taken)),
            }
        };
        let taken = handle.wait(Awaited::Readable(*id), take).await;
        taken.map_err(|reason| self.closed_for(reason))
    }

    /// Returns the next datagram if one has arrived.
    ///
    /// # Errors
    /// See [`TryRecvError`].
    pub fn try_recv(&self) -> Result<Received, TryRecvError> {
        let next = self.next(&mut self.inner.handle.lock());
        match next {
            Some(Ok(received)) => Ok(received),
            Some(Err(reason)) => Err(TryRecvError::Closed(self.closed_for(reason))),
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
        let polled = handle.poll(Awaited::Readable(*id), context, |state| self.next(state));
        polled.map_err(|reason| self.closed_for(reason))
    }

    /// Takes the next datagram, or the end of the connection after the last one.
    fn next(&self, state: &mut State) -> Option<Result<Received, CloseReason>> {
        match state.proto.recv(self.inner.id) {
            Some(received) => Some(Ok(Received::of(received, self.inner.handle.clock))),
            None => self.over(state).map(Err),
        }
    }

    /// Returns why the connection is over, if it is.
    fn over(&self, state: &State) -> Option<CloseReason> {
        match state.connections.get(&self.inner.id) {
            Some(connection) => connection.closed.clone(),
            None => Some(CloseReason::Aborted),
        }
    }
}
