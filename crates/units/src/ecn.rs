//! The ECN field of the IP header.

use std::fmt;

/// An ECN codepoint, as it travels with a packet (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a router has to drop the packet to signal congestion.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, codepoint 1 (used by L4S, RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable, codepoint 0; DCCP data packets carry it (RFC 8311, section 6).
    Ect0 = 0b10,
    /// Congestion experienced: a router marked the packet.
    Ce = 0b11,
}

impl Ecn {
    /// Returns the codepoint in the two low bits of `bits` and ignores the other bits.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the codepoint as the two low bits of the IPv4 TOS or IPv6 traffic class octet.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns whether a router may mark this packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEct => "Not-ECT",
            Self::Ect1 => "ECT(1)",
            Self::Ect0 => "ECT(0)",
            Self::Ce => "CE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    /// Each codepoint converts to its bits (RFC 3168, section 5) and back.
    #[test]
    fn bits_round_trip() {
        for (bits, ecn) in [
            (0, Ecn::NotEct),
            (1, Ecn::Ect1),
            (2, Ecn::Ect0),
            (3, Ecn::Ce),
        ] {
            assert_eq!(Ecn::from_bits(bits), ecn);
            assert_eq!(ecn.bits(), bits);
            assert_eq!(Ecn::from_bits(0b1111_1100 | bits), ecn);
        }
    }
}
