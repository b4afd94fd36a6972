//! Loss, duplicates and reordering, by sequence number, as packets arrive.
//!
//! Reordering is counted as RFC 4737 does (section 3): a packet is late if one with a larger
//! number came before it; a copy of one that came already is a duplicate and counts nowhere else.
//! To tell a late packet from a copy, the last [`LossAccount::MEMORY`] numbers are remembered.

const WORDS: usize = 16;

/// What a packet's arrival meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival {
    /// Newer than everything before it; `missing` numbers were skipped since the newest.
    New {
        /// How many numbers lie between it and the newest one before it.
        missing: u64,
    },
    /// New, but one with a larger number came before it.
    Late {
        /// How far its number lies behind the largest one seen.
        by: u64,
    },
    /// A copy of one that came already.
    Duplicate,
    /// So far behind that nothing is known about it: it stays lost.
    TooLate,
}

/// The account of one numbered flow. Memory: 200 bytes.
#[derive(Clone, Debug)]
pub struct LossAccount {
    first: u64,
    /// One more than the largest number seen.
    next: u64,
    unique: u64,
    duplicates: u64,
    late: u64,
    too_late: u64,
    gaps: u64,
    latest_by: u64,
    late_by_sum: u64,
    /// Bit `n % MEMORY`: has number `n` arrived? For the `MEMORY` numbers before `next`.
    seen: [u64; WORDS],
}

impl LossAccount {
    /// How many numbers behind the largest one a late packet may be.
    pub const MEMORY: u64 = 64 * WORDS as u64;

    /// An account of a flow whose first packet has the number `first`.
    pub fn new(first: u64) -> Self {
        Self {
            first,
            next: first,
            unique: 0,
            duplicates: 0,
            late: 0,
            too_late: 0,
            gaps: 0,
            latest_by: 0,
            late_by_sum: 0,
            seen: [0; WORDS],
        }
    }

    /// A packet with this number arrived.
    pub fn arrived(&mut self, number: u64) -> Arrival {
        // The largest number of all has no successor; no flow gets there.
        if number < self.first || number == u64::MAX {
            self.too_late += 1;
            return Arrival::TooLate;
        }
        if number >= self.next {
            return self.newest(number);
        }
        let by = self.next - 1 - number;
        if by >= Self::MEMORY {
            self.too_late += 1;
            return Arrival::TooLate;
        }
        let (word, bit) = Self::place(number);
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return Arrival::Duplicate;
        }
        self.seen[word] |= bit;
        self.unique += 1;
        self.late += 1;
        self.latest_by = self.latest_by.max(by);
        self.late_by_sum = self.late_by_sum.saturating_add(by);
        Arrival::Late { by }
    }

    /// Packets that arrived, each counted once, late ones included.
    pub fn unique(&self) -> u64 {
        self.unique
    }

    /// Packets that are missing up to the newest one seen; late ones still to come are among them.
    pub fn lost(&self) -> u64 {
        self.next - self.first - self.unique
    }

    /// Packets that are missing of `sent`, for somebody who knows how many were sent.
    pub fn lost_of(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.unique)
    }

    /// The share of missing packets, up to the newest one seen, in `[0, 1]`; 0 before the first.
    pub fn loss_ratio(&self) -> f64 {
        ratio(self.lost(), self.next - self.first)
    }

    /// How often the numbers jumped ahead: runs of missing packets as they were noticed.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Copies.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets that came after one with a larger number (RFC 4737, section 3.3).
    pub fn reordered(&self) -> u64 {
        self.late
    }

    /// The share of reordered packets among those that arrived (RFC 4737, section 4.1).
    pub fn reordered_ratio(&self) -> f64 {
        ratio(self.late, self.unique)
    }

    /// How far, in packet numbers, the latest reordered packet lay behind the largest one seen.
    pub fn latest_by(&self) -> u64 {
        self.latest_by
    }

    /// How far reordered packets lay behind on average; `None` if there was none.
    pub fn mean_late_by(&self) -> Option<f64> {
        (self.late > 0).then(|| ratio(self.late_by_sum, self.late))
    }

    /// Packets too far behind to tell whether they were late or copies; they stay lost.
    pub fn too_late(&self) -> u64 {
        self.too_late
    }

    fn newest(&mut self, number: u64) -> Arrival {
        let missing = number - self.next;
        if missing >= Self::MEMORY {
            self.seen = [0; WORDS];
        } else {
            for skipped in self.next..number {
                let (word, bit) = Self::place(skipped);
                self.seen[word] &= !bit;
            }
        }
        let (word, bit) = Self::place(number);
        self.seen[word] |= bit;
        self.next = number + 1;
        self.unique += 1;
        self.gaps += u64::from(missing > 0);
        Arrival::New { missing }
    }

    fn place(number: u64) -> (usize, u64) {
        let slot = number % Self::MEMORY;
        let word = (slot / 64) as usize;
        (word, 1 << (slot % 64))
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, LossAccount};

    fn account(numbers: &[u64]) -> LossAccount {
        let mut account = LossAccount::new(1);
        for number in numbers {
            account.arrived(*number);
        }
        account
    }

    /// By hand, 1 2 3 7 8 9 10 4 5 6: three of ten are reordered, nothing is lost (RFC 4737,
    /// sections 3.3 and 4.1).
    #[test]
    fn late_packets_are_not_lost() {
        let account = account(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6]);
        assert_eq!(account.lost(), 0);
        assert_eq!(account.reordered(), 3);
        assert_eq!(account.reordered_ratio(), 0.3);
        assert_eq!(account.gaps(), 1);
        // 4, 5 and 6 lie 6, 5 and 4 behind the 10.
        assert_eq!(account.latest_by(), 6);
        assert_eq!(account.mean_late_by(), Some(5.0));
    }

    /// A copy is neither new nor late, whether its original came in order or late.
    #[test]
    fn copies_count_once() {
        let account = account(&[1, 1, 4, 2, 2, 4]);
        assert_eq!(account.unique(), 3);
        assert_eq!(account.duplicates(), 3);
        assert_eq!(account.reordered(), 1);
        assert_eq!(account.lost(), 1);
        assert_eq!(account.loss_ratio(), 0.25);
    }

    /// Packets lost before the first and after the last arrival count for who knows the total.
    #[test]
    fn losses_at_both_ends() {
        let account = account(&[4, 5]);
        assert_eq!(account.lost(), 3);
        assert_eq!(account.lost_of(10), 8);
        assert_eq!(LossAccount::new(0).loss_ratio(), 0.0);
    }

    /// Just inside the memory a late packet is recognised, just outside it stays lost.
    #[test]
    fn memory_ends_where_it_says() {
        for (number, expected) in [(2, Arrival::Late { by: 1023 }), (1, Arrival::TooLate)] {
            let mut account = LossAccount::new(1);
            assert_eq!(account.arrived(1025), Arrival::New { missing: 1024 });
            assert_eq!(account.arrived(number), expected);
        }
    }

    /// Bits of numbers long gone are not mistaken for those of new ones, whatever the jump.
    #[test]
    fn old_bits_are_cleared() {
        for jump in [2, 63, 64, 65, 1023, 1024, 1025, 5000] {
            let mut account = LossAccount::new(0);
            for number in 0..2000 {
                account.arrived(number);
            }
            account.arrived(1999 + jump);
            assert_eq!(account.lost(), jump - 1, "jump {jump}");
            let behind = (jump - 1).min(LossAccount::MEMORY - 1);
            for back in 1..=behind {
                let arrival = account.arrived(1999 + jump - back);
                assert_eq!(arrival, Arrival::Late { by: back }, "jump {jump}");
            }
        }
    }

    /// Numbers from a liar (before the first, the largest there is) do not upset the sums.
    #[test]
    fn absurd_numbers_are_set_aside() {
        let mut account = account(&[0, u64::MAX, 3]);
        assert_eq!(account.too_late(), 2);
        assert_eq!(account.lost(), 2);
        assert_eq!(
            account.arrived(u64::MAX - 1),
            Arrival::New {
                missing: u64::MAX - 5
            }
        );
        assert_eq!(account.unique(), 2);
    }
}
