//! Connections: datagrams in, datagrams out.

mod events;
mod receive;
mod send;

use std::sync::Arc;

use fairwire_proto::{
    ChangeCcidError, CloseReason, ConnectionId, DatagramId, Direction, Fate, Stats,
};
use fairwire_units::{Instant, Rate};
use fairwire_wire::{Ccid, DropCode, ServiceCode};

use crate::address::DccpAddr;
use crate::error::ConnectionClosed;
use crate::received::ReceivedId;
use crate::socket::Route;
use crate::state::{Handle, Link, State};
use crate::waiting::Place;

/// A DCCP connection. Clones are the same connection; every method works from several tasks at
/// once.
///
/// **[`close`](Self::close) it.** When the last clone is dropped without that, as by a panic or an
/// early return, the connection is reset (Reset 2, Aborted) and what is queued is gone: the peer
/// sees an end that is not [orderly](ConnectionClosed::is_orderly), and does not take half the data for all.
#[derive(Clone, Debug)]
pub struct Connection {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    handle: Handle,
    id: ConnectionId,
}

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
        self.wait(|link| match &link.closed {
            Some(reason) => Some(Err(reason.clone())),
            None => link.open.then_some(Ok(())),
        })
        .await
    }

    /// Reads no more, for good: what waits is thrown away, and the peer is told that nobody listens,
    /// so that it stops sending (RFC 4340, section 11.7.2). [`recv`](Self::recv) then waits for the
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

    /// Tells the peer that this application dropped a datagram that it had read, and why; `datagram`
    /// is [`Received::id`](crate::Received::id). It slows down as if it had been dropped from the receive queue
    /// ([`DropCode::ReceiveBuffer`]) or marked (any other code but
    /// [`DropCode::ProtocolConstraints`]). False if too many came since, or if the datagram has
    /// a Drop Code already.
    pub fn report_dropped(&self, datagram: ReceivedId, code: DropCode) -> bool {
        self.tell(|proto, now, id| proto.report_dropped(now, id, datagram.0, code))
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
    fn tell<T>(
        &self,
        what: impl FnOnce(&mut fairwire_proto::Endpoint, Instant, ConnectionId) -> T,
    ) -> T {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let answer = what(&mut state.proto, handle.clock.now(), *id);
        handle.poke(&mut state);
        answer
    }

    /// What became of the next datagram whose fate is known; only if `Config::report_fates` asked
    /// for it. The newest 65,536 fates are kept for an application that does not read them.
    /// Cancelling loses none.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and all fates are told.
    pub async fn fate(&self) -> Result<(DatagramId, Fate), ConnectionClosed> {
        self.wait(|link| match link.fates.pop_front() {
            Some(fate) => Some(Ok(fate)),
            None => link.end().map(Err),
        })
        .await
    }

    /// Sends what is queued, for at most [`Config::drain_timeout`](crate::Config::drain_timeout), closes, and waits until
    /// that is done. What has not left by then is discarded, and the end is orderly all the same: an
    /// application that must know asks for [`fate`](Self::fate)s. A peer that does not answer holds it for
    /// [`Config::close_timeout`](crate::Config::close_timeout).
    ///
    /// A close carries neither code nor reason: RFC 4340 has the peer ignore all that comes with it (section 5.5). An
    /// application says why in its last datagram, which may be lost, or ends with [`abort_with`](Self::abort_with).
    ///
    /// Cancelling stops the waiting only: once polled, the close goes on, even if the connection is
    /// then dropped. A runtime that shuts down ends it.
    ///
    /// # Errors
    /// [`ConnectionClosed`] if the connection ended in any other way than an orderly close.
    pub async fn close(&self) -> Result<(), ConnectionClosed> {
        self.begin_close();
        match self.closed().await {
            CloseReason::Closed => Ok(()),
            reason => Err(ConnectionClosed { reason }),
        }
    }

    fn begin_close(&self) {
        self.tell(fairwire_proto::Endpoint::close);
    }

    /// Waits until the connection is over, whoever ends it.
    pub async fn closed(&self) -> CloseReason {
        self.wait(|link| link.closed.clone()).await
    }

    /// Resets the connection at once; what is queued is gone.
    pub fn abort(&self) {
        self.tell(fairwire_proto::Endpoint::abort);
    }

    /// Resets the connection at once and tells the peer's application why: `text` becomes
    /// [`CloseReason::Reset`]'s there.
    ///
    /// The Reset is sent once, so it may be lost. The first [`ErrorText::MAX`](crate::ErrorText::MAX) bytes of the text
    /// go with it, for a person to read (RFC 4340, section 5.6). DCCP has no place for an application's number: one that
    /// programs are to act on is part of the text. Other stacks may ignore it.
    pub fn abort_with(&self, text: &str) {
        self.tell(|proto, now, id| proto.abort_with(now, id, text));
    }

    /// Asks for another CCID for the data of one direction: these would do, best first. Data goes on
    /// under the old one until the peer agrees; [`Connection::stats`] shows which is in force. A peer is
    /// granted what the configuration names.
    ///
    /// # Errors
    /// See [`ChangeCcidError`].
    pub fn change_ccid(&self, direction: Direction, ccids: &[Ccid]) -> Result<(), ChangeCcidError> {
        self.tell(|proto, now, id| proto.change_ccid(now, id, direction, ccids))
    }

    /// The path has changed below the addresses, as in a handover: congestion control begins again
    /// in both directions (RFC 4340, section 10.5).
    pub fn path_changed(&self) {
        self.tell(fairwire_proto::Endpoint::path_changed);
    }

    /// Estimates what the application may send now: bits per second of datagrams alone, without headers. It is
    /// the rate that TFRC allows, or the congestion window over the round-trip time. `None` until there is a
    /// round-trip time.
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

    /// Looks for the path MTU anew, as after a change of network. False, and nothing done, within
    /// two seconds of the last time, or where `Config::path_mtu_discovery` is off.
    pub fn rediscover_path_mtu(&self) -> bool {
        self.tell(fairwire_proto::Endpoint::rediscover_path_mtu)
    }

    /// The service that it is for: at a server, the one that the client asked for among those that
    /// the listener offers (RFC 5595, section 3.3).
    pub fn service(&self) -> ServiceCode {
        let Inner { handle, id } = &*self.inner;
        let service = handle.lock().proto.service(*id);
        service.unwrap_or(ServiceCode::NONE)
    }

    /// The peer, after the end too; `None` only if it was never known.
    pub fn remote(&self) -> Option<DccpAddr> {
        let Inner { handle, id } = &*self.inner;
        let (_, dccp_port, path) = handle.lock().proto.addresses(*id)?;
        Some(DccpAddr {
            addr: path.remote,
            dccp_port,
        })
    }

    /// Ourselves as the peer sees us if no NAT is between, after the end too; `None` only if it was
    /// never known.
    pub fn local(&self) -> Option<DccpAddr> {
        let Inner { handle, id } = &*self.inner;
        let (dccp_port, _, path) = handle.lock().proto.addresses(*id)?;
        Some(DccpAddr {
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

impl<T> Ended for Result<T, ConnectionClosed> {
    fn ended(reason: CloseReason) -> Self {
        Err(ConnectionClosed { reason })
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
