//! Packets that are sent in one system call.
//!
//! The system can split one large buffer into datagrams of equal size (GSO). So consecutive packets with the same path,
//! ECN field and size are gathered. The first packet that differs is held and starts the next batch. Buffers are
//! reused, so a steady stream allocates nothing.

use std::net::SocketAddr;

use fairwire_proto::{Encapsulation, Path, Payload};
use fairwire_units::Ecn;

/// The largest number of bytes in one call: the 65,535 bytes of an IP packet minus headers, with room to spare.
const MAX_BYTES: usize = 61_440;

/// The packets to send next, and at most one packet after them.
#[derive(Debug)]
pub(crate) struct Batch {
    current: SegmentRun,
    held: SegmentRun,
    max_segments: usize,
}

/// Packets with the same path, ECN field and size; the last one may be shorter.
#[derive(Debug)]
struct SegmentRun {
    bytes: Vec<u8>,
    path: Path,
    ecn: Ecn,
    segment: usize,
    count: usize,
}

impl SegmentRun {
    fn new() -> Self {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Self {
            bytes: Vec::new(),
            path: Path {
                encapsulation: Encapsulation::Udp,
                local: nowhere,
                remote: nowhere,
            },
            ecn: Ecn::NotEct,
            segment: 0,
            count: 0,
        }
    }

    fn begin(&mut self, path: Path, ecn: Ecn, head: &[u8], payload: &Payload) {
        self.bytes.clear();
        self.path = path;
        self.ecn = ecn;
        self.segment = head.len() + payload.len();
        self.count = 0;
        self.append(head, payload);
    }

    fn append(&mut self, head: &[u8], payload: &Payload) {
        self.bytes.extend_from_slice(head);
        let data = payload.as_slice();
        self.bytes.extend_from_slice(data);
        // A synthetic payload is zeros.
        let zeros = payload.len() - data.len();
        self.bytes.resize(self.bytes.len() + zeros, 0);
        self.count += 1;
    }

    /// Returns whether every packet so far has the full size.
    fn is_uniform(&self) -> bool {
        self.bytes.len() == self.segment * self.count
    }
}

impl Batch {
    /// Makes an empty batch of at most `max_segments` packets.
    pub(crate) fn new(max_segments: usize) -> Self {
        Self {
            current: SegmentRun::new(),
            held: SegmentRun::new(),
            max_segments: max_segments.max(1),
        }
    }

    /// Returns whether there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.current.count == 0
    }

    /// Returns whether another packet can be pushed.
    pub(crate) fn has_room(&self) -> bool {
        self.held.count == 0
    }

    /// Adds a packet; call [`has_room`](Self::has_room) first.
    pub(crate) fn push(&mut self, path: Path, ecn: Ecn, head: &[u8], payload: &Payload) {
        debug_assert!(self.has_room(), "a second packet would be held");
        let size = head.len() + payload.len();
        let run = &mut self.current;
        if run.count == 0 {
            run.begin(path, ecn, head, payload);
        } else if run.path == path
            && run.ecn == ecn
            && run.is_uniform()
            && (1..=run.segment).contains(&size)
            && run.count < self.max_segments
            && run.bytes.len() + size <= MAX_BYTES
        {
            run.append(head, payload);
        } else {
            self.held.begin(path, ecn, head, payload);
        }
    }

    /// Removes the batch that was sent or given up; the held packet comes next.
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.current, &mut self.held);
        self.held.count = 0;
    }

    /// Lets the packets for one path leave on another.
    pub(crate) fn redirect(&mut self, from: Path, to: Path) {
        for run in [&mut self.current, &mut self.held] {
            if run.path == from {
                run.path = to;
            }
        }
    }

    /// Changes how many packets the system can split from one buffer.
    pub(crate) fn set_max_segments(&mut self, max_segments: usize) {
        self.max_segments = max_segments.max(1);
    }

    /// Returns the local and remote addresses of the packets.
    pub(crate) fn path(&self) -> Path {
        self.current.path
    }

    /// Returns the ECN field of each packet.
    pub(crate) fn ecn(&self) -> Ecn {
        self.current.ecn
    }

    /// Returns the bytes of the packets, one after the other.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.current.bytes
    }

    /// Returns the size at which the system splits the bytes, if there is more than one packet.
    pub(crate) fn segment_size(&self) -> Option<usize> {
        (self.current.count > 1).then_some(self.current.segment)
    }

    /// Returns the first packet.
    pub(crate) fn first(&self) -> &[u8] {
        let end = self.current.segment.min(self.current.bytes.len());
        &self.current.bytes[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, MAX_BYTES};
    use fairwire_proto::{Encapsulation, Path, Payload};
    use fairwire_units::Ecn;

    fn path(port: u16) -> Path {
        Path {
            encapsulation: Encapsulation::Udp,
            local: ([127, 0, 0, 1], 1).into(),
            remote: ([127, 0, 0, 1], port).into(),
        }
    }

    fn push(batch: &mut Batch, port: u16, ecn: Ecn, len: usize) {
        let payload = Payload::from(vec![7; len - 12]);
        batch.push(path(port), ecn, &[0; 12], &payload);
    }

    /// Packets of equal size go together; a shorter one may end the batch, and no packet follows it.
    #[test]
    fn a_short_packet_ends_a_batch() {
        let mut batch = Batch::new(64);
        for len in [100, 100, 60] {
            push(&mut batch, 1, Ecn::Ect0, len);
        }
        assert!(batch.has_room());
        assert_eq!(batch.bytes().len(), 260);
        assert_eq!(batch.segment_size(), Some(100));
        push(&mut batch, 1, Ecn::Ect0, 60);
        assert!(!batch.has_room(), "the fourth waits");
        batch.advance();
        assert_eq!(batch.bytes().len(), 60);
        assert_eq!(batch.segment_size(), None);
        assert!(batch.has_room());
        batch.advance();
        assert!(batch.is_empty());
    }

    /// A packet to another peer, with another ECN mark, or longer starts a new batch; so does a full batch.
    #[test]
    fn what_differs_waits() {
        for (port, ecn, len) in [
            (2, Ecn::Ect0, 100),
            (1, Ecn::NotEct, 100),
            (1, Ecn::Ect0, 101),
        ] {
            let mut batch = Batch::new(64);
            push(&mut batch, 1, Ecn::Ect0, 100);
            push(&mut batch, port, ecn, len);
            assert!(!batch.has_room(), "port {port}, {ecn}, {len} bytes");
            assert_eq!(batch.bytes().len(), 100);
        }
        let mut batch = Batch::new(2);
        for _ in 0..3 {
            push(&mut batch, 1, Ecn::Ect0, 100);
        }
        assert!(!batch.has_room());
        assert_eq!(batch.bytes().len(), 200);
    }

    /// A batch stays below the size that one call accepts.
    #[test]
    fn a_batch_is_bounded_in_bytes() {
        let mut batch = Batch::new(64);
        while batch.has_room() {
            push(&mut batch, 1, Ecn::Ect0, 1_472);
        }
        assert!(batch.bytes().len() <= MAX_BYTES);
        assert!(batch.bytes().len() > MAX_BYTES - 1_472);
    }
}
