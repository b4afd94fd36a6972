//! Congestion control identifiers.

use std::fmt;

/// A congestion control identifier (RFC 4340, section 10).
///
/// Every number is valid, because a peer may propose any of them. The constants are the CCIDs that Fairwire implements.
///
/// ```
/// use fairwire_wire::Ccid;
///
/// assert_eq!(Ccid::TFRC.number(), 3);
/// assert_eq!(Ccid::TFRC.to_string(), "CCID 3");
/// assert_eq!(Ccid::new(248).to_string(), "CCID 248"); // one for experiments
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ccid(u8);

impl Ccid {
    /// 2: a congestion window like TCP's (RFC 4341).
    pub const TCP_LIKE: Self = Self(2);
    /// 3: TFRC, a rate that changes smoothly (RFC 4342).
    pub const TFRC: Self = Self(3);
    /// 4: TFRC for small packets (RFC 5622), experimental.
    ///
    /// It aims at the rate in bytes per second of a TCP with large packets, and sends at most 100 packets per second.
    pub const TFRC_SP: Self = Self(4);

    /// Returns the CCID with this number. 248 to 254 are for experiments (RFC 4340, section 19.5).
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the number on the wire.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl From<u8> for Ccid {
    fn from(number: u8) -> Self {
        Self(number)
    }
}

impl From<Ccid> for u8 {
    fn from(ccid: Ccid) -> Self {
        ccid.0
    }
}

impl fmt::Display for Ccid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CCID {}", self.0)
    }
}
