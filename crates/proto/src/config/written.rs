//! The forms of settings in files, where the type alone does not tell.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::num::NonZeroU16;
use std::time::Duration;

use fairwire_units::{self as units, Rate, Size};
use fairwire_wire::Ccid;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
