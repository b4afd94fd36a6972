//! Numbers of packets.

use std::fmt;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::parse::ParseUnitError;

/// A number of packets, written `"20 packets"`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Packets(pub u32);

impl FromStr for Packets {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = Decimal::split(text.trim());
        let number = number.filter(|(_, unit)| ["packets", "packet"].contains(&unit.trim()));
        number
            .and_then(|(number, _)| u32::try_from(number.times(1)?).ok())
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
        assert_eq!("1e1packets".parse(), Ok(Packets(10)));
        assert_eq!("10.0 packets".parse(), Ok(Packets(10)));
        assert!("10.5 packets".parse::<Packets>().is_err());
        let error = "20".parse::<Packets>().expect_err("no unit");
        assert!(error.to_string().contains("20 packets"), "{error}");
        assert!("-1 packets".parse::<Packets>().is_err());
    }
}
