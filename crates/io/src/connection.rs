//! Connections, which send and receive datagrams.

mod events;
mod rate;
mod receive;
mod securing;
mod send;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fairwire_proto::{
    ChangeCcidError, CloseReason, ConnectionId, DatagramId, Direction, Fate, Stats,
};
use fairwire_units::{Instant, Rate};
use fairwire_wire::{Ccid, DropCode, ServiceCode};

use crate::address::DccpAddr;
use crate::error::{ConnectionClosed, FateError};
use crate::received::ReceivedId;
use crate::state::{ConnectionState, Handle, Progress, State};
use crate::waiting::Awaited;

/// A DCCP connection. Clones refer to the same connection; every method may be called from several tasks at once.
///
/// **[`close`](Self::close) it.** If the last clone is dropped without a close, for example by a panic or an early
/// return, the connection is reset (Reset 2, Aborted) and queued datagrams are discarded. The peer then sees an end
/// that is not [orderly](ConnectionClosed::is_orderly), so it knows that data may be missing.
#[derive(Clone, Debug)]
pub struct Connection {
    inner: Arc<Inner>,
    number: u64,
}

#[derive(Debug)]
struct Inner {
    handle: Handle,
    id: ConnectionId,
}

/// The number of the next connection of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Connection {
    pub(crate) fn new(handle: Handle, id: ConnectionId) -> Self {
        Self {
            inner: Arc::new(Inner { handle, id }),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Limits the path MTU to the MTU of the route to the peer, where the system tells it.
    ///
    /// A client learns the MTU before it connects; a server learns it here, when it accepts.
    pub(crate) fn limit_mtu_to_route(&self) {
        let Inner { handle, id } = &*self.inner;
        let Some((_, _, path)) = handle.lock().proto.addresses(*id) else {
            return;
        };
        let route = handle.system.route(path.local, path.remote).ok();
        if let Some(mtu) = route.and_then(|route| route.mtu) {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            let now = handle.clock.now();
            handle.lock().proto.limit_path_mtu(now, *id, mtu);
        }
    }

    /// Returns whether the endpoint's driver has ended.
    pub(crate) fn has_lost_its_driver(&self) -> bool {
        self.inner.handle.lock().driver_ended
    }

    /// Waits until the handshake succeeds or fails.
    pub(crate) async fn established(&self) -> Result<(), CloseReason> {
        self.wait(|connection| match &connection.closed {
            Some(reason) => Some(Err(reason.clone())),
            None => connection.reached(Progress::Open),
        })
        .await
    }

    /// Stops reading, for good. Sending goes on.
    ///
    /// Datagrams in the receive queue are discarded. The peer is told that nobody reads, so that it stops sending (RFC
    /// 4340, section 11.7.2). [`recv`](Self::recv) then waits for the end of the connection.
    pub fn stop_reading(&self) {
        self.with_proto(fairwire_proto::Endpoint::stop_reading);
    }

    /// Sets whether this application tells the peer that it can hardly keep up (Slow Receiver, RFC 4340, section 11.6).
    ///
    /// While it is set, every acknowledgement carries the option, and the peer does not increase its rate. A receive
    /// queue that is nearly full sends it without this call.
    pub fn set_slow(&self, slow: bool) {
        self.with_proto(|proto, now, id| proto.set_slow(now, id, slow));
    }

    /// Tells the peer that this application dropped a datagram after reading it, and why.
    ///
    /// `datagram` is [`Received::id`](crate::Received::id). With [`DropCode::ReceiveBuffer`] the peer slows down as if
    /// the datagram had been dropped from the receive queue; with any other code except
    /// [`DropCode::ProtocolConstraints`], as if it had been marked. Returns false if too many datagrams have arrived
    /// since, or if the datagram already has a Drop Code.
    pub fn report_dropped(&self, datagram: ReceivedId, code: DropCode) -> bool {
        self.with_proto(|proto, now, id| proto.report_dropped(now, id, datagram.0, code))
    }

    /// Returns whether the peer said within the last round trip that it can hardly keep up.
    pub fn is_receiver_slow(&self) -> bool {
        let Inner { handle, id } = &*self.inner;
        handle
            .lock()
            .proto
            .is_receiver_slow(handle.clock.now(), *id)
    }

    /// Calls a method of the protocol endpoint and wakes the driver.
    fn with_proto<T>(
        &self,
        what: impl FnOnce(&mut fairwire_proto::Endpoint, Instant, ConnectionId) -> T,
    ) -> T {
        let Inner { handle, id } = &*self.inner;
        let mut state = handle.lock();
        let answer = what(&mut state.proto, handle.clock.now(), *id);
        handle.wake_driver(&mut state);
        answer
    }

    /// Waits for the next datagram whose fate is known, and returns its id and fate.
    ///
    /// At most the newest 65,536 are kept until the application reads them. Cancelling loses no fate.
    ///
    /// # Errors
    /// See [`FateError`]: fates are reported only with [`Config::report_fates`](crate::Config::report_fates).
    pub async fn fate(&self) -> Result<(DatagramId, Fate), FateError> {
        let Inner { handle, id } = &*self.inner;
        let next = |state: &mut State| {
            let connection = state.connections.get_mut(id);
            let fate = connection.map_or_else(
                || Some(Err(CloseReason::Aborted)),
                |connection| match connection.fates.pop_front() {
                    Some(fate) => Some(Ok(fate)),
                    None => connection.closed.clone().map(Err),
                },
            );
            let fate = fate.map(|fate| fate.map_err(Some));
            fate.or_else(|| (!state.proto.reports_fates(*id)).then_some(Err(None)))
        };
        let next = handle.wait(Awaited::Changed(*id), next).await;
        next.map_err(|over| match over {
            Some(reason) => FateError::Closed(self.closed_for(reason)),
            None => FateError::NotReported,
        })
    }

    /// Sends what is queued, closes the connection, and waits until it is closed.
    ///
    /// Sending lasts at most [`Config::drain_timeout`](crate::Config::drain_timeout). Datagrams that are still queued
    /// then are discarded, and the close is still orderly. An application that must know reads the
    /// [`fate`](Self::fate)s. If the peer does not answer the Close, the wait ends after
    /// [`Config::close_timeout`](crate::Config::close_timeout). If this end of an encrypted connection has sent datagrams
    /// and the peer has not acknowledged the end of the handshake by the end of `drain_timeout`, the connection is reset:
    /// the peer may never read them. In both cases the reason is [`CloseReason::CloseTimeout`].
    ///
    /// To tell the peer why, use [`close_with`](Self::close_with).
    ///
    /// Cancelling stops only the wait. Once this future was polled, the close goes on, even if the connection is then
    /// dropped. A runtime that shuts down ends it.
    ///
    /// # Errors
    /// [`ConnectionClosed`] if the connection did not end with an orderly close.
    pub async fn close(&self) -> Result<(), ConnectionClosed> {
        self.with_proto(fairwire_proto::Endpoint::close);
        self.ended().await
    }

    /// Closes as [`close`](Self::close) does, and tells the peer's application why: it finds the code and the text in
    /// [`CloseReason::ApplicationClosed`].
    ///
    /// Each Close carries both, so a lost packet loses neither. The text is for a person to read, and is cut between
    /// characters after at most 249 bytes, or 211 with DTLS. The first call with a code counts.
    ///
    /// With DTLS both are authentic and secret. In clear text they are what the rest of the connection is: anybody on
    /// the path can read and forge them. The peer does not learn them if the connection is reset and not closed, or if
    /// it has announced its own end before; a peer that is not Fairwire ignores them.
    ///
    /// # Errors
    /// As of [`close`](Self::close).
    pub async fn close_with(&self, code: u32, text: &str) -> Result<(), ConnectionClosed> {
        self.with_proto(|proto, now, id| proto.close_with(now, id, code, text));
        self.ended().await
    }

    /// Waits for an end that this side has begun.
    async fn ended(&self) -> Result<(), ConnectionClosed> {
        let reason = self.closed().await;
        if reason.is_orderly() {
            return Ok(());
        }
        Err(self.closed_for(reason))
    }

    /// Waits until the connection is over, whichever side ends it, and returns why.
    pub async fn closed(&self) -> CloseReason {
        self.wait(|connection| connection.closed.clone()).await
    }

    /// Resets the connection at once; queued datagrams are discarded.
    pub fn abort(&self) {
        self.with_proto(fairwire_proto::Endpoint::abort);
    }

    /// Resets the connection at once and sends a reason: the peer finds `text` in [`CloseReason::Reset`].
    ///
    /// The Reset is sent once, so it may be lost. It carries the first [`ErrorText::MAX`](crate::ErrorText::MAX) bytes
    /// of the text, for a person to read (RFC 4340, section 5.6). It has no field for an application's error number, as
    /// [`close_with`](Self::close_with) has. Other implementations may ignore the text.
    pub fn abort_with(&self, text: &str) {
        self.with_proto(|proto, now, id| proto.abort_with(now, id, text));
    }

    /// Negotiates another CCID for the data of one direction. `ccids` lists the acceptable ones, best first.
    ///
    /// Data continues under the old CCID until the peer agrees; [`Connection::stats`] shows which one is in use. When
    /// the peer asks for a change, it can get the CCIDs that the configuration lists.
    ///
    /// # Errors
    /// See [`ChangeCcidError`].
    pub fn change_ccid(&self, direction: Direction, ccids: &[Ccid]) -> Result<(), ChangeCcidError> {
        self.with_proto(|proto, now, id| proto.change_ccid(now, id, direction, ccids))
    }

    /// Restarts congestion control in both directions, because the path changed while the addresses did not, as in a
    /// handover (RFC 4340, section 10.5).
    pub fn path_changed(&self) {
        self.with_proto(fairwire_proto::Endpoint::path_changed);
    }

    /// Estimates the rate at which the application may send now, in bits per second of its data, without headers.
    ///
    /// It is the rate that TFRC allows, or the congestion window divided by the round-trip time. It jumps with each
    /// report: an encoder follows [`target_bitrate`](Self::target_bitrate). `None` until a round-trip time is known.
    pub fn allowed_rate(&self) -> Option<Rate> {
        self.stats().allowed_rate
    }

    /// Returns counters and gauges: round-trip time, window or rate, loss event rate, queues.
    ///
    /// They are those of DCCP, so with DTLS they count what the path carries: records with their overhead, and DTLS's
    /// own datagrams (handshake, acknowledgements, new keys, the announcement of the end), some ten for each
    /// connection. [`fate`](Self::fate) reports only the application's datagrams.
    pub fn stats(&self) -> Stats {
        let Inner { handle, id } = &*self.inner;
        handle.lock().proto.stats(*id).unwrap_or_default()
    }

    /// Returns the smoothed round-trip time, once there is one: [`Stats::srtt`].
    pub fn rtt(&self) -> Option<Duration> {
        self.stats().srtt
    }

    /// Returns a number that no other connection of this process has, whatever endpoint it belongs to. Clones have the
    /// same one.
    pub fn stable_id(&self) -> u64 {
        self.number
    }

    /// Returns the size of the largest datagram that can be sent now, in bytes.
    ///
    /// A datagram that was accepted never fails later because of its size. With DTLS, one that begins like the messages
    /// with which both ends agree on sending again may have 16 bytes less; no datagram does by chance.
    pub fn max_datagram_size(&self) -> usize {
        let Inner { handle, id } = &*self.inner;
        handle.lock().proto.max_datagram_size(*id).unwrap_or(0)
    }

    /// Starts path MTU discovery again, for example after a change of network.
    ///
    /// Returns false and does nothing within two seconds of the last call, or if `Config::path_mtu_discovery` is off.
    pub fn rediscover_path_mtu(&self) -> bool {
        self.with_proto(fairwire_proto::Endpoint::rediscover_path_mtu)
    }

    /// Returns the service of this connection.
    ///
    /// At a server it is the one that the client asked for, among those that the listener offers (RFC 5595, section
    /// 3.3).
    pub fn service(&self) -> ServiceCode {
        let Inner { handle, id } = &*self.inner;
        let service = handle.lock().proto.service(*id);
        service.unwrap_or(ServiceCode::NONE)
    }

    /// Returns the peer's address, also after the end; `None` only if it was never known. With
    /// [`Config::migration`](crate::Config::migration) a client with DTLS may get another one
    /// ([`ConnectionEvent::PathChanged`](crate::ConnectionEvent::PathChanged)).
    pub fn remote(&self) -> Option<DccpAddr> {
        let Inner { handle, id } = &*self.inner;
        let (_, dccp_port, path) = handle.lock().proto.addresses(*id)?;
        Some(DccpAddr {
            addr: path.remote,
            dccp_port,
        })
    }

    /// Returns the local address, also after the end; `None` only if it was never known.
    ///
    /// The peer sees this address unless a NAT is in between.
    pub fn local(&self) -> Option<DccpAddr> {
        let Inner { handle, id } = &*self.inner;
        let (dccp_port, _, path) = handle.lock().proto.addresses(*id)?;
        Some(DccpAddr {
            addr: path.local,
            dccp_port,
        })
    }

    /// Waits until `ready_value` returns a value.
    async fn wait<T>(&self, mut ready_value: impl FnMut(&mut ConnectionState) -> Option<T>) -> T
    where
        T: Ended,
    {
        let Inner { handle, id } = &*self.inner;
        let ready_value = |state: &mut State| match state.connections.get_mut(id) {
            Some(connection) => ready_value(connection),
            None => Some(T::ended(CloseReason::Aborted)),
        };
        handle.wait(Awaited::Changed(*id), ready_value).await
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

/// A result that can say that the connection is over.
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
        Err(ConnectionClosed::of(reason))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let now = self.handle.clock.now();
        let mut state = self.handle.lock();
        state.abandon(now, self.id);
        self.handle.wake_driver(&mut state);
    }
}
