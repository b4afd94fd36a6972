//! Quantities that only scenarios have, and how all of them are read from text.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use fairwire_units::{Duration, Size};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// Why a text is not the quantity that belongs here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QuantityError(String);

impl QuantityError {
    /// The refusal with this text.
    pub(super) const fn new(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for QuantityError {}

/// The number before `unit` in `text`, which may stand with or without a gap.
fn before_unit<T: FromStr>(text: &str, units: &[&str]) -> Option<T> {
    let trimmed = text.trim();
    units
        .iter()
        .find_map(|unit| trimmed.strip_suffix(unit))
        .and_then(|number| number.trim().replace('_', "").parse().ok())
}

/// A part of a whole, written `"1 %"`; the value is 0.0 to 1.0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percent(f64);

impl Percent {
    pub(super) const NONE: Self = Self(0.0);
    pub(super) const TEN: Self = Self(0.1);
    pub(super) const ALL: Self = Self(1.0);

    /// The part, 0.0 to 1.0.
    pub const fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match before_unit::<f64>(text, &["%"]) {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err(QuantityError(format!(
                "'{text}' is not a percentage: write one from \"0 %\" to \"100 %\""
            ))),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded at 1e-10 so that 7 % does not print as 7.000000000000001 %.
        let percent = (self.0 * 1e12 + 0.5).floor() / 1e10;
        f.pad(&format!("{percent} %"))
    }
}

/// A number of packets, written `"20 packets"`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Packets(pub u32);

impl FromStr for Packets {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        before_unit(text, &["packets", "packet"])
            .map(Self)
            .ok_or_else(|| {
                QuantityError(format!(
                    "'{text}' is not a number of packets: write it as \"20 packets\""
                ))
            })
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.0 == 1 { "packet" } else { "packets" };
        f.pad(&format!("{} {unit}", self.0))
    }
}

/// How much a queue holds: `"20 packets"` or `"64 kB"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(Size),
}

impl FromStr for QueueLimit {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if let Ok(Packets(packets)) = text.parse() {
            return Ok(Self::Packets(packets));
        }
        text.parse().map(Self::Bytes).map_err(|_| {
            QuantityError(format!(
                "'{text}' is not a queue's size: write \"20 packets\" or \"64 kB\""
            ))
        })
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

/// The least retransmission timeout: a time, or `"ns2"` for the second of ns-2's agents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MinRto {
    /// ns-2's DCCP and early TCP agents: one second.
    Ns2,
    /// This long.
    Time(Duration),
}

impl MinRto {
    /// How long that is.
    pub const fn duration(self) -> Duration {
        match self {
            Self::Ns2 => Duration::from_secs(1),
            Self::Time(time) => time,
        }
    }
}

impl FromStr for MinRto {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        if text == "ns2" {
            return Ok(Self::Ns2);
        }
        text.parse().map(Self::Time).map_err(|_| {
            QuantityError(format!(
                "'{text}' is neither a time as \"200 ms\" nor \"ns2\""
            ))
        })
    }
}

impl fmt::Display for MinRto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ns2 => f.pad("ns2"),
            Self::Time(time) => time.fmt(f),
        }
    }
}

/// The segment size of TFRC's equation: `"mean"`, `"mps"`, a size, or a size `literally`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SegmentSize {
    /// The mean size of the packets sent.
    Mean,
    /// The largest that may be sent.
    Mps,
    /// This many bytes: each packet counts as that much.
    Fixed(Size),
    /// This many bytes, while bytes received count as they are.
    Literal(Size),
}

/// What follows a size that is taken word for word.
const LITERALLY: &str = " literally";

impl FromStr for SegmentSize {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text {
            "mean" => Ok(Self::Mean),
            "mps" => Ok(Self::Mps),
            size => {
                let (size, kind): (_, fn(Size) -> Self) = match size.strip_suffix(LITERALLY) {
                    Some(size) => (size, Self::Literal),
                    None => (size, Self::Fixed),
                };
                size.parse().map(kind).map_err(|_| {
                    QuantityError(format!(
                        "'{text}' is neither \"mean\", \"mps\" nor a size as \"1460 B\" or \"1460 B literally\""
                    ))
                })
            }
        }
    }
}

impl fmt::Display for SegmentSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.pad("mean"),
            Self::Mps => f.pad("mps"),
            Self::Fixed(size) => size.fmt(f),
            Self::Literal(size) => write!(f, "{size}{LITERALLY}"),
        }
    }
}

/// How far flows' starts are moved at random: `"auto"`, `"none"`, `"rtt"` or a time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum StartOffset {
    /// One round trip where nothing else in the scenario is random, else none.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// Up to one round trip of the flow's empty path.
    Rtt,
    /// Up to this long.
    UpTo(Duration),
}

impl FromStr for StartOffset {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "rtt" => Ok(Self::Rtt),
            time => time.parse().map(Self::UpTo).map_err(|_| {
                QuantityError(format!(
                    "'{text}' is neither \"auto\", \"none\", \"rtt\" nor a time as \"100 ms\""
                ))
            }),
        }
    }
}

impl fmt::Display for StartOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::None => f.pad("none"),
            Self::Rtt => f.pad("rtt"),
            Self::UpTo(time) => time.fmt(f),
        }
    }
}

/// Things by name, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// The thing called `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, thing)| thing)
    }

    /// Names and things in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, thing)| (name.as_str(), thing))
    }

    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, thing) in &self.0 {
            map.serialize_entry(name, thing)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Things<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Things<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of tables, each with its name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut things = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    things.push(entry);
                }
                Ok(Named(things))
            }
        }
        deserializer.deserialize_map(Things(std::marker::PhantomData))
    }
}

/// `#[serde(with = "text")]` for whatever is written as text with its unit.
pub(crate) mod text {
    use super::{Deserializer, FromStr, Serializer, TextVisitor, fmt};

    pub(crate) fn serialize<T: fmt::Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: fmt::Display>,
        D: Deserializer<'de>,
    {
        deserializer.deserialize_any(TextVisitor(std::marker::PhantomData))
    }
}

/// `#[serde(with = "text_option")]` for the same where it may be missing.
pub(crate) mod text_option {
    use super::{Deserializer, FromStr, Serializer, fmt, text};

    #[expect(
        clippy::ref_option,
        reason = "serde's `with` gives a reference to the field"
    )]
    pub(crate) fn serialize<T: fmt::Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: fmt::Display>,
        D: Deserializer<'de>,
    {
        text::deserialize(deserializer).map(Some)
    }
}

struct TextVisitor<T>(std::marker::PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes with its unit")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    /// A bare number is always refused; the type knows which units it misses.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Size};

    use super::{MinRto, Packets, Percent, QueueLimit, SegmentSize, StartOffset};

    /// What is printed is read back to the same value.
    #[test]
    fn printed_quantities_are_read_back() {
        for text in ["0 %", "0.5 %", "1 %", "5 %", "7 %", "33.3 %", "100 %"] {
            let percent: Percent = text.parse().expect(text);
            assert_eq!(percent.to_string(), text);
            assert_eq!(percent.to_string().parse(), Ok(percent));
        }
        for limit in [
            QueueLimit::Packets(1),
            QueueLimit::Packets(20),
            QueueLimit::Bytes(Size::new(64_000)),
        ] {
            assert_eq!(limit.to_string().parse(), Ok(limit));
        }
        for rto in [MinRto::Ns2, MinRto::Time(Duration::from_millis(200))] {
            assert_eq!(rto.to_string().parse(), Ok(rto));
        }
        for segment in [
            SegmentSize::Mean,
            SegmentSize::Mps,
            SegmentSize::Fixed(Size::new(1_460)),
            SegmentSize::Literal(Size::new(1_460)),
        ] {
            assert_eq!(segment.to_string().parse(), Ok(segment));
        }
        for offset in [
            StartOffset::Auto,
            StartOffset::Rtt,
            StartOffset::UpTo(Duration::from_millis(5)),
        ] {
            assert_eq!(offset.to_string().parse(), Ok(offset));
        }
    }

    /// Numbers without a unit, with another one, or out of range are refused with what would do.
    #[test]
    fn other_texts_are_refused() {
        for text in ["5", "101 %", "-1 %", "NaN %", "%"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
        let error = "20".parse::<Packets>().expect_err("no unit");
        assert!(error.to_string().contains("20 packets"), "{error}");
        assert!("-1 packets".parse::<Packets>().is_err());
        assert!("20 pac".parse::<QueueLimit>().is_err());
    }
}
