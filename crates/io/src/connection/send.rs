//! Sending datagrams.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use fairwire_proto::{self as proto, DatagramId, Payload, Waiting};
use fairwire_units::Instant;

use super::{Connection, Inner};
use crate::error::{ConnectionClosed, SendError, TrySendError};
use crate::options::SendOptions;
use crate::state::{ConnectionState, State};
use crate::timer::Timer;
use crate::waiting::Awaited;

/// The datagrams of one call for whose ids there is room at once.
const MANY: usize = 64;

/// What was queued, and whether its handle sends it.
struct Queued<T> {
    what: T,
    push: bool,
}

/// Sending. A datagram that is accepted waits in the send queue until congestion control lets it leave. If that is at once
/// and the connection was quiet, it has usually left when the call returns. Its id identifies it in
/// [`fate`](Connection::fate).
impl Connection {
    /// Queues a datagram, waiting until the send queue has room. If the future is cancelled, nothing is sent.
    ///
    /// # Errors
    /// See [`SendError`].
    pub async fn send(&self, data: impl Into<Bytes>) -> Result<DatagramId, SendError> {
        self.send_with(data, SendOptions::default()).await
    }

    /// Queues a datagram with a deadline, a priority or a group, waiting until the send queue has room or the deadline
    /// has passed. If the future is cancelled, nothing is sent.
    ///
    /// ```no_run
    /// # async fn frame(connection: &fairwire::Connection, parts: Vec<fairwire::Bytes>, number: u64) {
    /// use std::time::Duration;
    /// use fairwire::{SendError, SendOptions};
    ///
    /// // A video frame that is of use for 100 ms, and only as a whole.
    /// let options = SendOptions::new().within(Duration::from_millis(100)).group(number);
    /// for part in parts {
    ///     match connection.send_with(part, options).await {
    ///         Ok(_id) => {} // `fate` reports what becomes of it
    ///         Err(SendError::DeadlinePassed | SendError::GroupBroken { .. }) => break,
    ///         Err(error) => return eprintln!("{error}"),
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with timers, if it has to wait for room and there is a deadline.
    pub async fn send_with(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        let (options, data) = (self.converted(options), data.into());
        let queue = |state: &mut State| self.queue_or_wait(state, &data, options);
        self.queue_by(options.deadline, queue).await
    }

    /// Waits until something was queued, or the deadline has passed, and sends it off.
    async fn queue_by<T>(
        &self,
        deadline: Option<Instant>,
        queue: impl FnMut(&mut State) -> Option<Result<Queued<T>, SendError>>,
    ) -> Result<T, SendError> {
        let Inner { handle, id } = &*self.inner;
        let clock = handle.clock;
        let queued = handle.wait(Awaited::Writable(*id), queue);
        let Some(deadline) = deadline else {
            return queued.await.map(|queued| self.send_off(queued));
        };
        let late = async {
            // A descriptor for each call that waits could use up those of the process.
            let mut timer = Timer::coarse();
            while clock.now() <= deadline {
                timer.set(clock.now(), Some(deadline));
                timer.fired().await;
            }
        };
        tokio::select! {
            biased; // First what needs no timer.
            queued = queued => queued.map(|queued| self.send_off(queued)),
            () = late => Err(SendError::DeadlinePassed),
        }
    }

    /// Queues a message of up to 64 KiB, which arrives whole or not at all, waiting until the send queue has room for all of
    /// it or the deadline has passed. Returns the ids of its datagrams, in order. If the future is cancelled, nothing is
    /// sent.
    ///
    /// A message that fits into one datagram is one. Others need [`Config::messages`](crate::Config::messages) at both
    /// ends. The options are those of each part, so the deadline is that of the whole. Once a part has expired or is lost
    /// for good, the others do not leave. With [`SendOptions::resend_within`] lost parts are sent again. The peer's
    /// application gets the message from [`recv`](Connection::recv) as soon as its last part has arrived.
    ///
    /// ```no_run
    /// # async fn frame(connection: &fairwire::Connection, frame: fairwire::Bytes) -> Result<(), fairwire::SendError> {
    /// use std::time::Duration;
    /// use fairwire::SendOptions;
    ///
    /// // A key frame that is of use for 100 ms, and only as a whole.
    /// connection.send_message(frame, SendOptions::new().within(Duration::from_millis(100))).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]. Nothing is queued then.
    ///
    /// # Panics
    /// As [`send_with`](Self::send_with).
    pub async fn send_message(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<Vec<DatagramId>, SendError> {
        let (options, data) = (self.converted(options), data.into());
        let queue = |state: &mut State| match self.queue_message(state, &data, options) {
            Ok(queued) => Some(Ok(queued)),
            Err(TrySendError::Full) => None,
            Err(TrySendError::Send(error)) => Some(Err(error)),
        };
        self.queue_by(options.deadline, queue).await
    }

    /// Queues a message, as [`send_message`](Self::send_message) does, if there is room for all of it now.
    ///
    /// # Errors
    /// See [`TrySendError`]. Nothing is queued then.
    pub fn try_send_message(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<Vec<DatagramId>, TrySendError> {
        let (options, data) = (self.converted(options), data.into());
        let queued = self.queue_message(&mut self.inner.handle.lock(), &data, options);
        queued.map(|queued| self.send_off(queued))
    }

    fn queue_message(
        &self,
        state: &mut State,
        data: &Bytes,
        options: proto::SendOptions,
    ) -> Result<Queued<Vec<DatagramId>>, TrySendError> {
        let Inner { handle, id } = &*self.inner;
        if state.driver_ended {
            return Err(self.end_of(state).into());
        }
        let now = handle.clock.now();
        match state.proto.send_message(now, *id, data, options) {
            Ok(what) => {
                let push = handle.queued(state, now, *id);
                Ok(Queued { what, push })
            }
            Err(error) => Err(self.refusal(state, &error)),
        }
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
            if state.driver_ended {
                return Some(Err(self.end_of(state)));
            }
            let mut taken = Vec::with_capacity(datagrams.len().min(MANY));
            let now = handle.clock.now();
            let queued = state.proto.send_many(now, *id, datagrams, &mut taken);
            match queued.map_err(|error| self.refusal(state, &error)) {
                Err(TrySendError::Full) if taken.is_empty() => return None,
                Err(TrySendError::Send(error)) if taken.is_empty() => return Some(Err(error)),
                _ => {}
            }
            let push = handle.queued(state, now, *id);
            Some(Ok(Queued { what: taken, push }))
        };
        let queued = handle.wait(Awaited::Writable(*id), queue).await;
        queued.map(|queued| self.send_off(queued))
    }

    /// Queues a datagram if there is room now.
    ///
    /// # Errors
    /// See [`TrySendError`].
    pub fn try_send(&self, data: impl Into<Bytes>) -> Result<DatagramId, TrySendError> {
        self.try_send_with(data, SendOptions::default())
    }

    /// Queues a datagram with options if there is room now; see [`send_with`](Self::send_with).
    ///
    /// # Errors
    /// See [`TrySendError`].
    pub fn try_send_with(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<DatagramId, TrySendError> {
        let options = self.converted(options);
        let data = data.into();
        let queued = self.queue(&mut self.inner.handle.lock(), &data, options);
        queued.map(|queued| self.send_off(queued))
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
        let options = proto::SendOptions::default();
        let queue = |state: &mut State| self.queue_or_wait(state, data, options);
        let queued = handle.poll(Awaited::Writable(*id), context, queue);
        queued.map_ok(|queued| self.send_off(queued))
    }

    /// Returns the options of the protocol.
    ///
    /// A call converts them once: tokio's clock may be paused while the protocol's is not.
    fn converted(&self, options: SendOptions) -> proto::SendOptions {
        options.for_proto(|moment| self.inner.handle.clock.at(moment))
    }

    fn queue_or_wait(
        &self,
        state: &mut State,
        data: &Bytes,
        options: proto::SendOptions,
    ) -> Option<Result<Queued<DatagramId>, SendError>> {
        match self.queue(state, data, options) {
            Ok(queued) => Some(Ok(queued)),
            Err(TrySendError::Full) => None,
            Err(TrySendError::Send(error)) => Some(Err(error)),
        }
    }

    fn queue(
        &self,
        state: &mut State,
        data: &Bytes,
        options: proto::SendOptions,
    ) -> Result<Queued<DatagramId>, TrySendError> {
        let Inner { handle, id } = &*self.inner;
        if state.driver_ended {
            // The driver, which would send it, has ended.
            return Err(self.end_of(state).into());
        }
        let now = handle.clock.now();
        let payload = Payload::Bytes(data.clone());
        let queued = state.proto.send_with(now, *id, payload, options);
        match queued {
            Ok(what) => {
                let push = handle.queued(state, now, *id);
                Ok(Queued { what, push })
            }
            Err(error) => Err(self.refusal(state, &error)),
        }
    }

    /// Sends what was queued, unless the driver does. Call it without the lock.
    fn send_off<T>(&self, queued: Queued<T>) -> T {
        if queued.push {
            self.inner.handle.push(self.inner.id);
        }
        queued.what
    }

    /// Returns the error for the application of a datagram that the protocol refuses.
    fn refusal(&self, state: &State, error: &proto::SendError) -> TrySendError {
        let refused = match *error {
            proto::SendError::Full if self.end(state).is_none() => return TrySendError::Full,
            proto::SendError::TooLarge { size, max } => SendError::TooLarge { size, max },
            proto::SendError::NotListening => SendError::NotListening,
            proto::SendError::DeadlinePassed => SendError::DeadlinePassed,
            proto::SendError::GroupBroken { group } => SendError::GroupBroken { group },
            proto::SendError::ResendNotAgreed => SendError::ResendNotAgreed,
            proto::SendError::MessagesNotAgreed => SendError::MessagesNotAgreed,
            proto::SendError::ResendWithoutLosses { ccid } => {
                SendError::ResendWithoutLosses { ccid }
            }
            _ => self.end_of(state),
        };
        refused.into()
    }

    fn end(&self, state: &State) -> Option<ConnectionClosed> {
        let id = &self.inner.id;
        let mut closed = state.connections.get(id).and_then(ConnectionState::end)?;
        closed.is_authenticated = state.proto.is_end_announced(*id);
        Some(closed)
    }

    /// Returns the error of a connection that takes no datagrams any more.
    fn end_of(&self, state: &State) -> SendError {
        self.end(state)
            .map_or(SendError::Closing, SendError::Closed)
    }
}

/// What waits in the send queue.
impl Connection {
    /// Drops every datagram in the send queue; returns how many there were.
    ///
    /// Their fate is [`Fate::Refused`](crate::Fate::Refused), or [`Fate::Lost`](crate::Fate::Lost) if they were to be
    /// sent again. Groups with members among them are broken. Use it when everything that waits has become useless, for
    /// example after a scene change before a new key frame.
    pub fn purge(&self) -> usize {
        self.with_proto(fairwire_proto::Endpoint::purge)
    }

    /// Returns how long the oldest datagram has waited in the send queue; zero if the queue is empty.
    pub fn queue_age(&self) -> Duration {
        let Inner { handle, id } = &*self.inner;
        let age = handle.lock().proto.queue_age(handle.clock.now(), *id);
        age.unwrap_or_default()
    }

    /// Returns what the datagram that leaves next waits for.
    pub fn waits_for(&self) -> Waiting {
        let Inner { handle, id } = &*self.inner;
        let waits = handle.lock().proto.waits_for(handle.clock.now(), *id);
        waits.unwrap_or(Waiting::Nothing)
    }
}
