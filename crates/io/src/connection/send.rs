//! Sending datagrams.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use fairwire_proto::{self as proto, DatagramId, Deferred, Payload, Resend, Waiting};

use super::{Connection, Inner};
use crate::error::{ConnectionClosed, SendError, TrySendError};
use crate::options::SendOptions;
use crate::secure::{FRAME, Later, OVERHEAD, SealError, escape_len, unmistakable};
use crate::state::{ConnectionState, State};
use crate::timer::Timer;
use crate::waiting::Place;

/// A datagram as it goes into the send queue.
enum Outgoing {
    /// In clear text, or encrypted already.
    Ready(Bytes),
    /// To be encrypted when it leaves.
    Later(Deferred),
}

/// Sending. A datagram that is accepted waits in the send queue until congestion control lets it leave. Its id
/// identifies it in [`fate`](Connection::fate).
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
    pub async fn send_with(
        &self,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        let clock = self.inner.handle.clock;
        let options = self.converted(options);
        let queued = self.send_when_there_is_room(data.into(), options);
        let Some(deadline) = options.deadline else {
            return queued.await;
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
            queued = queued => queued,
            () = late => Err(SendError::DeadlinePassed),
        }
    }

    /// Waits for room. With DTLS it encrypts then: a record that waits while many others leave is too old for the peer
    /// (RFC 9147, section 4.5.1).
    async fn send_when_there_is_room(
        &self,
        data: Bytes,
        options: proto::SendOptions,
    ) -> Result<DatagramId, SendError> {
        if !self.is_encrypted() {
            let Inner { handle, id, .. } = &*self.inner;
            let data = Outgoing::Ready(data);
            let queue = |state: &mut State| self.queue_or_wait(state, &data, options);
            return handle.wait(Place::Writable(*id), queue).await;
        }
        let data = self.carried(data, options);
        loop {
            match self.try_queue(&data, options) {
                Ok(id) => return Ok(id),
                Err(TrySendError::Full) => self.room(data.len(), options).await,
                Err(TrySendError::Send(error)) => return Err(error),
            }
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
        if self.is_encrypted() {
            return self.send_many_sealed(datagrams).await;
        }
        let Inner { handle, id, .. } = &*self.inner;
        let queue = |state: &mut State| {
            let mut taken = Vec::new();
            while let Some(data) = datagrams.front() {
                let data = Outgoing::Ready(data.clone());
                match self.queue(state, &data, proto::SendOptions::default()) {
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

    /// Waits for room for one datagram and encrypts those that have room. No lock of the endpoint is held meanwhile.
    async fn send_many_sealed(
        &self,
        datagrams: &mut VecDeque<Bytes>,
    ) -> Result<Vec<DatagramId>, SendError> {
        let options = proto::SendOptions::default();
        let mut taken = Vec::new();
        while let Some(data) = datagrams.front() {
            let data = self.carried(data.clone(), options);
            match self.try_queue(&data, options) {
                Ok(id) => taken.push(id),
                Err(_) if !taken.is_empty() => break,
                Err(TrySendError::Full) => self.room(data.len(), options).await,
                Err(TrySendError::Send(error)) => return Err(error),
            }
            if !taken.is_empty() {
                datagrams.pop_front();
            }
        }
        Ok(taken)
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
        self.try_queue(&self.carried(data.into(), options), options)
    }

    /// Queues data as [`carried`](Self::carried) returns it.
    fn try_queue(
        &self,
        data: &Bytes,
        options: proto::SendOptions,
    ) -> Result<DatagramId, TrySendError> {
        let queued = self.outgoing(data, options).and_then(|outgoing| {
            self.queue(&mut self.inner.handle.lock(), &outgoing, options)
                .map_err(|error| self.completed(error))
        });
        queued.map_err(|error| match error {
            // The application knows the size without what was put in front of it.
            TrySendError::Send(SendError::TooLarge { size, max }) if self.escapes(options) => {
                let escape = escape_len(data);
                let (size, max) = (size.saturating_sub(escape), max.saturating_sub(escape));
                SendError::TooLarge { size, max }.into()
            }
            error => error,
        })
    }

    /// Returns the data as it is encrypted: what would pass for an announcement of DTLS's resending is escaped.
    fn carried(&self, data: Bytes, options: proto::SendOptions) -> Bytes {
        if self.escapes(options) {
            unmistakable(data)
        } else {
            data
        }
    }

    /// Returns whether data with these options may have to be escaped. Data that may be sent again gets a frame.
    fn escapes(&self, options: proto::SendOptions) -> bool {
        self.is_encrypted() && options.resend == Resend::Never
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
        let Inner { handle, id, .. } = &*self.inner;
        let place = Place::Writable(*id);
        if !self.is_encrypted() {
            let data = Outgoing::Ready(data.clone());
            let options = proto::SendOptions::default();
            let queue = |state: &mut State| self.queue_or_wait(state, &data, options);
            return handle.poll(place, context, queue);
        }
        let options = proto::SendOptions::default();
        let data = self.carried(data.clone(), options);
        loop {
            let room = |state: &mut State| self.room_or_end(state, data.len(), options);
            ready!(handle.poll(place, context, room));
            match self.try_queue(&data, options) {
                Ok(id) => return Poll::Ready(Ok(id)),
                Err(TrySendError::Full) => {} // Another task was faster.
                Err(TrySendError::Send(error)) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Waits until the send queue has room for `size` bytes of the application, or the connection is over.
    async fn room(&self, size: usize, options: proto::SendOptions) {
        let Inner { handle, id, .. } = &*self.inner;
        let room = |state: &mut State| self.room_or_end(state, size, options);
        handle.wait(Place::Writable(*id), room).await;
    }

    /// Returns a value if the send queue takes `size` bytes of the application, or if waiting will not help.
    fn room_or_end(
        &self,
        state: &mut State,
        size: usize,
        options: proto::SendOptions,
    ) -> Option<()> {
        let checked = self.check(state, size, options);
        (checked != Err(TrySendError::Full)).then_some(())
    }

    /// Returns the error with which the send queue would refuse `size` bytes of the application now. What is expired
    /// there makes room.
    fn check(
        &self,
        state: &mut State,
        size: usize,
        options: proto::SendOptions,
    ) -> Result<(), TrySendError> {
        let Inner { handle, id, .. } = &*self.inner;
        if state.driver_ended {
            return Err(self.end_of(state).into());
        }
        let size = size.saturating_add(self.overhead());
        let checked = state
            .proto
            .check_send(handle.clock.now(), *id, size, options);
        checked.map_err(|error| self.refusal(state, &error))
    }

    /// Prepares the data for the send queue: encrypts it, or has it encrypted when it leaves, if the connection has
    /// DTLS, and room for it. RFC 5238, 3.4: nothing leaves in clear text then.
    fn outgoing(
        &self,
        data: &Bytes,
        options: proto::SendOptions,
    ) -> Result<Outgoing, TrySendError> {
        let Inner { handle, id, secure } = &*self.inner;
        let Some(secure) = secure.get() else {
            return Ok(Outgoing::Ready(data.clone()));
        };
        let mut state = handle.lock();
        let max = state.proto.max_datagram_size(*id).unwrap_or(0);
        // Nothing is encrypted in vain.
        let checked = self.check(&mut state, data.len(), options);
        handle.wake_driver(&mut state);
        drop(state);
        checked.map_err(|error| self.completed(error))?;
        let len = data.len();
        let frame = match options.resend {
            Resend::Never => None,
            _ => Some(secure.frame().ok_or(SendError::ResendNotAgreed)?),
        };
        let outgoing = if secure.is_overtaken(options) {
            let added = OVERHEAD + frame.as_ref().map_or(0, |_| FRAME);
            secure.check(len, max).map(|()| {
                let later = Later::new(secure, data.clone(), frame);
                Outgoing::Later(Deferred::new(len + added, Arc::new(later)))
            })
        } else {
            secure.seal(handle, *id, data, max).map(Outgoing::Ready)
        };
        let refused = |error| match error {
            SealError::TooLarge { max } => SendError::TooLarge { size: len, max },
            SealError::Closing => SendError::Closing,
        };
        outgoing.map_err(|error| refused(error).into())
    }

    /// Completes an error by what DTLS knows about the end. Call it without the endpoint's lock.
    fn completed(&self, error: TrySendError) -> TrySendError {
        match error {
            TrySendError::Send(SendError::Closed(closed)) => {
                SendError::Closed(self.closed_for(closed.reason)).into()
            }
            error => error,
        }
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
        data: &Outgoing,
        options: proto::SendOptions,
    ) -> Option<Result<DatagramId, SendError>> {
        match self.queue(state, data, options) {
            Ok(id) => Some(Ok(id)),
            Err(TrySendError::Full) => None,
            Err(TrySendError::Send(error)) => Some(Err(error)),
        }
    }

    fn queue(
        &self,
        state: &mut State,
        data: &Outgoing,
        options: proto::SendOptions,
    ) -> Result<DatagramId, TrySendError> {
        let Inner { handle, id, .. } = &*self.inner;
        if state.driver_ended {
            // The driver, which would send it, has ended.
            return Err(self.end_of(state).into());
        }
        let now = handle.clock.now();
        let queued = match data {
            Outgoing::Ready(data) => {
                let payload = Payload::Bytes(data.clone());
                state.proto.send_with(now, *id, payload, options)
            }
            Outgoing::Later(data) => state.proto.send_deferred(now, *id, data.clone(), options),
        };
        match queued {
            Ok(datagram) => {
                handle.wake_driver(state);
                Ok(datagram)
            }
            Err(error) => Err(self.refusal(state, &error)),
        }
    }

    /// Returns the error for the application of a datagram that the protocol refuses.
    fn refusal(&self, state: &State, error: &proto::SendError) -> TrySendError {
        let refused = match *error {
            proto::SendError::Full if self.end(state).is_none() => return TrySendError::Full,
            proto::SendError::TooLarge { size, max } => {
                let overhead = self.overhead();
                let (size, max) = (size.saturating_sub(overhead), max.saturating_sub(overhead));
                SendError::TooLarge { size, max }
            }
            proto::SendError::NotListening => SendError::NotListening,
            proto::SendError::DeadlinePassed => SendError::DeadlinePassed,
            proto::SendError::GroupBroken { group } => SendError::GroupBroken { group },
            proto::SendError::ResendNotAgreed => SendError::ResendNotAgreed,
            proto::SendError::ResendWithoutLosses { ccid } => {
                SendError::ResendWithoutLosses { ccid }
            }
            _ => self.end_of(state),
        };
        refused.into()
    }

    fn end(&self, state: &State) -> Option<ConnectionClosed> {
        let connection = state.connections.get(&self.inner.id);
        connection.and_then(ConnectionState::end)
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
        let Inner { handle, id, .. } = &*self.inner;
        let age = handle.lock().proto.queue_age(handle.clock.now(), *id);
        age.unwrap_or_default()
    }

    /// Returns what the datagram that leaves next waits for.
    pub fn waits_for(&self) -> Waiting {
        let Inner { handle, id, .. } = &*self.inner;
        let waits = handle.lock().proto.waits_for(handle.clock.now(), *id);
        waits.unwrap_or(Waiting::Nothing)
    }
}
