//! Datagrams that arrived in one system call.
//!
//! The system may deliver a train of datagrams in one buffer (GRO); it is cut here. Nothing is
//! copied: the protocol sees slices of these buffers, and copies what it keeps.
//!
//! Bounded: `BATCH_SIZE` buffers of 64 KiB, 2 MiB on Linux, for each endpoint and for its life.
//! The system commits a page of them when a message first reaches it.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use quinn_udp::{BATCH_SIZE, RecvMeta};

use fairwire_units::Ecn;

use super::{Socket, canonical, ecn};

/// Buffer per message: the largest UDP datagram, and with GRO the largest train.
const BUFFER: usize = 65_536;

/// Receive buffers and what is in them. Memory that no message reached is never touched.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffers: Vec<u8>,
    meta: [RecvMeta; BATCH_SIZE],
    filled: usize,
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

impl Inbox {
    /// Empty buffers.
    pub(crate) fn new() -> Self {
        Self {
            buffers: vec![0; BUFFER * BATCH_SIZE],
            meta: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
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
    pub(crate) fn drain(&mut self, bound: SocketAddr, mut each: impl FnMut(Arrived<'_>)) -> usize {
        let mut datagrams = 0;
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
                each(arrived);
            }
        }
        datagrams
    }
}

#[cfg(test)]
mod tests {
    use super::Inbox;

    /// A train of datagrams is cut at its stride; the last may be shorter.
    #[test]
    fn trains_are_cut() {
        let bound = ([0, 0, 0, 0], 7).into();
        let from = "[::ffff:10.0.0.1]:9".parse().expect("an address");
        let mut inbox = Inbox::new();
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
            let count = inbox.drain(bound, |arrived| {
                assert_eq!(arrived.remote, ([10, 0, 0, 1], 9).into(), "unmapped");
                assert_eq!(arrived.local, ([10, 0, 0, 2], 7).into());
                assert!(arrived.bytes.iter().all(|&byte| byte == round));
                seen.push(arrived.bytes.len());
            });
            assert_eq!(count, 3);
            assert_eq!(inbox.drain(bound, |_| ()), 0, "drained once");
        }
        assert_eq!(seen, [100, 100, 50, 100, 100, 50]);
    }
}
