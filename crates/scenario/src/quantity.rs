//! Quantities that only scenarios use, and tables of named items.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use fairwire_units::{Duration, text_setting};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// The reason why a text is not a valid quantity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct QuantityError(String);

impl QuantityError {
    /// Returns an error with this message.
    pub(super) const fn new(message: String) -> Self {
        Self(message)
    }
}

/// The least retransmission timeout: a time, or `"ns2"` for the one second of ns-2's agents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MinRto {
    /// One second, as in ns-2's DCCP and early TCP agents.
    Ns2,
    /// This time.
    Time(Duration),
}

impl MinRto {
    /// Returns the time.
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

/// The largest random delay of flows' starts: `"rtt"`, `"none"` or a time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum StartOffset {
    /// One round trip of the flow's empty path.
    #[default]
    Rtt,
    /// No random delay.
    None,
    /// This time.
    UpTo(Duration),
}

impl FromStr for StartOffset {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text {
            "none" => Ok(Self::None),
            "rtt" => Ok(Self::Rtt),
            time => time.parse().map(Self::UpTo).map_err(|_| {
                QuantityError(format!(
                    "'{text}' is neither \"rtt\", \"none\" nor a time as \"100 ms\""
                ))
            }),
        }
    }
}

impl fmt::Display for StartOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Rtt => f.pad("rtt"),
            Self::UpTo(time) => time.fmt(f),
        }
    }
}

/// Items by name, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// Returns the item called `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, thing)| thing)
    }

    /// Returns names and items in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, thing)| (name.as_str(), thing))
    }

    /// Returns whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("named-{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let thing = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": thing })
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

text_setting!(MinRto, "min-rto", "200 ms", r"^(ns2|\s*[0-9].*s\s*)$");

text_setting!(
    StartOffset,
    "start-offset",
    "100 ms",
    r"^(auto|none|rtt|\s*[0-9].*s\s*)$"
);
