//! Limits of a value, as its schema states them.

use serde_json::Value;

use super::layers::Layers;
use super::quantity::Read;

/// The bounds of a value, and the message for a value outside them.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Limits {
    bounds: Vec<Bound>,
    advice: Option<String>,
}

/// One bound.
#[derive(Clone, Debug)]
struct Bound {
    side: Side,
    /// The bound as it is written in the schema.
    text: String,
    /// The bound as a number. A quantity's is read from its text instead.
    number: Option<f64>,
}

/// The relation that a value must have to a bound.
#[derive(Clone, Copy, Debug)]
enum Side {
    AtLeast,
    Above,
    AtMost,
    Below,
    Exactly,
}

/// The keywords of bounds: those of JSON Schema, and their counterparts for quantities.
const KEYWORDS: [(&str, Side); 8] = [
    ("minimum", Side::AtLeast),
    ("exclusiveMinimum", Side::Above),
    ("maximum", Side::AtMost),
    ("exclusiveMaximum", Side::Below),
    ("minimum_quantity", Side::AtLeast),
    ("exclusive_minimum_quantity", Side::Above),
    ("maximum_quantity", Side::AtMost),
    ("exclusive_maximum_quantity", Side::Below),
];

impl Side {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::Above => value > bound,
            Self::AtMost => value <= bound,
            Self::Below => value < bound,
            Self::Exactly => value.total_cmp(&bound).is_eq(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::Above => "above",
            Self::AtMost => "at most",
            Self::Below => "less than",
            Self::Exactly => "exactly",
        }
    }
}

impl Limits {
    pub(super) fn of(schema: &Layers<'_>) -> Self {
        let mut bounds = Vec::new();
        for (keyword, side) in KEYWORDS {
            match schema.get(keyword) {
                Some(Value::String(text)) => bounds.push(Bound {
                    side,
                    text: text.clone(),
                    number: None,
                }),
                Some(Value::Number(number)) => bounds.push(Bound {
                    side,
                    text: number.to_string(),
                    number: number.as_f64(),
                }),
                _ => {}
            }
        }
        // A list of fixed length.
        let length = schema.get("minItems");
        if let Some(Value::Number(least)) = length
            && schema.get("maxItems") == length
        {
            bounds.push(Bound {
                side: Side::Exactly,
                text: least.to_string(),
                number: least.as_f64(),
            });
        }
        // The range of a Rust integer is a limit even if the schema does not state it.
        let format = schema.text("format");
        let is_bounded = schema.get("maximum").is_some();
        if let Some(most) = format.and_then(largest).filter(|_| !is_bounded) {
            bounds.push(Bound {
                side: Side::AtMost,
                text: most.to_string(),
                number: Some(most as f64),
            });
        }
        let advice = schema.text("advice");
        Self {
            bounds,
            advice: advice.map(str::to_owned),
        }
    }

    /// Returns what is wrong with the number `value`, if anything.
    pub(super) fn refuse(&self, value: f64) -> Option<String> {
        self.refuse_amount(value, None)
    }

    /// Returns what is wrong with a quantity whose amount is `value`, if anything. `read` reads its bounds.
    pub(super) fn refuse_quantity(&self, value: f64, read: Read) -> Option<String> {
        self.refuse_amount(value, Some(read))
    }

    fn refuse_amount(&self, value: f64, read: Option<Read>) -> Option<String> {
        let broken = self.bounds.iter().find(|bound| {
            let of_text = || read.and_then(|read| read(&bound.text).ok().flatten());
            let number = bound.number.or_else(of_text);
            number.is_some_and(|number| !bound.side.holds(value, number))
        })?;
        let said = format!("this must be {} {}", broken.side.words(), broken.text);
        Some(self.advice.clone().unwrap_or(said))
    }

    /// Returns the bounds in words, as in "at least 1 packet, at most 5 packets"; empty if there are none.
    pub(super) fn words(&self) -> String {
        let bounds = self.bounds.iter().filter(|bound| {
            // A limit that only follows from an integer's size is left out.
            bound.number.is_none_or(|number| number.abs() < 4e9)
                && !(matches!(bound.side, Side::AtLeast) && bound.number == Some(0.0))
        });
        let words = bounds.map(|bound| format!("{} {}", bound.side.words(), bound.text));
        words.collect::<Vec<_>>().join(", ")
    }
}

fn largest(format: &str) -> Option<u64> {
    match format {
        "uint8" => Some(u64::from(u8::MAX)),
        "uint16" => Some(u64::from(u16::MAX)),
        "uint32" => Some(u64::from(u32::MAX)),
        _ => None,
    }
}
