//! The receive queue of a socket.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use fairwire_units::Ecn;

use super::wire::Datagram;

/// The most that a socket keeps until it is read, bytes of datagrams with their IP and UDP headers: 4 MiB.
pub const RECEIVE_BUFFER: usize = 4 << 20;

/// What is known about a datagram that arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Arrival {
    /// The bytes of it that are in the buffer.
    pub len: usize,
    /// The address of its sender.
    pub from: SocketAddr,
    /// Its ECN field; a queue may have marked it.
    pub ecn: Ecn,
}

/// What waits at the address of a socket.
#[derive(Debug, Default)]
pub(super) struct Port(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    datagrams: VecDeque<Datagram>,
    /// The bytes of these, with their headers.
    bytes: usize,
    readers: Vec<Waker>,
}

/// The bytes that a datagram takes of [`RECEIVE_BUFFER`].
fn cost(datagram: &Datagram) -> usize {
    datagram.bytes.len() + super::wire::HEADERS as usize
}

impl Port {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a datagram, unless the buffer is full, and collects the tasks that wait for it.
    pub(super) fn push(&self, datagram: Datagram, wakes: &mut Vec<Waker>) {
        let mut waiting = self.lock();
        let bytes = waiting.bytes + cost(&datagram);
        if bytes <= RECEIVE_BUFFER {
            waiting.bytes = bytes;
            waiting.datagrams.push_back(datagram);
            wakes.append(&mut waiting.readers);
        }
    }

    /// Waits until something can be read.
    pub(super) fn poll_ready(&self, context: &Context<'_>) -> Poll<()> {
        let mut waiting = self.lock();
        if !waiting.datagrams.is_empty() {
            return Poll::Ready(());
        }
        let waker = context.waker();
        if !waiting.readers.iter().any(|other| other.will_wake(waker)) {
            waiting.readers.push(waker.clone());
        }
        Poll::Pending
    }

    /// Copies the next datagram into `buffer`; what does not fit is lost.
    pub(super) fn pop(&self, buffer: &mut [u8]) -> Option<Arrival> {
        let mut waiting = self.lock();
        let datagram = waiting.datagrams.pop_front()?;
        waiting.bytes -= cost(&datagram);
        drop(waiting);
        let len = datagram.bytes.len().min(buffer.len());
        buffer[..len].copy_from_slice(&datagram.bytes[..len]);
        Some(Arrival {
            len,
            from: datagram.from.into(),
            ecn: datagram.ecn,
        })
    }
}
