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

/// The form `Q` of a setting in files: a path for `#[serde(with = "...")]`, which states the schema, too.
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

macro_rules! written {
    ($($type:ty as $form:ty: |$value:ident| $written:expr, |$read:ident| $back:expr;)*) => {
        $(impl Written<$form> for $type {
            fn written(&self) -> $form {
                let $value = self;
                $written
            }

            fn read($read: $form) -> Option<Self> {
                $back
            }
        })*
    };
}

written! {
    usize as units::Packets: |n| packets(*n), |n| n.0.try_into().ok();
    u64 as units::Packets: |n| packets(*n), |n| Some(n.0.into());
    NonZeroU16 as units::Packets: |n| packets(n.get()), |n| Self::new(n.0.try_into().ok()?);
    f64 as units::Packets: |n| whole(*n), |n| Some(n.0.into());
    Rate as Rate: |rate| *rate, |rate| Some(rate);
    f64 as Rate: |rate| Rate::from_bytes_per_s(*rate), |rate| Some(rate.bytes_per_s());
    usize as Size: |bytes| Size::new(*bytes as u64), |size| size.bytes().try_into().ok();
    u16 as Size: |bytes| Size::new((*bytes).into()), |size| size.bytes().try_into().ok();
    Duration as units::Duration: |time| (*time).into(), |time| Some(time.into());
    Vec<Ccid> as Vec<u8>: |ccids| ccids.iter().map(|ccid| ccid.number()).collect(),
        |numbers| Some(numbers.into_iter().map(Ccid::new).collect());
}

fn packets(number: impl TryInto<u32>) -> units::Packets {
    units::Packets(number.try_into().unwrap_or(u32::MAX))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-integer cast saturates"
)]
fn whole(number: f64) -> units::Packets {
    units::Packets(number as u32)
}
