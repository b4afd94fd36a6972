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

    /// The replacement for the system's limits.
    pub(crate) mod limits {
        /// The receive buffer of one message, bytes: models send only small datagrams, one in a message.
        pub(crate) const BUFFER: usize = 2_048;
    }
}

pub(crate) use io_socket::address::{arrived_at, canonical};
pub(crate) use io_socket::batch::Batch;
pub(crate) use io_socket::inbox::{Arrived, Inbox};

/// The largest number of datagrams in one send call, so that batches of several are split too.
const SEGMENTS: usize = 4;

/// The largest number of datagrams in one receive call, so that a queue takes several calls.
const RECEIVED: usize = 2;

/// The network between the sockets of a model.
#[derive(Clone)]
pub struct Network {
    ports: Arc<Mutex<BTreeMap<SocketAddr, Arc<Port>>>>,
    /// The number of waiting datagrams at one address from which on a send finds no room.
    room: usize,
}

/// The datagrams that wait at one address.
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

/// Locks a mutex. A panic elsewhere has already failed the model, so poison is ignored.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    /// Makes a network without sockets, which always has room.
    #[expect(
        clippy::new_without_default,
        reason = "a model says that it begins a network"
    )]
    pub fn new() -> Self {
        Self::narrow(usize::MAX)
    }

    /// Makes a network where a send finds no room while `room` datagrams wait at the address. One batch may exceed
    /// this. The sender then has to wait, so time must pass.
    pub fn narrow(room: usize) -> Self {
        let ports = Arc::new(Mutex::new(BTreeMap::new()));
        Self { ports, room }
    }

    /// Makes a socket at `local`.
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

/// The replacement for the sockets of `crates/io`.
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
        Err(BindError::NoSuchAddress { addr }) // Models get their sockets from a `Network`.
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
            return Ok(()); // No socket has this address.
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

/// An ICMP error; none is ever sent here.
pub(crate) struct NetworkError<'a> {
    pub local: Option<IpAddr>,
    pub remote: SocketAddr,
    pub error: IcmpError,
    pub quote: &'a [u8],
}

/// The route to a peer: from the socket's own address, with a fixed MTU.
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

/// The claim of a native port; models have none.
#[derive(Debug)]
pub(crate) struct Claim;

impl Claim {
    pub(crate) fn take(_ip: IpAddr, _port: u16) -> io::Result<Self> {
        Ok(Self)
    }
}
