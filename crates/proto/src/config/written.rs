//! The text forms of settings in files.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU16;
use std::str::FromStr;
use std::time::Duration;

use fairwire_units::{self as units, Rate, Size, text_setting};
use fairwire_wire::Ccid;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ccids::{FeedbackRate, Segment};

/// A number of packets, for example `"20 packets"`.
pub(super) type Packets = As<units::Packets>;
/// An optional number of packets.
pub(super) type OptionalPackets = As<Option<units::Packets>>;
/// A number of bytes, for example `"500 B"`.
pub(super) type Bytes = As<Size>;
/// An optional rate, for example `"50 kbit/s"`.
pub(super) type OptionalRate = As<Option<Rate>>;
/// A time, for example `"200 ms"`.
pub(super) type Time = As<units::Duration>;
/// An optional time.
pub(super) type OptionalTime = As<Option<units::Duration>>;
/// A list of CCIDs, for example `[2, 3]`.
pub(super) type Ccids = As<Vec<u8>>;

/// The text form `Q` of a setting: a path for `#[serde(with = "...")]`, which states the schema, too.
pub(super) struct As<Q>(PhantomData<Q>);

impl<Q: Serialize> As<Q> {
    pub(super) fn serialize<T: Written<Q>, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.written().serialize(serializer)
    }
}

impl<'de, Q: Deserialize<'de>> As<Q> {
    pub(super) fn deserialize<T: Written<Q>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let written = Q::deserialize(deserializer)?;
        T::read(written).ok_or_else(|| D::Error::custom("the number is too large, or 0"))
    }
}

impl<Q: JsonSchema> JsonSchema for As<Q> {
    fn inline_schema() -> bool {
        Q::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Q::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Q::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Q::json_schema(generator)
    }
}

/// A value that files state as `Q`.
pub(super) trait Written<Q>: Sized {
    /// Returns its form in files. Numbers that `Q` cannot hold become the largest that it can.
    fn written(&self) -> Q;

    /// Returns the value for what a file states, if there is one.
    fn read(written: Q) -> Option<Self>;
}

impl<Q, T: Written<Q>> Written<Option<Q>> for Option<T> {
    fn written(&self) -> Option<Q> {
        self.as_ref().map(T::written)
    }

    fn read(written: Option<Q>) -> Option<Self> {
        written.map_or(Some(None), |written| T::read(written).map(Some))
    }
}

macro_rules! packets {
    ($($type:ty)*) => {
        $(impl Written<units::Packets> for $type {
            fn written(&self) -> units::Packets {
                units::Packets(u32::try_from(*self).unwrap_or(u32::MAX))
            }

            fn read(written: units::Packets) -> Option<Self> {
                Self::try_from(written.0).ok()
            }
        })*
    };
}

packets!(usize u64);

impl Written<units::Packets> for NonZeroU16 {
    fn written(&self) -> units::Packets {
        units::Packets(self.get().into())
    }

    fn read(written: units::Packets) -> Option<Self> {
        Self::new(written.0.try_into().ok()?)
    }
}

impl Written<units::Packets> for f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float-to-integer cast saturates"
    )]
    fn written(&self) -> units::Packets {
        units::Packets(*self as u32)
    }

    fn read(written: units::Packets) -> Option<Self> {
        Some(written.0.into())
    }
}

impl Written<Rate> for f64 {
    fn written(&self) -> Rate {
        Rate::from_bytes_per_s(*self)
    }

    fn read(written: Rate) -> Option<Self> {
        Some(written.bytes_per_s())
    }
}

impl Written<Size> for usize {
    fn written(&self) -> Size {
        Size::new(*self as u64)
    }

    fn read(written: Size) -> Option<Self> {
        written.bytes().try_into().ok()
    }
}

impl Written<Size> for u16 {
    fn written(&self) -> Size {
        Size::new((*self).into())
    }

    fn read(written: Size) -> Option<Self> {
        written.bytes().try_into().ok()
    }
}

impl Written<units::Duration> for Duration {
    fn written(&self) -> units::Duration {
        (*self).into()
    }

    fn read(written: units::Duration) -> Option<Self> {
        Some(written.into())
    }
}

impl Written<Vec<u8>> for Vec<Ccid> {
    fn written(&self) -> Vec<u8> {
        self.iter().map(|ccid| ccid.number()).collect()
    }

    fn read(written: Vec<u8>) -> Option<Self> {
        Some(written.into_iter().map(Ccid::new).collect())
    }
}

/// Why a text is not a valid value of a parameter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrittenError(String);

impl fmt::Display for WrittenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrittenError {}

/// The suffix of a size that is taken literally ([`Segment::Literal`]).
const LITERALLY: &str = " literally";

impl FromStr for Segment {
    type Err = WrittenError;

    /// Parses `"mean"`, `"mps"`, a size such as `"1460 B"`, or `"1460 B literally"`.
    fn from_str(text: &str) -> Result<Self, WrittenError> {
        let bytes = |size: &str| {
            let size: Size = size.parse().ok()?;
            u32::try_from(size.bytes()).ok().filter(|bytes| *bytes > 0)
        };
        let parsed = match text {
            "mean" => Some(Self::Mean),
            "mps" => Some(Self::Mps),
            size => match size.strip_suffix(LITERALLY) {
                Some(size) => bytes(size).map(Self::Literal),
                None => bytes(size).map(Self::Fixed),
            },
        };
        parsed.ok_or_else(|| {
            WrittenError(format!(
                "'{text}' is neither \"mean\", \"mps\" nor a size such as \"1460 B\" or \"1460 B literally\""
            ))
        })
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mean => f.pad("mean"),
            Self::Mps => f.pad("mps"),
            Self::Fixed(bytes) => Size::new(bytes.into()).fmt(f),
            Self::Literal(bytes) => write!(f, "{}{LITERALLY}", Size::new(bytes.into())),
        }
    }
}

text_setting!(
    Segment,
    "segment",
    "1460 B",
    r"^(mean|mps|\s*[0-9].*B( literally)?\s*)$"
);

impl FromStr for FeedbackRate {
    type Err = WrittenError;

    /// Parses `"10 per rtt"`, or the time from one report to the next such as `"100 ms"`.
    fn from_str(text: &str) -> Result<Self, WrittenError> {
        let reports = text.trim().strip_suffix("per rtt").map(str::trim);
        let parsed = if let Some(reports) = reports {
            reports.parse().ok().map(Self::PerRoundTrip)
        } else {
            let time: Option<fairwire_units::Duration> = text.parse().ok();
            time.map(|time| Self::Every(time.into()))
        };
        let some = |it: &Self| !matches!(it, Self::PerRoundTrip(0) | Self::Every(Duration::ZERO));
        parsed.filter(some).ok_or_else(|| {
            WrittenError(format!(
                "'{text}' is not a feedback rate: write \"10 per rtt\" (1 to 65535), or the time between two reports, such as \"100 ms\""
            ))
        })
    }
}

impl fmt::Display for FeedbackRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PerRoundTrip(reports) => f.pad(&format!("{reports} per rtt")),
            Self::Every(time) => fairwire_units::Duration::from(time).fmt(f),
        }
    }
}

text_setting!(
    FeedbackRate,
    "feedback-rate",
    "10 per rtt",
    r"^\s*[0-9].*(per rtt|s)\s*$"
);

#[cfg(test)]
mod tests {
    use super::{FeedbackRate, Segment};

    /// A printed rate is read back; zero and a number without a unit are refused, with a valid example in the error.
    #[test]
    fn written_and_read() {
        for text in ["1 per rtt", "10 per rtt", "65535 per rtt", "100ms"] {
            let feedback: FeedbackRate = text.parse().expect(text);
            assert_eq!(feedback.to_string(), text);
        }
        for text in [
            "0 per rtt",
            "65536 per rtt",
            "10",
            "0 s",
            "often",
            "-1 per rtt",
        ] {
            let error = text.parse::<FeedbackRate>().expect_err(text);
            assert!(error.to_string().contains("10 per rtt"), "{error}");
        }
    }

    /// A printed segment size is read back; a size of zero is refused.
    #[test]
    fn segments_are_read_back() {
        for segment in [
            Segment::Mean,
            Segment::Mps,
            Segment::Fixed(1_460),
            Segment::Literal(1_460),
        ] {
            assert_eq!(segment.to_string().parse(), Ok(segment));
        }
        assert!("0 B".parse::<Segment>().is_err());
    }
}
