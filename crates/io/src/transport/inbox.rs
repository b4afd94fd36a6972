//! Datagrams that arrived in one system call.
//!
//! The system may deliver several datagrams in one buffer (GRO); they are split here. Nothing is copied: the protocol
//! sees slices of these buffers, and copies what it keeps.
//!
//! The memory is bounded: `BATCH_SIZE` buffers of the transport's largest message, which is 2 MiB for sockets on Linux.
//! An endpoint has them only while it has messages to pass on. Each thread keeps one set for the endpoint that receives
//! next, so many endpoints take no more memory than one.

use std::cell::Cell;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta};

use fairwire_units::Ecn;

use super::address::{arrived_at, canonical};

thread_local! {
    /// Buffers that no endpoint uses now.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The receive buffers and their contents.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Empty while there is nothing to pass on.
    buffers: Vec<u8>,
    /// The size of each buffer, bytes.
    size: usize,
    meta: [RecvMeta; BATCH_SIZE],
    filled: usize,
    /// The first message that was not passed on completely: its index, and how many of its bytes were passed on.
    next: (usize, usize),
}

/// A received datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    /// The local address that it was sent to.
    pub local: SocketAddr,
    /// The address of its sender.
    pub remote: SocketAddr,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Inbox {
    /// Makes an inbox whose buffers have `size` bytes each.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            buffers: Vec::new(),
            size: size.max(1),
            meta: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
            next: (0, 0),
        }
    }

    /// Returns whether everything was passed on.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.0 >= self.filled
    }

    /// Lets `receive` fill the buffers; it returns how many it filled.
    pub(crate) fn fill(
        &mut self,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.filled = 0;
        self.next = (0, 0);
        self.borrow();
        let mut buffers = self.buffers.chunks_exact_mut(self.size);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let received = receive(&mut slices, &mut self.meta);
        self.filled = received
            .as_ref()
            .map_or(0, |&filled| filled.min(BATCH_SIZE));
        if self.is_empty() {
            self.give_back();
        }
        received.map(|_| ())
    }

    fn borrow(&mut self) {
        let needed = self.size * BATCH_SIZE;
        if self.buffers.len() != needed {
            self.buffers = SPARE.take();
        }
        if self.buffers.len() != needed {
            self.buffers = vec![0; needed];
        }
    }

    fn give_back(&mut self) {
        SPARE.set(std::mem::take(&mut self.buffers));
    }

    /// Passes the next datagrams to `each`, in order and at most `most`. Returns how many there were.
    pub(crate) fn drain(
        &mut self,
        bound: SocketAddr,
        most: usize,
        mut each: impl FnMut(Arrived<'_>),
    ) -> usize {
        let mut datagrams = 0;
        while !self.is_empty() && datagrams < most {
            let (at, offset) = self.next;
            let meta = &self.meta[at];
            let message = &self.buffers[at * self.size..][..meta.len.min(self.size)];
            let local = arrived_at(bound, meta.dst_ip);
            let remote = canonical(meta.addr);
            let ecn = ecn(meta.ecn);
            let rest = message[offset..].chunks(meta.stride.max(1));
            let mut reached = offset;
            for bytes in rest.take(most - datagrams) {
                datagrams += 1;
                reached += bytes.len();
                each(Arrived {
                    local,
                    remote,
                    ecn,
                    bytes,
                });
            }
            self.next = if reached < message.len() {
                (at, reached)
            } else {
                (at + 1, 0)
            };
        }
        if self.is_empty() && !self.buffers.is_empty() {
            self.give_back();
        }
        datagrams
    }
}

/// Converts the ECN field of a received message.
fn ecn(mark: Option<EcnCodepoint>) -> Ecn {
    mark.map_or(Ecn::NotEct, |mark| Ecn::from_bits(mark as u8))
}

#[cfg(test)]
mod tests {
    use super::{Arrived, Inbox};

    /// A buffer with several datagrams is split at its stride; the last datagram may be shorter.
    #[test]
    fn trains_are_cut() {
        let bound = ([0, 0, 0, 0], 7).into();
        let from = "[::ffff:10.0.0.1]:9".parse().expect("an address");
        let mut inbox = Inbox::new(65_536);
        let mut seen = Vec::new();
        for round in 0..2 {
            inbox
                .fill(|buffers, meta| {
                    buffers[0][..250].fill(round);
                    meta[0].len = 250;
                    meta[0].stride = 100;
                    meta[0].addr = from;
                    meta[0].dst_ip = Some([10, 0, 0, 2].into());
                    Ok(1)
                })
                .expect("filled");
            let mut each = |arrived: Arrived<'_>| {
                assert_eq!(arrived.remote, ([10, 0, 0, 1], 9).into(), "unmapped");
                assert_eq!(arrived.local, ([10, 0, 0, 2], 7).into());
                assert!(arrived.bytes.iter().all(|&byte| byte == round));
                seen.push(arrived.bytes.len());
            };
            // In parts, because the lock is not held for all of it.
            assert_eq!(inbox.drain(bound, 2, &mut each), 2);
            assert!(!inbox.is_empty());
            assert_eq!(inbox.drain(bound, 2, &mut each), 1);
            assert!(inbox.is_empty());
            assert_eq!(inbox.drain(bound, 2, |_| ()), 0, "drained once");
        }
        assert_eq!(seen, [100, 100, 50, 100, 100, 50]);
    }
}
