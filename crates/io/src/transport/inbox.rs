//! Datagrams that arrived in one system call.
//!
//! The system may deliver several datagrams in one buffer (GRO); they are split here. Of a long train the application
//! gets slices of the buffer, so its datagrams are neither copied nor allocated. Others are copied if they are kept, so
//! that each holds only its own bytes.
//!
//! The memory is bounded. A buffer has the size of the transport's largest message, 64 KiB for sockets. An endpoint has
//! `BATCH_SIZE`, 2 MiB for sockets, while it has messages to pass on, and as many at most whose datagrams the application
//! holds. Each thread keeps one set for the endpoint that receives next, so many idle endpoints take no more memory than
//! one. All buffers but the first [`LENDABLE`] are one allocation, of which the system provides what is used.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta};

use fairwire_proto::Arriving;
use fairwire_units::Ecn;

use super::address::{arrived_at, canonical};

/// The buffers of a set that may be lent, and the least number of messages that a call can receive. While it receives
/// long trains, which hold enough datagrams for one turn, it can receive no more.
const LENDABLE: usize = if BATCH_SIZE < 2 { BATCH_SIZE } else { 2 };

/// The buffers of an endpoint that its application may hold. Beyond that datagrams are copied.
const MAX_LENT: usize = 32;

/// The buffers that can be lent and that a thread keeps.
const MAX_SPARE: usize = 4 * LENDABLE;

/// The share of a buffer that a train has to fill to be lent: one in so many.
const LENT_SHARE: usize = 16;

thread_local! {
    /// Buffers that no endpoint uses now: those that can be lent, and the rest of a set.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static SPARE_REST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A receive buffer that may be lent. It goes back to the spare ones of the thread that drops it.
#[derive(Debug, Default)]
struct Buffer(Vec<u8>);

impl Buffer {
    fn of(size: usize) -> Self {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        let spare = spare.filter(|spare| spare.len() == size);
        Self(spare.unwrap_or_else(|| vec![0; size]))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if buffer.is_empty() {
            return;
        }
        // A thread that ends has no list any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MAX_SPARE {
                spare.push(buffer);
            }
        });
    }
}

/// A buffer whose datagrams the application may hold.
#[derive(Debug)]
struct Lent {
    buffer: Buffer,
    /// How many buffers the endpoint has lent.
    lent: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The receive buffers and their contents.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Those that may be lent. Empty while there is nothing to pass on.
    buffers: Vec<Buffer>,
    /// The others, one after the other. Empty while there is nothing to pass on.
    rest: Vec<u8>,
    /// The size of each buffer, bytes.
    size: usize,
    /// How many messages the next call can receive.
    slots: usize,
    meta: [RecvMeta; BATCH_SIZE],
    filled: usize,
    /// The first message that was not passed on completely: its index, and how many of its bytes were passed on.
    next: (usize, usize),
    /// The bytes of this message, if they are lent.
    train: Option<Bytes>,
    /// How many buffers are lent.
    lent: Arc<AtomicUsize>,
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
    /// What holds its bytes, if the application may keep them.
    pub train: Option<&'a Bytes>,
}

impl<'a> Arrived<'a> {
    /// Returns how what follows its header is kept.
    pub(crate) fn payload(&self) -> Arriving<'a> {
        match self.train {
            Some(of) => Arriving::Slice { of, bytes: &[] },
            None => Arriving::Borrowed(&[]),
        }
    }
}

impl Inbox {
    /// Makes an inbox whose buffers have `size` bytes each.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            buffers: Vec::new(),
            rest: Vec::new(),
            size: size.max(1),
            slots: LENDABLE,
            meta: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
            next: (0, 0),
            train: None,
            lent: Arc::default(),
        }
    }

    /// Returns whether everything was passed on.
    pub(crate) fn is_empty(&self) -> bool {
        self.next.0 >= self.filled
    }

    /// Lets `receive` fill the buffers; it returns how many it filled. Returns whether it filled all that it got.
    pub(crate) fn fill(
        &mut self,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        self.filled = 0;
        self.next = (0, 0);
        self.borrow();
        let slots = self.slots;
        let first = self.buffers.iter_mut().map(|buffer| &mut buffer.0[..]);
        let mut buffers = first.chain(self.rest.chunks_exact_mut(self.size));
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let received = receive(&mut slices[..slots], &mut self.meta);
        self.filled = received.as_ref().map_or(0, |&filled| filled.min(slots));
        if self.is_empty() {
            self.give_back();
        }
        let is_full = self.filled == slots;
        if self.meta[..self.filled]
            .iter()
            .any(|meta| self.is_long(meta))
        {
            self.slots = LENDABLE;
        } else if is_full {
            self.slots = (2 * slots).min(BATCH_SIZE);
        } else if self.filled < slots / 4 {
            self.slots = (slots / 2).max(LENDABLE);
        }
        received.map(|_| is_full)
    }

    /// Returns whether a message is a train that is worth its buffer.
    fn is_long(&self, meta: &RecvMeta) -> bool {
        meta.len > meta.stride && meta.len >= self.size / LENT_SHARE
    }

    fn borrow(&mut self) {
        let size = self.size;
        self.buffers.resize_with(LENDABLE, || Buffer::of(size));
        let needed = size * (BATCH_SIZE - LENDABLE);
        if self.rest.len() != needed {
            self.rest = SPARE_REST.take();
        }
        if self.rest.len() != needed {
            self.rest = vec![0; needed];
        }
    }

    fn give_back(&mut self) {
        self.buffers.clear();
        SPARE_REST.set(std::mem::take(&mut self.rest));
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
            let meta = self.meta[at];
            let (len, stride) = (meta.len.min(self.size), meta.stride.max(1));
            if offset == 0 {
                self.train = self.lend(at, self.is_long(&meta) && at < LENDABLE);
            }
            let train = self.train.as_ref();
            let message = match (train, at.checked_sub(LENDABLE)) {
                (Some(train), _) => &train[..len],
                (None, None) => &self.buffers[at].0[..len],
                (None, Some(at)) => &self.rest[at * self.size..][..len],
            };
            let local = arrived_at(bound, meta.dst_ip);
            let remote = canonical(meta.addr);
            let ecn = ecn(meta.ecn);
            let mut reached = offset;
            for bytes in message[offset..].chunks(stride).take(most - datagrams) {
                datagrams += 1;
                reached += bytes.len();
                each(Arrived {
                    local,
                    remote,
                    ecn,
                    bytes,
                    train,
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
            self.train = None;
        }
        datagrams
    }

    /// Lends the buffer of message `at`, if it is to be and not too many are lent.
    fn lend(&mut self, at: usize, is_to_be: bool) -> Option<Bytes> {
        // Only this call adds to the number.
        if !is_to_be || self.lent.load(Ordering::Relaxed) >= MAX_LENT {
            return None;
        }
        self.lent.fetch_add(1, Ordering::Relaxed);
        Some(Bytes::from_owner(Lent {
            buffer: std::mem::take(&mut self.buffers[at]),
            lent: Arc::clone(&self.lent),
        }))
    }
}

/// Converts the ECN field of a received message.
fn ecn(mark: Option<EcnCodepoint>) -> Ecn {
    mark.map_or(Ecn::NotEct, |mark| Ecn::from_bits(mark as u8))
}

#[cfg(test)]
mod tests {
    use super::{Arrived, Inbox, LENDABLE, MAX_LENT};
    use bytes::Bytes;

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

    /// Datagrams of long trains are slices of the buffer, until the application holds too many buffers; then they are
    /// not. What it gives back can be lent again. Datagrams that came alone or in a short train are never slices.
    #[test]
    fn trains_are_lent() {
        let bound = ([0, 0, 0, 0], 7).into();
        let mut inbox = Inbox::new(65_536);
        let mut receive = |len: usize, stride: usize| {
            let filled = inbox.fill(|buffers, meta| {
                buffers[0][..len].fill(1);
                (meta[0].len, meta[0].stride) = (len, stride);
                Ok(1)
            });
            assert!(!filled.expect("filled"), "there was room for more");
            let mut kept: Vec<Bytes> = Vec::new();
            inbox.drain(bound, usize::MAX, |arrived: Arrived<'_>| {
                kept.extend(arrived.train.map(|train| train.slice_ref(arrived.bytes)));
            });
            assert!(inbox.buffers.is_empty() && inbox.rest.is_empty());
            kept
        };
        assert!(receive(40_000, 40_000).is_empty(), "one datagram");
        assert!(receive(4_000, 10).is_empty(), "a short train");
        let mut held: Vec<_> = (0..MAX_LENT).map(|_| receive(20_000, 100)).collect();
        assert!(held.iter().all(|train| train.len() == 200));
        assert!(receive(20_000, 100).is_empty(), "the rest is copied");
        held[0].truncate(1);
        assert!(
            receive(20_000, 100).is_empty(),
            "one datagram holds the buffer"
        );
        held.remove(0);
        assert_eq!(receive(20_000, 100).len(), 200);
        let mut datagrams = held.iter().flatten();
        assert!(datagrams.all(|datagram| datagram[..] == [1; 100]));
    }

    /// A call that fills every buffer is followed by one with more, unless with long trains; calls that fill few by one
    /// with fewer.
    #[test]
    fn the_number_of_buffers_follows_the_load() {
        let mut inbox = Inbox::new(100);
        let mut seen = Vec::new();
        for share in [1, 1, 8, 8, 8] {
            let _ = inbox.fill(|buffers, _| {
                seen.push(buffers.len());
                Ok(buffers.len() / share)
            });
        }
        if quinn_udp::BATCH_SIZE == 32 {
            assert_eq!(seen, [2, 4, 8, 4, 2]);
        }
        for _ in 0..3 {
            let filled = inbox.fill(|buffers, meta| {
                for meta in meta {
                    (meta.len, meta.stride) = (60, 30);
                }
                Ok(buffers.len())
            });
            assert!(filled.expect("filled"));
            assert_eq!(inbox.filled, LENDABLE);
        }
    }
}
