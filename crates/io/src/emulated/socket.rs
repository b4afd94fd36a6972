//! Datagram sockets on a simulated host.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use fairwire_proto::Encapsulation;
use fairwire_units::Ecn;
use quinn_udp::EcnCodepoint;
use tokio::io::Ready;

use super::network::Network;
use super::port::{Arrival, Port};
use super::wire::{Datagram, MTU};
use crate::transport::{Batch, Facts, Inbox, Outlet, Transport};

/// A plain datagram socket on a simulated host, on which any protocol can run. [`Host::socket`](super::Host::socket)
/// makes one.
///
/// It stands for a UDP socket with Don't Fragment: it sends one datagram at a time, with an ECN field, and never
/// blocks. What the link cannot take waits in the link's queue, or is lost there. Dropping it gives the port back.
#[derive(Debug)]
pub struct Socket {
    sender: Sender,
    port: Arc<Port>,
}

/// What sends from a socket's address.
#[derive(Clone, Debug)]
struct Sender {
    network: Network,
    local: SocketAddrV4,
}

impl Socket {
    pub(super) fn new(network: Network, local: SocketAddrV4, port: Arc<Port>) -> Self {
        let sender = Sender { network, local };
        Self { sender, port }
    }

    /// Returns its address.
    pub fn local_addr(&self) -> SocketAddr {
        self.sender.local.into()
    }

    /// Sends a datagram. A datagram that arrives where no socket is bound is lost.
    ///
    /// # Errors
    /// `InvalidInput` for more than [`MAX_DATAGRAM`](super::MAX_DATAGRAM) bytes, and `NetworkUnreachable` for an
    /// address that no host of the network has.
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr, ecn: Ecn) -> io::Result<()> {
        self.sender.send_to(datagram, to, ecn)
    }

    /// Receives a datagram, or has the task woken when one arrives. What does not fit into `buffer` is lost.
    pub fn poll_recv_from(&self, context: &Context<'_>, buffer: &mut [u8]) -> Poll<Arrival> {
        loop {
            ready!(self.port.poll_ready(context));
            if let Some(arrival) = self.port.pop(buffer) {
                return Poll::Ready(arrival);
            }
        }
    }

    /// Receives a datagram. What does not fit into `buffer` is lost. Cancelling loses nothing.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> Arrival {
        poll_fn(|context| self.poll_recv_from(context, buffer)).await
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.sender.network.release(self.sender.local);
    }
}

impl Sender {
    fn send_to(&self, datagram: &[u8], to: SocketAddr, ecn: Ecn) -> io::Result<()> {
        let SocketAddr::V4(to) = to else {
            return Err(io::ErrorKind::NetworkUnreachable.into());
        };
        self.network.send(Datagram {
            from: self.local,
            to,
            ecn,
            bytes: datagram.into(),
        })
    }
}

impl Outlet for Sender {
    fn max_segments(&self) -> usize {
        1
    }

    fn send(&self, batch: &Batch) -> io::Result<()> {
        self.send_to(batch.bytes(), batch.path().remote, batch.ecn())
    }

    fn send_singly(&self, batch: &Batch) -> usize {
        usize::from(self.send(batch).is_ok())
    }
}

impl Transport for Socket {
    fn facts(&self) -> Facts {
        Facts {
            encapsulation: Encapsulation::Udp,
            local: self.local_addr(),
            ecn: true,
            message: MTU as usize,
        }
    }

    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(self.sender.clone())
    }

    async fn ready(&self) -> io::Result<Ready> {
        poll_fn(|context| self.port.poll_ready(context)).await;
        Ok(Ready::READABLE)
    }

    fn receive(&mut self, inbox: &mut Inbox) -> io::Result<()> {
        let filled = inbox.fill(|buffers, meta| {
            let mut filled = 0;
            for (buffer, meta) in buffers.iter_mut().zip(meta) {
                let Some(arrival) = self.port.pop(buffer) else {
                    break;
                };
                meta.len = arrival.len;
                meta.stride = arrival.len;
                meta.addr = arrival.from;
                meta.ecn = EcnCodepoint::from_bits(arrival.ecn.bits());
                meta.dst_ip = None;
                filled += 1;
            }
            match filled {
                0 => Err(io::ErrorKind::WouldBlock.into()),
                filled => Ok(filled),
            }
        });
        filled.map(drop)
    }
}
