//! Loss, duplicates and reordering, computed from sequence numbers as packets arrive.
//!
//! Reordering follows RFC 4737, section 3: a packet is late if one with a larger number arrived before it. A second
//! copy of a packet is a duplicate and counts as nothing else. The last [`LossAccount::MEMORY`] numbers are remembered
//! to distinguish late packets from copies.

const WORDS: usize = 16;

/// The classification of an arriving packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrival {
    /// Newer than all packets before it; `missing` numbers were skipped since the newest one.
    New {
        /// The number of packets missing between the newest one before it and this one.
        missing: u64,
    },
    /// New, but a packet with a larger number arrived before it.
    Late {
        /// The distance of its number from the largest one seen.
        by: u64,
    },
    /// A copy of a packet that arrived before.
    Duplicate,
    /// Too far behind to tell whether it is late or a copy; it stays counted as lost.
    TooLate,
}

/// The account of one flow with sequence numbers. Memory: 200 bytes.
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
    max_late_by: u64,
    late_by_sum: u64,
    /// Bit `n % MEMORY` says whether number `n` has arrived, for the `MEMORY` numbers before `next`.
    seen: [u64; WORDS],
}

impl LossAccount {
    /// The number of remembered packets: a late packet must be fewer than this behind the largest number.
    pub const MEMORY: u64 = 64 * WORDS as u64;

    /// Creates the account of a flow whose first packet has the number `first`.
    pub fn new(first: u64) -> Self {
        Self {
            first,
            next: first,
            unique: 0,
            duplicates: 0,
            late: 0,
            too_late: 0,
            gaps: 0,
            max_late_by: 0,
            late_by_sum: 0,
            seen: [0; WORDS],
        }
    }

    /// Counts the arrival of packet `number` and returns what kind of arrival it is.
    pub fn arrived(&mut self, number: u64) -> Arrival {
        // The largest number of all has no successor, and no flow reaches it.
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
        self.max_late_by = self.max_late_by.max(by);
        self.late_by_sum = self.late_by_sum.saturating_add(by);
        Arrival::Late { by }
    }

    /// Returns the number of different packets that arrived, late ones included.
    pub fn unique(&self) -> u64 {
        self.unique
    }

    /// Returns the number of packets missing up to the newest one seen; some of them may still arrive late.
    pub fn lost(&self) -> u64 {
        self.next - self.first - self.unique
    }

    /// Returns the number of packets missing of `sent`, for a caller that knows how many were sent.
    pub fn lost_of(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.unique)
    }

    /// Returns the fraction of packets missing up to the newest one seen, 0.0 to 1.0; 0 before the first.
    pub fn loss_ratio(&self) -> f64 {
        ratio(self.lost(), self.next - self.first)
    }

    /// Returns how often the numbers jumped ahead, that is the number of gaps at the time they appeared.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Returns the number of duplicates.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Returns the number of packets that arrived after one with a larger number (RFC 4737, section 3.3).
    pub fn reordered(&self) -> u64 {
        self.late
    }

    /// Returns the fraction of reordered packets among those that arrived (RFC 4737, section 4.1).
    pub fn reordered_ratio(&self) -> f64 {
        ratio(self.late, self.unique)
    }

    /// Returns the greatest distance, in packet numbers, of a reordered packet from the largest number seen.
    pub fn max_late_by(&self) -> u64 {
        self.max_late_by
    }

    /// Returns the mean distance of reordered packets from the largest number seen; `None` if there was none.
    pub fn mean_late_by(&self) -> Option<f64> {
        (self.late > 0).then(|| ratio(self.late_by_sum, self.late))
    }

    /// Returns the number of packets too far behind to tell late ones from copies; they stay counted as lost.
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

    /// By hand, 1 2 3 7 8 9 10 4 5 6: three of ten are reordered and nothing is lost (RFC 4737, sections 3.3 and 4.1).
    #[test]
    fn late_packets_are_not_lost() {
        let account = account(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6]);
        assert_eq!(account.lost(), 0);
        assert_eq!(account.reordered(), 3);
        assert_eq!(account.reordered_ratio(), 0.3);
        assert_eq!(account.gaps(), 1);
        // 4, 5 and 6 are 6, 5 and 4 behind the 10.
        assert_eq!(account.max_late_by(), 6);
        assert_eq!(account.mean_late_by(), Some(5.0));
    }

    /// A copy is neither new nor late, whether its original arrived in order or late.
    #[test]
    fn copies_count_once() {
        let account = account(&[1, 1, 4, 2, 2, 4]);
        assert_eq!(account.unique(), 3);
        assert_eq!(account.duplicates(), 3);
        assert_eq!(account.reordered(), 1);
        assert_eq!(account.lost(), 1);
        assert_eq!(account.loss_ratio(), 0.25);
    }

    /// Losses before the first and after the last arrival are counted if the caller knows the total.
    #[test]
    fn losses_at_both_ends() {
        let account = account(&[4, 5]);
        assert_eq!(account.lost(), 3);
        assert_eq!(account.lost_of(10), 8);
        assert_eq!(LossAccount::new(0).loss_ratio(), 0.0);
    }

    /// A late packet just inside the memory is recognised; just outside it stays lost.
    #[test]
    fn memory_ends_where_it_says() {
        for (number, expected) in [(2, Arrival::Late { by: 1023 }), (1, Arrival::TooLate)] {
            let mut account = LossAccount::new(1);
            assert_eq!(account.arrived(1025), Arrival::New { missing: 1024 });
            assert_eq!(account.arrived(number), expected);
        }
    }

    /// The bits of old numbers are cleared and not taken for those of new numbers, for any jump.
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

    /// Absurd numbers (before the first, or the largest possible) do not disturb the counts.
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
