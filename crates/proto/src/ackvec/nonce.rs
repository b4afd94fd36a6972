//! The ECN nonces of packets, a bit each (RFC 3540; RFC 4340, section 12.2).
//!
//! A sender that asks for it sends ECT(0) or ECT(1) at random; ECT(1) is a nonce of one. Marks and
//! losses destroy it, so who hides them has to guess the sum of what it claims to have received.

use fairwire_wire::{AckCells, CellState, Seq};

/// Packets remembered: more than all cells of a receiver's vectors cover.
pub(super) const REMEMBERED: u64 = 1 << 15;

const WORDS: usize = (REMEMBERED / 64) as usize;

/// The nonces of the newest packets, by number; those before the first are zero.
#[derive(Clone, Debug)]
pub(super) struct Nonces([u64; WORDS]);

impl Nonces {
    pub(super) fn new() -> Self {
        Self([0; WORDS])
    }

    /// The packet with number `seq` has this nonce.
    pub(super) fn set(&mut self, seq: Seq, nonce: bool) {
        let (word, bit) = place(seq);
        if nonce {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    /// Makes room for the packets behind `newest` up to `seq`: their nonces are zero.
    pub(super) fn advance(&mut self, newest: Seq, seq: Seq) {
        if newest.distance(seq) >= REMEMBERED {
            self.0 = [0; WORDS];
            return;
        }
        for step in 1..=newest.distance(seq) {
            self.set(newest.add(step), false);
        }
    }

    /// The sum, in one bit, of the nonces of `packets` packets, `high` the newest of them.
    pub(super) fn sum(&self, high: Seq, packets: u64) -> bool {
        let mut left = packets.min(REMEMBERED);
        let mut high = high;
        let mut sum = 0;
        while left > 0 {
            // As many as the word of `high` holds below it.
            let top = high.get() % 64;
            let here = left.min(top + 1);
            let word = self.0[place(high).0];
            let wanted = (u64::MAX >> (64 - here)) << (top + 1 - here);
            sum ^= word & wanted;
            high = high.sub(here);
            left -= here;
        }
        sum.count_ones() % 2 == 1
    }

    /// What the nonce echo of a vector should be, `high` its newest packet: the sum over the packets
    /// that it reports received unmarked.
    pub(super) fn echo(&self, high: Seq, cells: AckCells<'_>) -> bool {
        let mut high = high;
        let mut echo = false;
        for cell in cells.iter() {
            let packets = u64::from(cell.run());
            // RFC 4340, 12.2: State 0 alone.
            if cell.state() == CellState::Received {
                echo ^= self.sum(high, packets);
            }
            high = high.sub(packets);
        }
        echo
    }
}

/// The word and the bit of a number.
fn place(seq: Seq) -> (usize, u64) {
    let at = seq.get() % REMEMBERED;
    // Below 2^15: no platform's `usize` is smaller.
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::{Nonces, REMEMBERED, Seq};

    /// Sums over any stretch agree with counting, across words, the ring's end and the wrap.
    #[test]
    fn sums_are_sums() {
        for base in [0, 63, REMEMBERED - 70, (1 << 48) - 100] {
            let mut nonces = Nonces::new();
            let at = |n: u64| Seq::new(base).add(n);
            let has = |n: u64| n.is_multiple_of(3) || n % 7 == 2;
            for n in 0..200 {
                nonces.set(at(n), has(n));
            }
            for low in 0..200 {
                for high in low..200 {
                    let expected = (low..=high).filter(|&n| has(n)).count() % 2 == 1;
                    let sum = nonces.sum(at(high), high - low + 1);
                    assert_eq!(sum, expected, "{base}: {low} to {high}");
                }
            }
        }
    }

    /// What is passed over has a nonce of zero, also where the ring comes round.
    #[test]
    fn passed_over_is_zero() {
        for distance in [5, REMEMBERED - 1, REMEMBERED, 1 << 40] {
            let mut nonces = Nonces::new();
            for n in 0..REMEMBERED {
                nonces.set(Seq::new(n), true);
            }
            let newest = Seq::new(REMEMBERED - 1);
            let then = newest.add(distance);
            nonces.advance(newest, then);
            assert!(!nonces.sum(then, 1), "{distance}");
            assert!(!nonces.sum(then, distance.min(REMEMBERED)), "{distance}");
            // The one before the gap is still known, if the ring has room for it.
            let before = nonces.sum(then, distance.min(REMEMBERED - 1) + 1);
            assert_eq!(before, distance < REMEMBERED, "{distance}");
        }
    }
}
