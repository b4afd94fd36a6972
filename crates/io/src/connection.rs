//! Connections: datagrams in, datagrams out.

use std::sync::Arc;

use bytes::Bytes;
use fairwire_proto::{
    ChangeCcidError, CloseReason, ConnectionId, DatagramId, Direction, Fate, Payload, Stats,
};
use fairwire_units::{Ecn, Instant, Rate};
use fairwire_wire::{DropCode, Seq, ServiceCode};

use crate::error::{Lost, SendError, TrySendError};
use crate::remote::Remote;
use crate::socket::Route;
use crate::state::{Handle, Link, State};
use crate::waiting::Place;

/// A DCCP connection. Clones are the same connection; every method works from several tasks at
/// once.
///
/// **[`close`](Self::close) it.** When the last clone is dropped without that, as by a panic or an
/// early return, the connection is reset (Reset 2, Aborted) and what is queued is gone: the peer
/// sees an end that is not [orderly](Lost::is_orderly), and does not take half the data for all.
#[derive(Clone, Debug)]
pub struct Connection {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Handle,
    id: ConnectionId,
}

/// A datagram received.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Received {
    /// Its data; may be empty.
    pub data: Bytes,
    /// The ECN field it arrived with: [`Ecn::Ce`] if a router met congestion.
    pub ecn: Ecn,
    /// Datagrams of the peer that are missing between the one read before and this one. A peer that checks
    /// our reports ([`Config::check_feedback`](crate::Config::check_feedback)) passes a number over now and
    /// then, one in some hundreds or thousands; that counts as a missing datagram here.
    pub lost_before: u64,
    /// Its name in [`Connection::report_dropped`].
    pub number: Number,
    /// Does its Data Checksum contradict the data? Only with [`DamagedData::Deliver`](crate::DamagedData::Deliver).
    pub corrupt: bool,
}

/// A datagram received into the caller's buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ReceivedInto {
    /// The datagram's length; if it is larger than the buffer, the rest of the data is gone.
    pub len: usize,
    /// The ECN field it arrived with: [`Ecn::Ce`] if a router met congestion.
    pub ecn: Ecn,
    /// Datagrams of the peer that are missing between the one read before and this one. A peer that checks
    /// our reports ([`Config::check_feedback`](crate::Config::check_feedback)) passes a number over now and
    /// then, one in some hundreds or thousands; that counts as a missing datagram here.
    pub lost_before: u64,
    /// Its name in [`Connection::report_dropped`].
    pub number: Number,
    /// Does its Data Checksum contradict the data? Only with [`DamagedData::Deliver`](crate::DamagedData::Deliver).
    pub corrupt: bool,
}

/// Names a datagram received, within its connection.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Number(Seq);

impl Connection {
    pub(crate) fn new(handle: Handle, id: ConnectionId) -> Self {
        Self {
            inner: Arc::new(Inner { handle, id }),
        }
    }

    /// Begins with datagrams no larger than the way to the peer takes, where the system tells. Who
    /// connects asks before; who accepts learns only now where the peer is.
    pub(crate) fn fit_route(&self) {
        let Inner { handle, id } = &*self.inner;
        let Some((_, _, path)) = handle.lock().proto.addresses(*id) else {
            return;
        };
        let route = Route::find(path.local, path.remote).ok();
        if let Some(mtu) = route.and_then(|route| route.mtu) {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            let now = handle.clock.now();
            handle.lock().proto.limit_path_mtu(now, *id, mtu);
        }
    }

    /// Waits for the handshake to end.
    pub(crate) async fn established(&self) -> Result<(), CloseReason> {
        self.wait(|link| match link.closed {
            Some(reason) => Some(Err(reason)),
            None => link.open.then_some(Ok(())),
        })
        .await
    }

    /// Queues a datagram, waiting until the send queue has room; its id names it in
    /// [`fate`](Self::fate). Cancelling sends nothing.
    ///
    /// # Errors
    /// See [`SendError`].
    pub async fn send(&self, data: impl Into<Bytes>) -> Result<DatagramId, SendError> {
        let data = data.into();
        let Inner { handle, id } = &*self.inner;
        let queue = |state: &mut State| match self.queue(state, &data) {
            Ok(id) => Some(Ok(id)),
            Err(TrySendError::Full) => None,
            Err(TrySendError::Send(error)) => Some(Err(error)),
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

    fn queue(&self, state: &mut State, data: &Bytes) -> Result<DatagramId, TrySendError> {
        let Inner { handle, id } = &*self.inner;
        let now = handle.clock.now();
        let payload = Payload::Bytes(data.clone());
        let closed = state.links.get(id).and_then(|link| link.closed);
        if state.gone {
            // Nobody is left who would send it.
            return Err(TrySendError::Send(SendError::Closed { reason: closed }));
        }
        match state.proto.send(now, *id, payload) {
            Ok(datagram) => {
                handle.poke(state);
                Ok(datagram)
            }
            Err(fairwire_proto::SendError::Full) => {
                if closed.is_some() {
                    return Err(TrySendError::Send(SendError::Closed { reason: closed }));
                }
                Err(TrySendError::Full)
            }
            Err(fairwire_proto::SendError::TooLarge { size, max }) => {
                Err(TrySendError::Send(SendError::TooLarge { size, max }))
            }
            Err(fairwire_proto::SendError::NotListening) => {
                Err(TrySendError::Send(SendError::NotListening))
            }
            Err(_) => Err(TrySendError::Send(SendError::Closed { reason: closed })),
        }
    }

    /// The next datagram. Cancelling loses none. What arrived before the end is still read after it.
    ///
    /// # Errors
    /// [`Lost`] once the connection is over and all is read;
    /// [`is_orderly`](Lost::is_orderly) tells whether the peer meant it.
    pub async fn recv(&self) -> Result<Received, Lost> {
        self.receive(|received| Received {
            ecn: received.ecn,
            lost_before: received.lost_before,
            number: Number(received.seq),
            corrupt: received.corrupt,
            data: match received.payload {
                Payload::Bytes(data) => data,
                Payload::Synthetic { len, .. } => Bytes::from(vec![0; len as usize]),
            },
        })
        .await
    }

    /// The next datagram, into `buffer`. Cancelling loses none.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub async fn recv_into(&self, buffer: &mut [u8]) -> Result<ReceivedInto, Lost> {
        self.receive(|received| {
            let data = received.payload.as_slice();
            let fits = data.len().min(buffer.len());
            buffer[..fits].copy_from_slice(&data[..fits]);
            ReceivedInto {
                len: received.payload.len(),
                ecn: received.ecn,
                lost_before: received.lost_before,
                number: Number(received.seq),
                corrupt: received.corrupt,
            }
        })
        .await
    }

    async fn receive<T>(
        &self,
        read: impl FnOnce(fairwire_proto::Received) -> T,
    ) -> Result<T, Lost> {
        let Inner { handle, id } = &*self.inner;
        let next = |state: &mut State| {
            if let Some(received) = state.proto.recv(*id) {
                return Some(Ok(received));
            }
            let closed = match state.links.get(id) {
                Some(link) => link.closed,
                None => Some(CloseReason::Aborted),
            };
            closed.map(|reason| Err(Lost { reason }))
        };
        // Read without the lock: it copies.
        handle.wait(Place::Readable(*id), next).await.map(read)
    }

    /// Reads no more, for good: what waits is thrown away, and the peer is told that nobody listens,
    /// so that it stops to send (RFC 4340, section 11.7.2). [`recv`](Self::recv) then waits for the
    /// end of the connection. Sending goes on.
    pub fn stop_reading(&self) {
        self.tell(fairwire_proto::Endpoint::stop_reading);
    }

    /// Tells the peer with every acknowledgement, until it is taken back, that this application can
    /// hardly keep up: the peer then sends no faster (Slow Receiver, RFC 4340, section 11.6). A
    /// receive queue that is nearly full says so by itself.
    pub fn set_slow(&self, slow: bool) {
        self.tell(|proto, now, id| proto.set_slow(now, id, slow));
    }

    /// Tells the peer that this application dropped a datagram that it had read, and why; `number`
    /// is [`Received::number`]. It slows down as if it had been dropped from the receive queue
    /// ([`DropCode::ReceiveBuffer`]) or marked (any other code but
    /// [`DropCode::ProtocolConstraints`]). False if too many came since, or if the datagram has
    /// a Drop Code already.
    pub fn report_dropped(&self, number: Number, code: DropCode) -> bool {
        let mut told = false;
        self.tell(|proto, now, id| told = proto.report_dropped(now, id, number.0, code));
        told
    }

    /// Has the peer said within the last round trip that it can hardly keep up?
    pub fn is_receiver_slow(&self) -> bool {
        let Inner { handle, id } = &*self.inner;
        handle
            .lock()
            .proto
            .is_receiver_slow(handle.clock.now(), *id)
    }

    /// Tells the protocol something.
    fn tell(&self, what: impl FnOnce(&mut fairwire_proto::Endpoint, Instant, ConnectionId)) {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        what(&mut state.proto, handle.clock.now(), *id);
        handle.poke(&mut state);
    }

    /// What became of the next datagram whose fate is known; only if `Config::report_fates` asked
    /// for it. The newest 65,536 fates are kept for an application that does not read them.
    /// Cancelling loses none.
    ///
    /// # Errors
    /// [`Lost`] once the connection is over and all fates are told.
    pub async fn fate(&self) -> Result<(DatagramId, Fate), Lost> {
        self.wait(|link| match link.fates.pop_front() {
            Some(fate) => Some(Ok(fate)),
            None => link.closed.map(|reason| Err(Lost { reason })),
        })
        .await
    }

    /// Sends what is queued, for at most [`Config::linger`](crate::Config::linger), closes, and waits until
    /// that is done. What has not left by then is discarded, and the end is orderly all the same: an
    /// application that must know asks for [`fate`](Self::fate)s. A peer that does not answer holds it for
    /// as long again at most, by default.
    ///
    /// Cancelling stops the waiting only: once polled, the close goes on, even if the connection is
    /// then dropped. A runtime that shuts down ends it.
    ///
    /// # Errors
    /// [`Lost`] if the connection ended in any other way than an orderly close.
    pub async fn close(&self) -> Result<(), Lost> {
        self.begin_close();
        match self.closed().await {
            CloseReason::Closed => Ok(()),
            reason => Err(Lost { reason }),
        }
    }

    fn begin_close(&self) {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let now = handle.clock.now();
        state.proto.close(now, *id);
        handle.poke(&mut state);
    }

    /// Waits until the connection is over, whoever ends it.
    pub async fn closed(&self) -> CloseReason {
        self.wait(|link| link.closed).await
    }

    /// Resets the connection at once; what is queued is gone.
    pub fn abort(&self) {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let now = handle.clock.now();
        state.proto.abort(now, *id);
        handle.poke(&mut state);
    }

    /// Asks for another CCID for the data of one direction: these would do, best first. Data goes on
    /// under the old one until the peer agrees; [`Connection::stats`] shows which is in force. A peer is
    /// granted what the configuration names.
    ///
    /// # Errors
    /// See [`ChangeCcidError`].
    pub fn change_ccid(&self, direction: Direction, ccids: &[u8]) -> Result<(), ChangeCcidError> {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let now = handle.clock.now();
        let asked = state.proto.change_ccid(now, *id, direction, ccids);
        handle.poke(&mut state);
        asked
    }

    /// The path has changed below the addresses, as in a handover: congestion control begins again
    /// in both directions (RFC 4340, section 10.5).
    pub fn path_changed(&self) {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let now = handle.clock.now();
        state.proto.path_changed(now, *id);
        handle.poke(&mut state);
    }

    /// What the application may send now, estimated: the allowed rate, or window over round-trip
    /// time. `None` until there is a round-trip time.
    pub fn allowed_rate(&self) -> Option<Rate> {
        self.stats().allowed_rate
    }

    /// Counters and gauges: round-trip time, window or rate, loss event rate, queues.
    pub fn stats(&self) -> Stats {
        let Inner { handle, id } = &*self.inner;
        handle.lock().proto.stats(*id).unwrap_or_default()
    }

    /// The largest datagram that can be sent now, bytes; an accepted one never fails later for
    /// its size.
    pub fn max_datagram_size(&self) -> usize {
        let Inner { handle, id } = &*self.inner;
        handle.lock().proto.max_datagram_size(*id).unwrap_or(0)
    }

    /// Waits until the path turns out to take more or less than it seemed to, and gives the largest
    /// datagram then, bytes. Datagrams queued that no longer fit get the fate [`Fate::TooLarge`].
    /// Cancelling loses nothing.
    ///
    /// # Errors
    /// [`Lost`] once the connection is over.
    pub async fn max_datagram_size_changed(&self) -> Result<usize, Lost> {
        self.wait(|link| match link.max_datagram.take() {
            Some(size) => Some(Ok(size)),
            None => link.closed.map(|reason| Err(Lost { reason })),
        })
        .await
    }

    /// Looks for the path MTU anew, as after a change of network. False, and nothing done, within
    /// two seconds of the last time, or where `Config::path_mtu_discovery` is off.
    pub fn rediscover_path_mtu(&self) -> bool {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let now = handle.clock.now();
        let begun = state.proto.rediscover_path_mtu(now, *id);
        handle.poke(&mut state);
        begun
    }

    /// The service that it is for: at a server, the one that the client asked for among those that
    /// the listener offers (RFC 5595, section 3.3).
    pub fn service(&self) -> ServiceCode {
        let Inner { handle, id } = &*self.inner;
        let service = handle.lock().proto.service(*id);
        service.unwrap_or(ServiceCode::NONE)
    }

    /// The peer, after the end too; `None` only if it was never known.
    pub fn remote(&self) -> Option<Remote> {
        let Inner { handle, id } = &*self.inner;
        let (_, dccp_port, path) = handle.lock().proto.addresses(*id)?;
        Some(Remote {
            addr: path.remote,
            dccp_port,
        })
    }

    /// Ourselves as the peer sees us if no NAT is between, after the end too; `None` only if it was
    /// never known.
    pub fn local(&self) -> Option<Remote> {
        let Inner { handle, id } = &*self.inner;
        let (dccp_port, _, path) = handle.lock().proto.addresses(*id)?;
        Some(Remote {
            addr: path.local,
            dccp_port,
        })
    }

    /// Waits until `look` sees what it waits for.
    async fn wait<T>(&self, mut look: impl FnMut(&mut Link) -> Option<T>) -> T
    where
        T: Ended,
    {
        let Inner { handle, id } = &*self.inner;
        let look = |state: &mut State| match state.links.get_mut(id) {
            Some(link) => look(link),
            None => Some(T::ended(CloseReason::Aborted)),
        };
        handle.wait(Place::Changed(*id), look).await
    }

    #[cfg(test)]
    pub(crate) fn handle(&self) -> &Handle {
        &self.inner.handle
    }

    #[cfg(test)]
    pub(crate) fn id(&self) -> ConnectionId {
        self.inner.id
    }
}

/// An answer that can say that the connection is over.
trait Ended {
    fn ended(reason: CloseReason) -> Self;
}

impl Ended for CloseReason {
    fn ended(reason: CloseReason) -> Self {
        reason
    }
}

impl<T> Ended for Result<T, CloseReason> {
    fn ended(reason: CloseReason) -> Self {
        Err(reason)
    }
}

impl<T> Ended for Result<T, Lost> {
    fn ended(reason: CloseReason) -> Self {
        Err(Lost { reason })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let now = self.handle.clock.now();
        let mut state = self.handle.lock();
        state.abandon(now, self.id);
        self.handle.poke(&mut state);
    }
}
