//! Sequence numbers as positions on a line instead of a circle.

use fairwire_wire::Seq;

/// The first position. There is room below it for older numbers.
const BASE: u64 = 1 << 60;

/// The greatest sequence number received, and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    newest: Seq,
    line: u64,
}

impl Numbers {
    pub(super) const fn new(newest: Seq) -> Self {
        Self { newest, line: BASE }
    }

    /// Returns the position of the greatest number received.
    pub(super) const fn newest(&self) -> u64 {
        self.line
    }

    /// Returns the position of `seq`, by the shorter way around the circle.
    pub(super) const fn line(&self, seq: Seq) -> u64 {
        self.line.saturating_add_signed(seq.delta(self.newest))
    }

    /// Records an arrival. Returns the packet's position, and whether its number is the greatest so far.
    pub(super) fn arrived(&mut self, seq: Seq) -> (u64, bool) {
        let line = self.line(seq);
        let is_newest = line > self.line;
        if is_newest {
            self.newest = seq;
            self.line = line;
        }
        (line, is_newest)
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE, Numbers, Seq};

    /// However often sequence numbers jump, positions end at the largest 64-bit number, and older numbers still get
    /// lower positions.
    #[test]
    fn finding_9_the_line_ends() {
        let mut numbers = Numbers::new(Seq::ZERO);
        let mut seq = Seq::ZERO;
        for _ in 0..1 << 18 {
            seq = seq.add((1 << 47) - 1);
            numbers.arrived(seq);
        }
        assert_eq!(numbers.newest(), u64::MAX);
        assert_eq!(numbers.arrived(seq.next()).0, u64::MAX);
        assert!(numbers.line(seq.sub(9)) > BASE);
    }
}
