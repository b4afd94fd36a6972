//! What was sent and is not acknowledged, in order.

use std::collections::VecDeque;

use fairwire_units::Instant;

/// A segment as it was cut; it is sent again with the same bounds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) len: u32,
    pub(super) left_at: Instant,
}

impl Sent {
    pub(super) fn end(&self) -> u64 {
        self.seq.saturating_add(u64::from(self.len))
    }
}

/// What an acknowledgement covered.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Covered {
    pub(super) segments: u32,
    pub(super) bytes: u64,
}

/// The segments between the oldest unacknowledged number and the newest sent.
///
/// The first `in_flight` of them count as outstanding; a timeout gives up on all, and they have to be
/// sent again from the front.
#[derive(Debug)]
pub(super) struct Outstanding {
    segments: VecDeque<Sent>,
    in_flight: usize,
    max: u64,
}

impl Outstanding {
    pub(super) fn new(first: u64) -> Self {
        Self {
            segments: VecDeque::new(),
            in_flight: 0,
            max: first,
        }
    }

    /// The number after the last one ever sent.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn in_flight(&self) -> u32 {
        u32::try_from(self.in_flight).unwrap_or(u32::MAX)
    }

    pub(super) fn bytes_in_flight(&self) -> u64 {
        let last = self.in_flight.checked_sub(1);
        match (
            self.segments.front(),
            last.and_then(|at| self.segments.get(at)),
        ) {
            (Some(first), Some(last)) => last.end().saturating_sub(first.seq),
            _ => 0,
        }
    }

    pub(super) fn nothing_to_repeat(&self) -> bool {
        self.in_flight == self.segments.len()
    }

    /// The oldest segment.
    pub(super) fn first(&self) -> Option<Sent> {
        self.segments.front().copied()
    }

    /// The oldest segment that a timeout gave up on.
    pub(super) fn next_to_repeat(&self) -> Option<Sent> {
        self.segments.get(self.in_flight).copied()
    }

    /// A new segment leaves; all before it are in flight.
    pub(super) fn push(&mut self, sent: Sent) {
        debug_assert!(self.nothing_to_repeat(), "repeat before sending new data");
        debug_assert_eq!(sent.seq, self.max, "no gaps");
        self.max = sent.end();
        self.segments.push_back(sent);
        self.in_flight += 1;
    }

    /// The oldest segment leaves again out of turn.
    pub(super) fn repeat_first(&mut self, now: Instant) -> Option<Sent> {
        let first = self.segments.front_mut()?;
        first.left_at = now;
        self.in_flight = self.in_flight.max(1);
        Some(*first)
    }

    /// The segment of [`next_to_repeat`](Self::next_to_repeat) leaves again.
    pub(super) fn repeat_next(&mut self, now: Instant) -> Option<Sent> {
        let next = self.segments.get_mut(self.in_flight)?;
        next.left_at = now;
        self.in_flight += 1;
        Some(*next)
    }

    /// Everything below `ack` has arrived.
    pub(super) fn acknowledge(&mut self, ack: u64) -> Covered {
        let mut covered = Covered::default();
        while let Some(first) = self.segments.front_mut() {
            if first.end() > ack {
                // Segments keep their bounds, so this is a peer that acknowledges parts of them.
                let part = ack.saturating_sub(first.seq);
                first.seq += part;
                first.len -= u32::try_from(part).unwrap_or(first.len);
                covered.bytes += part;
                break;
            }
            covered.segments += 1;
            covered.bytes += u64::from(first.len);
            self.segments.pop_front();
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        covered
    }

    /// A timeout: nothing counts as outstanding any more.
    pub(super) fn give_up(&mut self) {
        self.in_flight = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Covered, Outstanding, Sent};
    use fairwire_units::Instant;

    /// Three segments, a timeout, one repeated, an acknowledgement that covers more than that.
    #[test]
    fn a_timeout_starts_again_from_the_front() {
        let mut outstanding = Outstanding::new(1);
        for index in 0..3 {
            outstanding.push(segment(1 + 100 * index));
        }
        assert_eq!(
            (outstanding.in_flight(), outstanding.bytes_in_flight()),
            (3, 300)
        );
        outstanding.give_up();
        assert_eq!(
            (outstanding.in_flight(), outstanding.bytes_in_flight()),
            (0, 0)
        );
        assert_eq!(outstanding.repeat_next(Instant::START), Some(segment(1)));
        assert_eq!(outstanding.next_to_repeat(), Some(segment(101)));
        let covered = Covered {
            segments: 2,
            bytes: 200,
        };
        assert_eq!(outstanding.acknowledge(201), covered);
        assert_eq!((outstanding.in_flight(), outstanding.max()), (0, 301));
        assert_eq!(outstanding.next_to_repeat(), Some(segment(201)));
    }

    /// An acknowledgement in the middle of a segment leaves the rest of it.
    #[test]
    fn a_segment_may_be_acknowledged_in_parts() {
        let mut outstanding = Outstanding::new(1);
        outstanding.push(segment(1));
        assert_eq!(
            outstanding.acknowledge(41),
            Covered {
                segments: 0,
                bytes: 40
            }
        );
        let rest = outstanding.first().unwrap();
        assert_eq!((rest.seq, rest.len), (41, 60));
        assert_eq!(
            outstanding.acknowledge(101),
            Covered {
                segments: 1,
                bytes: 60
            }
        );
        assert!(outstanding.is_empty());
    }

    fn segment(seq: u64) -> Sent {
        Sent {
            seq,
            len: 100,
            left_at: Instant::START,
        }
    }
}
