//! The airtime of a frame: the OFDM modes of 802.11g (IEEE Std 802.11-2007, clauses 17 and 19).

use fairwire_units::{Duration, Rate};

/// Bytes that 802.11 adds to an IP packet: MAC header 24, LLC and SNAP 8, FCS 4.
pub const MAC_FRAMING: u32 = 36;

/// Length of an acknowledgement in bytes: frame control, duration, receiver, FCS.
const ACK_BYTES: u32 = 14;

/// Preamble and PLCP header, which take 20 us in every mode (17.3.2).
const PREAMBLE_US: u64 = 20;

/// The length of an OFDM symbol, 4 us (17.3.2.3).
const SYMBOL_US: u64 = 4;

/// SERVICE and tail bits, which are sent in the same symbols as the frame (17.3.5).
const SERVICE_AND_TAIL_BITS: u64 = 22;

/// The idle time after each frame of 802.11g, which gives its decoder as much time as in 802.11a (clause 19).
const SIGNAL_EXTENSION_US: u64 = 6;

/// A mode of the physical layer, named by its rate in Mbit/s.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[expect(missing_docs, reason = "the names are the rates in Mbit/s")]
pub enum PhyRate {
    M6,
    M9,
    M12,
    M18,
    M24,
    M36,
    M48,
    M54,
}

impl PhyRate {
    /// All modes, slowest first.
    pub const ALL: [Self; 8] = [
        Self::M6,
        Self::M9,
        Self::M12,
        Self::M18,
        Self::M24,
        Self::M36,
        Self::M48,
        Self::M54,
    ];

    /// Returns the rate of a symbol in Mbit/s.
    pub const fn mbit_per_s(self) -> u64 {
        match self {
            Self::M6 => 6,
            Self::M9 => 9,
            Self::M12 => 12,
            Self::M18 => 18,
            Self::M24 => 24,
            Self::M36 => 36,
            Self::M48 => 48,
            Self::M54 => 54,
        }
    }

    /// Returns the rate of a symbol.
    pub const fn rate(self) -> Rate {
        Rate::from_bits_per_s(self.mbit_per_s() * 1_000_000)
    }

    /// Returns the mode with this rate, if there is one.
    pub fn of(rate: Rate) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.rate() == rate)
    }

    /// Returns the data bits of a symbol (table 17-3): four microseconds at its rate.
    const fn bits_per_symbol(self) -> u64 {
        self.mbit_per_s() * SYMBOL_US
    }

    /// Returns the mode of acknowledgements for frames of this mode.
    ///
    /// It is the fastest mandatory mode (6, 12 and 24 Mbit/s) that is not faster than this one.
    pub const fn ack_rate(self) -> Self {
        match self {
            Self::M6 | Self::M9 => Self::M6,
            Self::M12 | Self::M18 => Self::M12,
            Self::M24 | Self::M36 | Self::M48 | Self::M54 => Self::M24,
        }
    }

    /// Returns the airtime of a MAC frame of `bytes` bytes.
    ///
    /// It includes the preamble, padding to whole symbols, and the signal extension.
    pub const fn airtime(self, bytes: u32) -> Duration {
        let bits = SERVICE_AND_TAIL_BITS + 8 * bytes as u64;
        let symbols = bits.div_ceil(self.bits_per_symbol());
        Duration::from_micros(PREAMBLE_US + SYMBOL_US * symbols + SIGNAL_EXTENSION_US)
    }

    /// Returns the airtime of the acknowledgement of a frame of this mode.
    pub const fn ack_airtime(self) -> Duration {
        self.ack_rate().airtime(ACK_BYTES)
    }

    /// Returns the next faster mode, or this one if it is the fastest.
    pub(crate) fn faster(self) -> Self {
        let at = self as usize;
        Self::ALL.get(at + 1).copied().unwrap_or(self)
    }

    /// Returns the next slower mode, or this one if it is the slowest.
    pub(crate) fn slower(self) -> Self {
        let at = self as usize;
        at.checked_sub(1).map_or(self, |below| Self::ALL[below])
    }
}

#[cfg(test)]
mod tests {
    use super::PhyRate;
    use fairwire_units::{Duration, Rate};

    /// The airtime of 1536 bytes matches a calculation by hand.
    ///
    /// 12 310 bits are 57 symbols of 216 bits at 54 Mbit/s, and 513 symbols of 24 bits at 6 Mbit/s. The 134 bits of an
    /// acknowledgement are 2 symbols of 96 bits.
    #[test]
    fn frames_by_hand() {
        let us = Duration::from_micros;
        assert_eq!(PhyRate::M54.airtime(1_536), us(20 + 57 * 4 + 6));
        assert_eq!(PhyRate::M6.airtime(1_536), us(20 + 513 * 4 + 6));
        assert_eq!(PhyRate::M54.ack_airtime(), us(20 + 2 * 4 + 6));
        assert_eq!(PhyRate::M9.ack_airtime(), us(20 + 6 * 4 + 6));
    }

    /// A byte that does not fit into the last symbol takes a whole new one: 216 - 22 bits are 24 bytes and two bits.
    #[test]
    fn symbols_are_filled_up() {
        let one = PhyRate::M54.airtime(24);
        assert_eq!(one, Duration::from_micros(30));
        assert_eq!(PhyRate::M54.airtime(25), Duration::from_micros(34));
    }

    /// The fastest and the slowest mode have no neighbour beyond them, and a rate of no mode is refused.
    #[test]
    fn the_ladder_has_ends() {
        assert_eq!(PhyRate::M54.faster(), PhyRate::M54);
        assert_eq!(PhyRate::M6.slower(), PhyRate::M6);
        assert_eq!(PhyRate::M24.faster(), PhyRate::M36);
        assert_eq!(PhyRate::M24.slower(), PhyRate::M18);
        let of = |mbit: u64| PhyRate::of(Rate::from_bits_per_s(mbit * 1_000_000));
        assert_eq!(of(36), Some(PhyRate::M36));
        assert_eq!(of(11), None);
    }
}
