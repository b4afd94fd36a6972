//! The seam below an endpoint: what carries its datagrams, and the system that it runs on.
//!
//! A [`Transport`] moves datagrams: in UDP, directly in IP, or inside this process. The driver of an endpoint owns it
//! and is generic over it. Handles and driver share its [`Outlet`], which sends batches. A [`System`] answers what else
//! the endpoint asks: the time, routes, ports and random numbers. Handles and driver share it. Neither knows DCCP.
//!
//! What differs between transports is data: [`Facts`]. The overhead of a packet and who protects it with a checksum
//! follow from [`Encapsulation`].

mod address;
mod batch;
mod inbox;
mod network_error;

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use fairwire_proto::Encapsulation;
use tokio::io::Ready;

use crate::clock::Clock;

pub(crate) use address::{arrived_at, canonical};
pub(crate) use batch::Batch;
pub(crate) use inbox::{Arrived, Inbox};
pub(crate) use network_error::NetworkError;

/// What an endpoint has to know about its transport.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// How packets are carried. Their overhead and the rule for their checksum follow from it.
    pub encapsulation: Encapsulation,
    /// The address that packets leave from, as far as it is known; without UDP its port is zero.
    pub local: SocketAddr,
    /// Whether ECN marks can be set and read.
    pub ecn: bool,
    /// The most bytes of one message that arrives, which may hold several datagrams.
    pub message: usize,
}

/// What sends the datagrams of one endpoint. No call blocks.
pub(crate) trait Outlet: fmt::Debug + Send + Sync {
    /// Returns how many datagrams one call of [`send`](Self::send) takes. It may fall after a failed call.
    fn max_segments(&self) -> usize;

    /// Sends one batch.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room: nothing was sent. Any other error means that this batch cannot be sent, or
    /// that an earlier datagram met an error, which this call clears.
    fn send(&self, batch: &Batch) -> io::Result<()>;

    /// Sends the packets of a batch one by one, and skips those that fail. Returns how many were sent.
    fn send_singly(&self, batch: &Batch) -> usize;
}

/// What carries the datagrams of one endpoint. No call blocks.
pub(crate) trait Transport: Send + 'static {
    /// Returns what does not change.
    fn facts(&self) -> Facts;

    /// Returns what sends.
    fn outlet(&self) -> Arc<dyn Outlet>;

    /// Waits until a datagram has arrived or an error is queued. Fails if nothing will arrive any more.
    fn ready(&self) -> impl Future<Output = io::Result<Ready>> + Send;

    /// Receives messages into `inbox`; `WouldBlock` if nothing has arrived.
    fn receive(&mut self, inbox: &mut Inbox) -> io::Result<()>;

    /// Returns the DCCP packet in what arrived; `None` if it must be ignored.
    fn unwrap<'a>(&self, arrived: Arrived<'a>) -> Option<Arrived<'a>> {
        Some(arrived)
    }

    /// Passes queued errors of the network to `each`. If there are many, the rest make the transport ready again.
    fn drain_errors(&self, _each: impl FnMut(NetworkError<'_>)) {}
}

/// The route to a peer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Route {
    /// The address that datagrams are sent from, with the port of the socket that sends them.
    pub local: SocketAddr,
    /// The MTU of the first hop, bytes of IP packet, where the system tells.
    pub mtu: Option<u32>,
}

/// What tells of changes of a host's routes and addresses. It may tell of more.
pub(crate) trait Changes: fmt::Debug + Send {
    /// Waits until there may be one.
    fn poll_changed(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

/// Reserves a DCCP port among the programs of a host, while it lives.
pub(crate) type Claim = Box<dyn Send + Sync>;

/// The system that an endpoint runs on.
pub(crate) trait System: fmt::Debug + Send + Sync {
    /// Starts a clock at zero.
    fn clock(&self) -> Clock;

    /// Finds the route from a socket bound to `bound` to `remote`.
    ///
    /// # Errors
    /// The system's error for a remote without a route.
    fn route(&self, bound: SocketAddr, remote: SocketAddr) -> io::Result<Route>;

    /// Returns whether no datagram can leave from this address any more.
    fn is_lost(&self, _ip: IpAddr) -> bool {
        false
    }

    /// Begins to tell of changes of routes and addresses; `None` if there are none.
    fn changes(&self) -> Option<Box<dyn Changes>> {
        None
    }

    /// Reserves a DCCP port of `ip` that UDP does not already reserve.
    ///
    /// # Errors
    /// `AddrInUse` if another listener of this host has it. After any other error the port can be used, but is not
    /// reserved.
    fn claim(&self, ip: IpAddr, port: u16) -> io::Result<Claim>;

    /// Fills `bytes` with random numbers, or leaves them as they are if there are none.
    fn draw(&self, bytes: &mut [u8]) -> io::Result<()>;
}
