//! Datagrams that arrived in one system call.
//!
//! The system may deliver a train of datagrams in one buffer (GRO); it is cut here. Payloads
//! that the application keeps are copied once into a chunk shared by many, so that a datagram
//! in a queue does not hold a whole receive buffer.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use quinn_udp::{BATCH_SIZE, RecvMeta};

use fairwire_units::Ecn;

use super::{Socket, canonical, ecn};

/// Buffer per message: the largest UDP datagram, and with GRO the largest train.
const BUFFER: usize = 65_536;

/// Payload bytes that share one allocation.
const CHUNK: usize = 65_536;

/// Receive buffers and what is in them. Memory that no message reached is never touched.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffers: Vec<u8>,
    meta: [RecvMeta; BATCH_SIZE],
    filled: usize,
    chunk: BytesMut,
}

/// One datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    /// Which of our addresses it came to.
    pub local: SocketAddr,
    /// Who sent it.
    pub remote: SocketAddr,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Where payloads are kept.
#[derive(Debug)]
pub(crate) struct Keeper<'a>(&'a mut BytesMut);

impl Keeper<'_> {
    /// `data` as bytes that outlive the receive buffer.
    pub(crate) fn keep(&mut self, data: &[u8]) -> Bytes {
        if data.is_empty() {
            return Bytes::new();
        }
        if self.0.capacity() < data.len() {
            // Reuses the old chunk if nobody holds a piece of it any more.
            self.0.reserve(CHUNK.max(data.len()));
        }
        self.0.extend_from_slice(data);
        self.0.split().freeze()
    }
}

impl Inbox {
    /// Empty buffers.
    pub(crate) fn new() -> Self {
        Self {
            buffers: vec![0; BUFFER * BATCH_SIZE],
            meta: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
            chunk: BytesMut::new(),
        }
    }

    /// Lets `receive` fill the buffers; says how many it filled.
    pub(crate) fn fill(
        &mut self,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.filled = 0;
        let mut buffers = self.buffers.chunks_exact_mut(BUFFER);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        self.filled = receive(&mut slices, &mut self.meta)?.min(BATCH_SIZE);
        Ok(())
    }

    /// Hands each datagram to `each`, in order; says how many there were.
    pub(crate) fn drain(
        &mut self,
        bound: SocketAddr,
        mut each: impl FnMut(Arrived<'_>, &mut Keeper<'_>),
    ) -> usize {
        let mut datagrams = 0;
        let mut keeper = Keeper(&mut self.chunk);
        let filled = std::mem::take(&mut self.filled);
        for (meta, buffer) in self.meta[..filled]
            .iter()
            .zip(self.buffers.chunks_exact(BUFFER))
        {
            let message = &buffer[..meta.len.min(BUFFER)];
            let local = Socket::arrived_at(bound, meta.dst_ip);
            let remote = canonical(meta.addr);
            for bytes in message.chunks(meta.stride.max(1)) {
                datagrams += 1;
                let arrived = Arrived {
                    local,
                    remote,
                    ecn: ecn(meta.ecn),
                    bytes,
                };
                each(arrived, &mut keeper);
            }
        }
        datagrams
    }
}

#[cfg(test)]
mod tests {
    use super::Inbox;

    /// A train of datagrams is cut at its stride; the last may be shorter, and what is kept
    /// stays when the buffers are used again.
    #[test]
    fn trains_are_cut() {
        let bound = ([0, 0, 0, 0], 7).into();
        let from = "[::ffff:10.0.0.1]:9".parse().expect("an address");
        let mut inbox = Inbox::new();
        let mut kept = Vec::new();
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
            let count = inbox.drain(bound, |arrived, keeper| {
                assert_eq!(arrived.remote, ([10, 0, 0, 1], 9).into(), "unmapped");
                assert_eq!(arrived.local, ([10, 0, 0, 2], 7).into());
                kept.push((round, keeper.keep(arrived.bytes)));
            });
            assert_eq!(count, 3);
            assert_eq!(inbox.drain(bound, |_, _| ()), 0, "drained once");
        }
        let lengths: Vec<_> = kept.iter().map(|(_, bytes)| bytes.len()).collect();
        assert_eq!(lengths, [100, 100, 50, 100, 100, 50]);
        assert!(kept.iter().all(|(round, b)| b.iter().all(|x| x == round)));
    }
}
