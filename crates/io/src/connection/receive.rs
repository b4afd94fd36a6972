//! Receiving datagrams.

use std::task::{Context, Poll, ready};

use fairwire_proto::CloseReason;

use super::{Connection, Inner};
use crate::error::{ConnectionClosed, TryRecvError};
use crate::received::{Received, ReceivedInto};
use crate::secure::Secure;
use crate::state::State;
use crate::waiting::Place;

/// How many encrypted datagrams are taken at a time.
const AT_ONCE: usize = 16;

/// Receiving. Datagrams that arrived before the end of the connection can still be read after it.
impl Connection {
    /// Waits for the next datagram. Cancelling loses no datagram.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and every datagram was read;
    /// [`is_orderly`](ConnectionClosed::is_orderly) returns whether it was closed properly.
    pub async fn recv(&self) -> Result<Received, ConnectionClosed> {
        loop {
            if let Some(received) = self.opened(self.receive().await?) {
                return Ok(received);
            }
        }
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
            lost_before: received.lost_before,
            id: received.id,
            corrupt: received.corrupt,
            resent: received.resent,
        })
    }

    /// Waits for a datagram and appends it to `into`, with those that arrived after it, at most `limit` in all.
    ///
    /// Takes one wake-up for all of them, and one lock for each sixteen if they are encrypted. Returns how many were
    /// appended. Cancelling loses no datagram.
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
        let before = into.len();
        let most = before.saturating_add(limit);
        while into.len() == before {
            match self.inner.secure.get() {
                Some(secure) => self.open_many(secure, into, most).await?,
                None => self.take_many(into, limit).await?,
            }
        }
        Ok(into.len() - before)
    }

    async fn take_many(
        &self,
        into: &mut Vec<Received>,
        limit: usize,
    ) -> Result<(), ConnectionClosed> {
        let Inner { handle, id, .. } = &*self.inner;
        let take = |state: &mut State| {
            let first = self.next(state)?;
            Some(first.map(|first| {
                let rest = std::iter::from_fn(|| state.proto.recv(*id));
                let all = first.plain().into_iter().chain(rest).take(limit);
                into.extend(all.map(Received::of));
            }))
        };
        self.ended(handle.wait(Place::Readable(*id), take).await)
    }

    /// Decrypts datagrams and appends what they have for the application, which may be nothing, until `into` has
    /// `most`.
    ///
    /// A peer may put many records into one datagram. So few are taken at a time, and none until what was decrypted
    /// before is read.
    async fn open_many(
        &self,
        secure: &Secure,
        into: &mut Vec<Received>,
        most: usize,
    ) -> Result<(), ConnectionClosed> {
        let Inner { handle, id, .. } = &*self.inner;
        let begin = into.len();
        loop {
            let turn = (most - into.len()).min(AT_ONCE);
            let mut pushed = 0;
            let mut take = |state: &mut State| {
                let first = self.next(state)?;
                Some(first.map(|first| {
                    if matches!(first, Next::Opened) {
                        return;
                    }
                    pushed = 1;
                    while pushed < turn
                        && let Some(raw) = state.proto.recv(*id)
                    {
                        secure.push(&mut state.proto, *id, raw);
                        pushed += 1;
                    }
                }))
            };
            if into.len() == begin {
                self.ended(handle.wait(Place::Readable(*id), take).await)?;
            } else if !matches!(take(&mut handle.lock()), Some(Ok(()))) {
                return Ok(());
            }
            // Decrypting takes no lock of the endpoint.
            for _ in 0..pushed {
                into.extend(secure.open(handle, *id));
            }
            while into.len() < most
                && secure.has_opened()
                && let Some(received) = secure.open(handle, *id)
            {
                into.push(received);
            }
            if into.len() >= most || into.len() == begin || pushed < turn {
                return Ok(());
            }
        }
    }

    /// Returns the next datagram if one has arrived.
    ///
    /// # Errors
    /// See [`TryRecvError`].
    pub fn try_recv(&self) -> Result<Received, TryRecvError> {
        loop {
            let next = self.next(&mut self.inner.handle.lock());
            match next.map(|next| self.ended(next)) {
                Some(Ok(taken)) => {
                    if let Some(received) = self.opened(taken) {
                        return Ok(received);
                    }
                }
                Some(Err(closed)) => return Err(TryRecvError::Closed(closed)),
                None => return Err(TryRecvError::Empty),
            }
        }
    }

    /// Returns the next datagram, or registers the task of `context` to be woken when one arrives.
    ///
    /// This is [`recv`](Self::recv) for futures written by hand. Only the task of the last call is woken.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn poll_recv(&self, context: &mut Context<'_>) -> Poll<Result<Received, ConnectionClosed>> {
        let Inner { handle, id, .. } = &*self.inner;
        loop {
            let polled = handle.poll(Place::Readable(*id), context, |state| self.next(state));
            let taken = self.ended(ready!(polled))?;
            if let Some(received) = self.opened(taken) {
                return Poll::Ready(Ok(received));
            }
        }
    }

    async fn receive(&self) -> Result<Next, ConnectionClosed> {
        let Inner { handle, id, .. } = &*self.inner;
        let next = handle.wait(Place::Readable(*id), |state| self.next(state));
        self.ended(next.await)
    }

    /// Waits for the next datagram as it came, before there is a session.
    pub(super) async fn receive_raw(&self) -> Result<fairwire_proto::Received, ConnectionClosed> {
        loop {
            if let Some(raw) = self.receive().await?.plain() {
                return Ok(raw);
            }
        }
    }

    /// Returns the application's datagram of what [`next`](Self::next) took: decrypted, if the connection has DTLS.
    fn opened(&self, next: Next) -> Option<Received> {
        let Inner { handle, id, secure } = &*self.inner;
        match secure.get() {
            Some(secure) => secure.open(handle, *id),
            None => next.plain().map(Received::of),
        }
    }

    /// Completes the reason of an end. If there turns out to be more to read, it is not the end yet, and nothing was
    /// taken.
    fn ended<T: Default>(&self, taken: Result<T, CloseReason>) -> Result<T, ConnectionClosed> {
        taken.or_else(|reason| {
            let closed = self.closed_for(reason);
            match self.inner.secure.get() {
                Some(secure) if secure.has_opened() => Ok(T::default()),
                _ => Err(closed),
            }
        })
    }

    /// Takes the next datagram, or the end of the connection after the last one.
    fn next(&self, state: &mut State) -> Option<Result<Next, CloseReason>> {
        let Inner { id, secure, .. } = &*self.inner;
        let secure = secure.get();
        if secure.is_some_and(|secure| secure.has_opened()) {
            return Some(Ok(Next::Opened));
        }
        if let Some(received) = state.proto.recv(*id) {
            let Some(secure) = secure else {
                return Some(Ok(Next::Plain(received)));
            };
            secure.push(&mut state.proto, *id, received);
            return Some(Ok(Next::Pushed));
        }
        match state.connections.get(id) {
            Some(connection) => {
                let closed = connection.closed.as_ref()?;
                if secure.is_some_and(|secure| secure.awaits_pushed()) {
                    return None;
                }
                // Whoever decrypted the last one may have left more to read.
                if secure.is_some_and(|secure| secure.has_opened()) {
                    return Some(Ok(Next::Opened));
                }
                Some(Err(closed.clone()))
            }
            None => Some(Err(CloseReason::Aborted)),
        }
    }
}

/// What there is to read next.
#[derive(Default)]
enum Next {
    /// A datagram of a connection without DTLS.
    Plain(fairwire_proto::Received),
    /// A datagram that the session has to decrypt.
    Pushed,
    /// One that was decrypted before.
    #[default]
    Opened,
}

impl Next {
    fn plain(self) -> Option<fairwire_proto::Received> {
        match self {
            Self::Plain(received) => Some(received),
            Self::Pushed | Self::Opened => None,
        }
    }
}

#[cfg(test)]
mod tests;
