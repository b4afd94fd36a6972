//! Quantities in files: texts with a unit, and a schema that describes them.
//!
//! A schema names the quantity in `format`, gives one example in `examples`, and has a `pattern` with which an editor
//! finds most mistakes. [`FromStr`] makes the final decision.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};

use crate::{Duration, Packets, Percent, Rate, Size};

/// Dependencies of [`text_setting`](crate::text_setting) for use in other crates.
#[doc(hidden)]
pub mod reexport {
    pub use {schemars, serde};
}

/// Reads a value from a text.
///
/// # Errors
/// If the input is not a text or the text is not such a value.
pub fn text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

/// Returns a meaning as one line, without the line breaks and the crate links of the source.
pub fn without_links(meaning: &str) -> String {
    let mut text = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(start) = text.find("](crate::") {
        let Some(end) = text[start..].find(')') else {
            break;
        };
        text.replace_range(start..=start + end, "");
        if let Some(open) = text[..start].rfind('[') {
            text.remove(open);
        }
    }
    text
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes with its unit")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    /// Refuses a bare number with the type's own error, which names the possible units.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Makes a type with `FromStr` and `Display` a setting: a text in files, with this schema format, example and pattern.
#[macro_export]
macro_rules! text_setting {
    ($type:ty, $format:literal, $example:literal, $pattern:expr) => {
        impl $crate::settings::reexport::serde::Serialize for $type {
            fn serialize<S: $crate::settings::reexport::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> $crate::settings::reexport::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::settings::reexport::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::settings::text(deserializer)
            }
        }

        impl $crate::settings::reexport::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $format.into()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", $format).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(
                _: &mut $crate::settings::reexport::schemars::SchemaGenerator,
            ) -> $crate::settings::reexport::schemars::Schema {
                $crate::settings::reexport::schemars::json_schema!({
                    "type": "string",
                    "format": $format,
                    "examples": [$example],
                    "pattern": $pattern,
                })
            }
        }
    };
}

/// The pattern of a [`Decimal`](crate::Decimal).
macro_rules! number {
    () => {
        r"([0-9][0-9_]*(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
    };
}

// JSON Schema already defines the formats `duration` and `time` with other meanings.
text_setting!(
    Duration,
    "timespan",
    "300 ms",
    concat!(r"^\s*", number!(), r"\s*(h|min|s|ms|us|µs|ns)\s*$")
);
text_setting!(
    Rate,
    "rate",
    "2 Mbit/s",
    concat!(r"^\s*", number!(), r"\s*[kMG]?bit/s\s*$")
);
text_setting!(
    Size,
    "size",
    "500 B",
    concat!(r"^\s*", number!(), r"\s*([kMG]|[KMG]i)?B\s*$")
);
text_setting!(
    Packets,
    "packets",
    "20 packets",
    concat!(r"^\s*", number!(), r"\s*packets?\s*$")
);
text_setting!(
    Percent,
    "percent",
    "1 %",
    concat!(r"^\s*", number!(), r"\s*%\s*$")
);

/// `#[serde(with = "...")]` for a fraction from 0.0 to 1.0 that files state as a percentage.
pub mod fraction {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Percent;

    /// Writes the fraction as a percentage.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(part: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Percent::of(*part).serialize(serializer)
    }

    /// Reads a percentage and returns it as a fraction.
    ///
    /// # Errors
    /// If the input is not a percentage.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Percent::deserialize(deserializer).map(Percent::fraction)
    }
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, SchemaGenerator};
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use crate::{Duration, Packets, Percent, Rate, Size};

    /// Checks that a quantity is written as text and that its schema has the format and a readable example.
    fn is_text<T>(value: &T, format: &str)
    where
        T: Serialize + for<'de> Deserialize<'de> + JsonSchema + PartialEq + std::fmt::Debug,
    {
        let written = serde_json::to_value(value).expect("writes");
        assert!(written.is_string(), "{written}");
        let read: T = serde_json::from_value(written).expect("reads");
        assert_eq!(&read, value);
        let schema = T::json_schema(&mut SchemaGenerator::default()).to_value();
        assert_eq!(schema["type"], "string");
        assert_eq!(schema["format"], format);
        let example: Value = schema["examples"][0].clone();
        serde_json::from_value::<T>(example).expect("the example reads");
        let bare = serde_json::from_value::<T>(json!(5)).expect_err("no unit");
        assert!(bare.to_string().contains("'5'"), "{bare}");
    }

    /// Each quantity is written with its unit and has a schema with its format.
    #[test]
    fn quantities_are_texts() {
        is_text(&Duration::from_millis(1_500), "timespan");
        is_text(&Rate::from_bits_per_s(2_500_000), "rate");
        is_text(&Size::new(1_040), "size");
        is_text(&Packets(1), "packets");
        is_text(&Percent::of(0.5), "percent");
    }
}
