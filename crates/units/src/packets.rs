//! Numbers of packets.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, ParseUnitError};

/// A number of packets, written `"20 packets"`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Packets(pub u32);

impl FromStr for Packets {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::before_unit(text, &["packets", "packet"])
            .map(Self)
            .ok_or_else(|| ParseUnitError::NotPackets {
                text: text.to_owned(),
            })
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.0 == 1 { "packet" } else { "packets" };
        f.pad(&format!("{} {unit}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::Packets;

    /// A printed number is read back; a number without a unit or below zero is refused, with an example.
    #[test]
    fn packets_have_their_unit() {
        for packets in [Packets(0), Packets(1), Packets(20)] {
            assert_eq!(packets.to_string().parse(), Ok(packets));
        }
        let error = "20".parse::<Packets>().expect_err("no unit");
        assert!(error.to_string().contains("20 packets"), "{error}");
        assert!("-1 packets".parse::<Packets>().is_err());
    }
}
