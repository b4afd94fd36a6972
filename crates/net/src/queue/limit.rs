//! The limit of a queue.

use std::fmt;
use std::str::FromStr;

use fairwire_units::{Packets, Size};

/// The most that a queue holds: `"20 packets"` or `"64 kB"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QueueLimit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes of IP packets, without a link's framing.
    Bytes(Size),
}

/// An error from parsing a [`QueueLimit`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "'{0}' is not a queue size: write \"20 packets\", \"64 kB\", or for a link \"1 bdp\" or \"300 ms\""
)]
pub struct ParseLimitError(String);

impl FromStr for QueueLimit {
    type Err = ParseLimitError;
    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        if let Ok(Packets(packets)) = text.parse() {
            return Ok(Self::Packets(packets));
        }
        let size = text.parse().map(Self::Bytes);
        size.map_err(|_| ParseLimitError(text.to_owned()))
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => Packets(*packets).fmt(f),
            Self::Bytes(size) => size.fmt(f),
        }
    }
}

#[cfg(feature = "settings")]
fairwire_units::text_setting!(
    QueueLimit,
    "queue-limit",
    "20 packets",
    r"^\s*([0-9][0-9_]*(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*(packets?|([kMG]|[KMG]i)?B|bdp|h|min|s|ms|us|µs|ns)\s*$"
);

#[cfg(test)]
mod tests {
    use super::QueueLimit;
    use fairwire_units::Size;

    /// Parsing a printed limit gives the same limit, and a text without a unit is refused with examples.
    #[test]
    fn limits_have_their_unit() {
        for limit in [
            QueueLimit::Packets(1),
            QueueLimit::Packets(20),
            QueueLimit::Bytes(Size::new(64_000)),
        ] {
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        let error = "20 pac".parse::<QueueLimit>().expect_err("no unit");
        assert!(error.to_string().contains("\"64 kB\""), "{error}");
    }
}
