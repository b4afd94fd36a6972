//! Sequence numbers on a line instead of a circle.

use fairwire_wire::Seq;

/// Where the line begins: room below for numbers from before.
const BASE: u64 = 1 << 60;

/// The greatest sequence number received and its place on the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    newest: Seq,
    line: u64,
}

impl Numbers {
    pub(super) const fn new(newest: Seq) -> Self {
        Self { newest, line: BASE }
    }

    /// The place of the greatest number received.
    pub(super) const fn newest(&self) -> u64 {
        self.line
    }

    /// The place of `seq`, the short way round.
    pub(super) const fn line(&self, seq: Seq) -> u64 {
        self.line.saturating_add_signed(seq.delta(self.newest))
    }

    /// A packet arrived: its place, and whether it is the greatest so far.
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
