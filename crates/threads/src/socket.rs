//! Socket in memory: what one sends is in the other's queue at once, and nothing is lost.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError};
use std::task::{Poll, Waker};

use quinn_udp::EcnCodepoint;
use shuttle::sync::{Mutex, MutexGuard};
use tokio::io::Ready;

use fairwire_proto::Encapsulation;
use fairwire_units::Ecn;

use crate::clock::Clock;
use crate::transport::{Batch, Claim, Facts, Inbox, Outlet, Route, System, Transport};

/// The largest number of datagrams in one send call, so that batches of several are split too.
const SEGMENTS: usize = 4;

/// The largest number of datagrams in one receive call, so that a queue takes several calls.
const RECEIVED: usize = 2;

/// The receive buffer of one message, bytes: models send only small datagrams, one in a message.
const MESSAGE: usize = 2_048;

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
    pub(crate) fn socket(&self, local: SocketAddr) -> Socket {
        let port = Arc::<Port>::default();
        locked(&self.ports).insert(local, Arc::clone(&port));
        let network = self.clone();
        Socket {
            sender: Sender { network, local },
            port,
        }
    }
}

/// A socket in memory.
pub(crate) struct Socket {
    sender: Sender,
    port: Arc<Port>,
}

/// What sends from a socket's address.
#[derive(Clone)]
struct Sender {
    network: Network,
    local: SocketAddr,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Sender").field(&self.local).finish()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        locked(&self.sender.network.ports).remove(&self.sender.local);
    }
}

impl Outlet for Sender {
    fn max_segments(&self) -> usize {
        SEGMENTS
    }

    fn send(&self, batch: &Batch) -> io::Result<()> {
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

    fn send_singly(&self, batch: &Batch) -> usize {
        usize::from(self.send(batch).is_ok())
    }
}

impl Transport for Socket {
    fn facts(&self) -> Facts {
        Facts {
            encapsulation: Encapsulation::Udp,
            local: self.sender.local,
            ecn: true,
            message: MESSAGE,
        }
    }

    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::new(self.sender.clone())
    }

    async fn ready(&self) -> io::Result<Ready> {
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

    fn receive(&mut self, inbox: &mut Inbox) -> io::Result<()> {
        let mut queue = locked(&self.port.0);
        if queue.datagrams.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let filled = inbox.fill(|buffers, meta| {
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
        });
        filled.map(drop)
    }
}

/// The system below the endpoints of a model: one route, no other programs, and no randomness.
#[derive(Debug)]
pub(crate) struct Model;

impl System for Model {
    fn clock(&self) -> Clock {
        Clock::start()
    }

    fn route(&self, local: SocketAddr, _remote: SocketAddr) -> io::Result<Route> {
        let mtu = Some(1_500);
        Ok(Route { local, mtu })
    }

    fn claim(&self, _ip: IpAddr, _port: u16) -> io::Result<Claim> {
        Ok(Box::new(()))
    }

    fn draw(&self, _bytes: &mut [u8]) -> io::Result<()> {
        Ok(())
    }
}
