//! Sequence numbers: 48 bits compared modulo 2^48, and the two forms in which packets carry them.

use std::fmt;
use std::ops::{Add, Sub};

const BITS: u32 = 48;
const MODULUS: u64 = 1 << BITS;
const MASK: u64 = MODULUS - 1;
const HALF: u64 = MODULUS / 2;

const SHORT_BITS: u32 = 24;
const SHORT_MASK: u32 = (1 << SHORT_BITS) - 1;

/// A 48-bit DCCP sequence number, compared modulo 2^48 (RFC 4340, section 3.1).
///
/// There is no `Ord`, because `<` would be wrong after a wrap. Of two numbers exactly 2^47 apart, neither is before the
/// other. The documentation calls the 2^48 numbers a circle.
#[derive(Clone, Copy, Default, Eq, Hash, PartialEq)]
pub struct Seq(u64);

impl Seq {
    /// Sequence number zero.
    pub const ZERO: Self = Self(0);
    /// The largest number; the next one is zero.
    pub const MAX: Self = Self(MASK);

    /// Returns the sequence number with the low 48 bits of `number`.
    pub const fn new(number: u64) -> Self {
        Self(number & MASK)
    }

    /// Returns the number as an integer below 2^48.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number `n` after this one.
    pub const fn add(self, n: u64) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// Returns the number `n` before this one.
    pub const fn sub(self, n: u64) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }

    /// Returns the number after this one.
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// Returns the number before this one.
    pub const fn prev(self) -> Self {
        self.sub(1)
    }

    /// Returns the number of steps forward from this number to `later`: 0 to 2^48 - 1.
    pub const fn distance(self, later: Self) -> u64 {
        later.0.wrapping_sub(self.0) & MASK
    }

    /// Returns how far this number is ahead of `other`, in the shorter direction.
    ///
    /// It is negative if this number is behind, and 2^47 if the two are half a circle apart.
    pub const fn delta(self, other: Self) -> i64 {
        let ahead = other.distance(self);
        if ahead > HALF {
            ahead.cast_signed() - MODULUS.cast_signed()
        } else {
            ahead.cast_signed()
        }
    }

    /// Returns whether this number is before `other`, by less than half a circle.
    pub const fn is_before(self, other: Self) -> bool {
        let ahead = self.distance(other);
        ahead != 0 && ahead < HALF
    }

    /// Returns whether this number is after `other`, by less than half a circle.
    pub const fn is_after(self, other: Self) -> bool {
        other.is_before(self)
    }

    /// Returns the later of the two numbers; `a` if neither is later.
    pub const fn max(a: Self, b: Self) -> Self {
        if b.is_after(a) { b } else { a }
    }

    /// Returns the earlier of the two numbers; `a` if neither is earlier.
    pub const fn min(a: Self, b: Self) -> Self {
        if b.is_before(a) { b } else { a }
    }

    /// Returns whether this number is in the window from `low` to `high`, both included.
    pub const fn in_window(self, low: Self, high: Self) -> bool {
        low.distance(self) <= low.distance(high)
    }

    /// Returns the low 24 bits, which a packet with X = 0 carries (RFC 4340, section 7.6).
    pub const fn short(self) -> u32 {
        let [_, _, _, _, _, a, b, c] = self.0.to_be_bytes();
        u32::from_be_bytes([0, a, b, c])
    }

    /// Returns the number nearest to `reference` whose low 24 bits are `short` (RFC 4340, section 7.6).
    ///
    /// The reference is GSR for a Sequence Number and GSS for an Acknowledgement Number.
    pub const fn extend(short: u32, reference: Self) -> Self {
        const HALF: u32 = 1 << (SHORT_BITS - 1);
        let low = reference.short();
        let short = short & SHORT_MASK;
        let ahead = short.wrapping_sub(low) & SHORT_MASK;
        // RFC 4340, 7.6: a number less than 2^23 ahead modulo 2^24 is ahead modulo 2^48 too. At exactly 2^23 both
        // directions are equally far; the RFC's pseudocode then takes the direction in which the low 24 bits wrap.
        if ahead < HALF || (ahead == HALF && short < low) {
            reference.add(ahead as u64)
        } else {
            reference.sub((SHORT_MASK + 1 - ahead) as u64)
        }
    }
}

impl Add<u64> for Seq {
    type Output = Self;
    fn add(self, n: u64) -> Self {
        Self::add(self, n)
    }
}

impl Sub<u64> for Seq {
    type Output = Self;
    fn sub(self, n: u64) -> Self {
        Self::sub(self, n)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Sequence or Acknowledgement Number as a packet carries it (RFC 4340, section 5.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SeqNo {
    /// All 48 bits (X = 1).
    Long(Seq),
    /// The low 24 bits (X = 0). The higher bits of the field are ignored.
    Short(u32),
}

impl SeqNo {
    /// Returns whether this is the 24-bit form.
    pub const fn is_short(self) -> bool {
        matches!(self, Self::Short(_))
    }

    /// Returns the full number; a short one is extended around `reference` (see [`Seq::extend`]).
    pub const fn extend(self, reference: Seq) -> Seq {
        match self {
            Self::Long(seq) => seq,
            Self::Short(short) => Seq::extend(short, reference),
        }
    }

    /// Returns the full number, if the packet carried it.
    pub const fn long(self) -> Option<Seq> {
        match self {
            Self::Long(seq) => Some(seq),
            Self::Short(_) => None,
        }
    }

    /// Returns the low 24 bits.
    pub const fn short(self) -> u32 {
        match self {
            Self::Long(seq) => seq.short(),
            Self::Short(short) => short & SHORT_MASK,
        }
    }
}

impl From<Seq> for SeqNo {
    fn from(seq: Seq) -> Self {
        Self::Long(seq)
    }
}

impl fmt::Display for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long(seq) => fmt::Display::fmt(seq, f),
            Self::Short(short) => write!(f, "..{short}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Seq, SeqNo};

    const TOP: u64 = 1 << 48;

    /// Distances and differences are counted across the wrap.
    #[test]
    fn distance_crosses_the_wrap() {
        let last = Seq::MAX;
        assert_eq!(last.next(), Seq::ZERO);
        assert_eq!(Seq::ZERO.prev(), last);
        assert_eq!(last.distance(Seq::new(4)), 5);
        assert_eq!(Seq::new(4).distance(last), TOP - 5);
        assert_eq!(Seq::new(4).delta(last), 5);
        assert_eq!(last.delta(Seq::new(4)), -5);
        assert!(last.is_before(Seq::new(4)));
        assert!(!last.is_after(Seq::new(4)));
        assert_eq!(Seq::max(last, Seq::new(4)), Seq::new(4));
        assert_eq!(Seq::min(last, Seq::new(4)), last);
        assert_eq!(Seq::new(TOP + 7), Seq::new(7));
    }

    /// RFC 4340, 3.1: a number is before all numbers up to just below half the circle ahead.
    ///
    /// At exactly half, neither number is before the other.
    #[test]
    fn order_ends_half_way_round() {
        let a = Seq::new(10);
        let half = 1u64 << 47;
        assert!(a.is_before(a.add(half - 1)));
        assert!(!a.is_before(a.add(half)));
        assert!(!a.is_after(a.add(half)));
        assert!(a.is_after(a.add(half + 1)));
        assert_eq!(a.add(half).delta(a), half.cast_signed());
        assert_eq!(a.add(half + 1).delta(a), 1 - half.cast_signed());
        assert!(!a.is_before(a));
        assert!(!a.is_after(a));
    }

    /// A window includes both its ends, wherever on the circle it lies.
    #[test]
    fn windows_include_both_ends() {
        let (low, high) = (Seq::MAX.sub(1), Seq::new(2));
        for inside in [low, Seq::MAX, Seq::ZERO, high] {
            assert!(inside.in_window(low, high), "{inside}");
        }
        assert!(!low.prev().in_window(low, high));
        assert!(!high.next().in_window(low, high));
    }

    /// RFC 4340, 7.6: a 24-bit number is extended to the 48-bit number nearest to the reference.
    #[test]
    fn short_numbers_extend_to_the_nearest() {
        let reference = Seq::new(0x1234_56FF_FFF0);
        assert_eq!(
            Seq::extend(0x00FF_FFF1, reference),
            reference.next(),
            "same turn"
        );
        assert_eq!(
            Seq::extend(5, reference),
            Seq::new(0x1234_5700_0005),
            "the low bits wrapped"
        );
        let early = Seq::new(0x1234_5600_0005);
        assert_eq!(
            Seq::extend(0x00FF_FFF0, early),
            Seq::new(0x1234_55FF_FFF0),
            "an old one from before the wrap"
        );
        assert_eq!(
            Seq::extend(0x00FF_FFFF, Seq::ZERO),
            Seq::MAX,
            "below zero is the top of the circle"
        );
        assert_eq!(SeqNo::Short(0x0100_0007).short(), 7, "only 24 bits count");
        assert_eq!(SeqNo::Short(0x0100_0007).extend(Seq::new(6)), Seq::new(7));
    }

    /// RFC 4340, 7.6: extension gives the result of the RFC's pseudocode.
    ///
    /// The cases are at and around 2^23, and at both ends of the 48-bit range.
    #[test]
    fn extension_follows_the_pseudocode() {
        let pseudocode = |s: u64, reference: u64| {
            let circle = 1u64 << 24;
            let (low, high) = (reference % circle, reference / circle);
            let circular_less = |a: u64, b: u64| (b + circle - a) % circle <= 1 << 23;
            let high = if circular_less(low, s) && s < low {
                high + 1
            } else if circular_less(s, low) && low < s {
                high + circle - 1
            } else {
                high
            };
            (high % circle) << 24 | s
        };
        let half = 1 << 23;
        let edges = [0, 1, half - 1, half, half + 1, (1 << 24) - 2, (1 << 24) - 1];
        for high in [0, 1, (1 << 24) - 1] {
            for low in edges {
                for s in edges {
                    let reference = high << 24 | low;
                    let extended = Seq::extend(s.try_into().unwrap(), Seq::new(reference));
                    assert_eq!(
                        extended.get(),
                        pseudocode(s, reference),
                        "{s} at {reference}"
                    );
                }
            }
        }
    }
}
