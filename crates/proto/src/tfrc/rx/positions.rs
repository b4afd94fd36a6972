//! Sequence numbers as positions on a line instead of a circle.

use fairwire_wire::Seq;

/// The first position. There is room below it for older numbers.
const BASE: u64 = 1 << 60;

/// The greatest sequence number received, and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Positions {
    newest: Seq,
    newest_position: u64,
}

impl Positions {
    pub(super) const fn new(newest: Seq) -> Self {
        Self {
            newest,
            newest_position: BASE,
        }
    }

    /// Returns the position of the greatest number received.
    pub(super) const fn newest(&self) -> u64 {
        self.newest_position
    }

    /// Returns the position of `seq`, by the shorter way around the circle.
    pub(super) const fn position(&self, seq: Seq) -> u64 {
        self.newest_position
            .saturating_add_signed(seq.delta(self.newest))
    }

    /// Records an arrival. Returns the packet's position, and whether its number is the greatest so far.
    pub(super) fn arrived(&mut self, seq: Seq) -> (u64, bool) {
        let line = self.position(seq);
        let is_newest = line > self.newest_position;
        if is_newest {
            self.newest = seq;
            self.newest_position = line;
        }
        (line, is_newest)
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE, Positions, Seq};

    /// However often sequence numbers jump, positions end at the largest 64-bit number, and older numbers still get
    /// lower positions.
    #[test]
    fn finding_9_positions_end() {
        let mut numbers = Positions::new(Seq::ZERO);
        let mut seq = Seq::ZERO;
        for _ in 0..1 << 18 {
            seq = seq.add((1 << 47) - 1);
            numbers.arrived(seq);
        }
        assert_eq!(numbers.newest(), u64::MAX);
        assert_eq!(numbers.arrived(seq.next()).0, u64::MAX);
        assert!(numbers.position(seq.sub(9)) > BASE);
    }
}
