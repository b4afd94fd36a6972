//! Sockets in memory: what one sends is in the other's queue at once, and nothing is lost.

#![expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "the shape of the sockets that these stand for"
)]

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::task::{Poll, Waker};

use quinn_udp::EcnCodepoint;
use shuttle::sync::{Mutex, MutexGuard};
use tokio::io::Ready;

use fairwire_proto::{Encapsulation, IcmpError};
use fairwire_units::Ecn;

use crate::error::BindError;

#[path = "../../io/src/socket"]
mod io_socket {
    pub(crate) mod address;
    pub(crate) mod batch;
    pub(crate) mod inbox;

    /// In place of the system's limits.
    pub(crate) mod limits {
        /// Receive buffer per message: no model sends more in a datagram, and none gets a train of them.
        pub(crate) const BUFFER: usize = 2_048;
    }
}

pub(crate) use io_socket::address::{arrived_at, canonical};
pub(crate) use io_socket::batch::Batch;
pub(crate) use io_socket::inbox::{Arrived, Inbox};

/// Datagrams that one call sends at most, so that batches of several are cut too.
const SEGMENTS: usize = 4;

/// Datagrams that one call receives at most, so that a queue takes several turns.
const RECEIVED: usize = 2;

/// A network between the sockets of a model.
#[derive(Clone)]
pub struct Network {
    ports: Arc<Mutex<BTreeMap<SocketAddr, Arc<Port>>>>,
    /// Datagrams that wait at one address at most; there is no room to send more.
    room: usize,
}

/// What waits to be received at one address.
#[derive(Default)]
struct Port(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    datagrams: VecDeque<Datagram>,
    reader: Option<Waker>,
}

#[derive(Debug)]
struct Datagram {
    remote: SocketAddr,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// A panic elsewhere has failed the model already.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    /// A network without sockets, which always has room.
    #[expect(
        clippy::new_without_default,
        reason = "a model says that it begins a network"
    )]
    pub fn new() -> Self {
        Self::narrow(usize::MAX)
    }

    /// A network where at most `room` datagrams and those of one batch wait at an address; a sender that
    /// meets more has to wait, so that time must pass.
    pub fn narrow(room: usize) -> Self {
        let ports = Arc::new(Mutex::new(BTreeMap::new()));
        Self { ports, room }
    }

    /// A socket at `local`.
    pub(crate) fn socket(&self, local: SocketAddr) -> Sockets {
        let port = Arc::<Port>::default();
        locked(&self.ports).insert(local, Arc::clone(&port));
        Sockets {
            network: self.clone(),
            local,
            port,
        }
    }
}

/// Stands where `crates/io` has sockets of the system.
pub(crate) struct Sockets {
    network: Network,
    local: SocketAddr,
    port: Arc<Port>,
}

impl std::fmt::Debug for Sockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sockets").field(&self.local).finish()
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        locked(&self.network.ports).remove(&self.local);
    }
}

impl Sockets {
    pub(crate) fn udp(addr: SocketAddr, _buffer: usize) -> Result<Self, BindError> {
        Err(BindError::NoSuchAddress { addr }) // Models take theirs from a `Network`.
    }

    pub(crate) fn native(_ip: IpAddr, _buffer: usize) -> Result<Self, BindError> {
        let source = io::ErrorKind::Unsupported.into();
        Err(BindError::NotPrivileged { source })
    }

    pub(crate) fn encapsulation(&self) -> Encapsulation {
        Encapsulation::Udp
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    pub(crate) fn max_segments(&self) -> usize {
        SEGMENTS
    }

    pub(crate) async fn ready(&self) -> io::Result<Ready> {
        poll_fn(|context| {
            let mut queue = locked(&self.port.0);
            if queue.datagrams.is_empty() {
                queue.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Ok(Ready::READABLE))
        })
        .await
    }

    pub(crate) fn send(&self, batch: &Batch) -> io::Result<()> {
        let to = batch.path().remote;
        let port = locked(&self.network.ports).get(&to).cloned();
        let Some(port) = port else {
            return Ok(()); // To nobody.
        };
        let segment = batch.segment_size().unwrap_or(usize::MAX);
        let datagrams = batch.bytes().chunks(segment).map(|bytes| Datagram {
            remote: self.local,
            ecn: batch.ecn(),
            bytes: bytes.to_vec(),
        });
        let mut queue = locked(&port.0);
        if queue.datagrams.len() >= self.network.room {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        queue.datagrams.extend(datagrams);
        let reader = queue.reader.take();
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    pub(crate) fn send_singly(&self, batch: &Batch) -> usize {
        usize::from(self.send(batch).is_ok())
    }

    pub(crate) fn receive(&mut self, inbox: &mut Inbox) -> io::Result<()> {
        let mut queue = locked(&self.port.0);
        if queue.datagrams.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        inbox.fill(|buffers, meta| {
            let count = RECEIVED.min(buffers.len()).min(queue.datagrams.len());
            for (at, datagram) in queue.datagrams.drain(..count).enumerate() {
                let bytes = &datagram.bytes;
                buffers[at][..bytes.len()].copy_from_slice(bytes);
                meta[at].len = bytes.len();
                meta[at].stride = bytes.len();
                meta[at].addr = datagram.remote;
                meta[at].ecn = EcnCodepoint::from_bits(datagram.ecn.bits());
            }
            Ok(count)
        })
    }

    pub(crate) fn unwrap<'a>(&self, arrived: Arrived<'a>) -> Option<Arrived<'a>> {
        Some(arrived)
    }

    pub(crate) fn drain_errors(&self, _each: impl FnMut(NetworkError<'_>)) {}
}

/// What an ICMP error said; none is ever sent here.
pub(crate) struct NetworkError<'a> {
    pub local: Option<IpAddr>,
    pub remote: SocketAddr,
    pub error: IcmpError,
    pub quote: &'a [u8],
}

/// The way to a peer: from the socket's own address, as far as its packets fit.
pub(crate) struct Route {
    pub local: SocketAddr,
    pub mtu: Option<u32>,
}

impl Route {
    pub(crate) fn find(bound: SocketAddr, _remote: SocketAddr) -> io::Result<Self> {
        let (local, mtu) = (bound, Some(1_500));
        Ok(Self { local, mtu })
    }
}

/// A native port; models have none.
#[derive(Debug)]
pub(crate) struct Claim;

impl Claim {
    pub(crate) fn take(_ip: IpAddr, _port: u16) -> io::Result<Self> {
        Ok(Self)
    }
}
