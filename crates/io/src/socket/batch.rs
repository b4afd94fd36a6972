//! Packets that leave in one system call.
//!
//! The system can cut one large buffer into datagrams of equal size (GSO), so consecutive
//! packets of one path, ECN field and size are gathered; the first that differs waits as the
//! beginning of the next batch. Buffers are kept, so a steady stream allocates nothing.

use std::net::SocketAddr;

use fairwire_proto::{Encapsulation, Path, Payload};
use fairwire_units::Ecn;

/// The most bytes that one call takes: an IP packet's 65,535 less headers, with room to spare.
const MAX_BYTES: usize = 61_440;

/// What leaves next, and at most one packet behind it.
#[derive(Debug)]
pub(crate) struct Batch {
    current: Run,
    held: Run,
    max_segments: usize,
}

/// Packets of one path, ECN field and size; the last may be shorter.
#[derive(Debug)]
struct Run {
    bytes: Vec<u8>,
    path: Path,
    ecn: Ecn,
    segment: usize,
    count: usize,
}

impl Run {
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

    /// Does every packet so far have the full size?
    fn is_even(&self) -> bool {
        self.bytes.len() == self.segment * self.count
    }
}

impl Batch {
    /// An empty batch of at most `max_segments` packets.
    pub(crate) fn new(max_segments: usize) -> Self {
        Self {
            current: Run::new(),
            held: Run::new(),
            max_segments: max_segments.max(1),
        }
    }

    /// Is there nothing to send?
    pub(crate) fn is_empty(&self) -> bool {
        self.current.count == 0
    }

    /// Can another packet be pushed?
    pub(crate) fn has_room(&self) -> bool {
        self.held.count == 0
    }

    /// Adds a packet; ask [`has_room`](Self::has_room) first.
    pub(crate) fn push(&mut self, path: Path, ecn: Ecn, head: &[u8], payload: &Payload) {
        debug_assert!(self.has_room(), "a second packet would be held");
        let size = head.len() + payload.len();
        let run = &mut self.current;
        if run.count == 0 {
            run.begin(path, ecn, head, payload);
        } else if run.path == path
            && run.ecn == ecn
            && run.is_even()
            && (1..=run.segment).contains(&size)
            && run.count < self.max_segments
            && run.bytes.len() + size <= MAX_BYTES
        {
            run.append(head, payload);
        } else {
            self.held.begin(path, ecn, head, payload);
        }
    }

    /// The batch was sent or given up: what was held comes next.
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.current, &mut self.held);
        self.held.count = 0;
    }

    /// The system changed its mind about how many packets it cuts.
    pub(crate) fn set_max_segments(&mut self, max_segments: usize) {
        self.max_segments = max_segments.max(1);
    }

    /// From where to where.
    pub(crate) fn path(&self) -> Path {
        self.current.path
    }

    /// The ECN field of each packet.
    pub(crate) fn ecn(&self) -> Ecn {
        self.current.ecn
    }

    /// The packets, one behind the other.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.current.bytes
    }

    /// Where to cut them, if there is more than one.
    pub(crate) fn segment_size(&self) -> Option<usize> {
        (self.current.count > 1).then_some(self.current.segment)
    }

    /// The first packet.
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

    /// Equal packets go together; a shorter one may end the batch, and nothing follows it.
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

    /// Another peer, another mark, a longer packet or a full batch begin a new one.
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

    /// A batch stays below what one call can take.
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
