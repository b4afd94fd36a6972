//! The values of axes as numbers.
//!
//! An axis comes from a file or a command line, so its values are texts. Those that mean numbers are numbers in results.

use std::str::FromStr;

use fairwire_units::{Duration, Packets, Percent, Rate, Size};
use serde_json::Value;

/// An axis: its name, and what its values mean.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The name of the axis.
    pub name: String,
    /// What its values mean.
    pub kind: AxisKind,
}

/// What the values of an axis mean: the first of these that all of them are.
#[derive(Clone, Copy, Debug)]
pub enum AxisKind {
    /// Whole numbers.
    Integers,
    /// Numbers.
    Numbers,
    /// True and false.
    Flags,
    /// Numbers with a unit.
    Quantities(Unit),
    /// Texts.
    Texts,
}

/// The unit in which quantities are numbers.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// The end of the names of such numbers, as `_bit_per_s`.
    pub suffix: &'static str,
    read: fn(&str) -> Option<f64>,
}

impl Unit {
    /// Returns a quantity as a number in this unit.
    pub fn number(self, text: &str) -> Option<f64> {
        (self.read)(text)
    }
}

/// The units of quantities.
const UNITS: [Unit; 5] = [
    unit("_s", |text| read(text, Duration::as_secs_f64)),
    unit("_bit_per_s", |text| {
        read(text, |it: Rate| it.bits_per_s() as f64)
    }),
    unit("_bytes", |text| read(text, |it: Size| it.bytes() as f64)),
    unit("_packets", |text| read(text, |it: Packets| f64::from(it.0))),
    unit("_percent", |text| {
        // As it is written: a fraction times a hundred may have other digits.
        Percent::from_str(text).ok()?;
        text.trim().strip_suffix('%')?.trim().parse().ok()
    }),
];

const fn unit(suffix: &'static str, read: fn(&str) -> Option<f64>) -> Unit {
    Unit { suffix, read }
}

fn read<T: FromStr>(text: &str, number: impl Fn(T) -> f64) -> Option<f64> {
    text.parse().ok().map(number)
}

/// Returns the number that a text is.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|it: &f64| it.is_finite())
}

impl Axis {
    /// Returns the axis that has these values.
    pub fn new<'a>(name: &str, values: &(impl Iterator<Item = &'a str> + Clone)) -> Self {
        let all = |is: &dyn Fn(&str) -> bool| values.clone().all(is);
        let kind = if all(&|it| it.parse::<i64>().is_ok()) {
            AxisKind::Integers
        } else if all(&|it| number(it).is_some()) {
            AxisKind::Numbers
        } else if all(&|it| it.parse::<bool>().is_ok()) {
            AxisKind::Flags
        } else {
            let unit = UNITS
                .into_iter()
                .find(|unit| all(&|it| unit.number(it).is_some()));
            unit.map_or(AxisKind::Texts, AxisKind::Quantities)
        };
        Self {
            name: name.to_owned(),
            kind,
        }
    }

    /// Returns the axes of cells, each once, in the order in which they appear. A cell has the names of its axes with its
    /// values.
    pub fn of<'a>(cells: &(impl Iterator<Item = &'a [(String, String)]> + Clone)) -> Vec<Self> {
        let mut axes: Vec<Self> = Vec::new();
        for (name, _) in cells.clone().flatten() {
            if axes.iter().all(|axis| axis.name != *name) {
                let values = cells.clone().flatten().filter(|(other, _)| other == name);
                axes.push(Self::new(name, &values.map(|(_, value)| value.as_str())));
            }
        }
        axes
    }

    /// Returns a value of the axis as JSON, by its name. A quantity is a text, and beside it a number, whose name ends with
    /// the unit.
    pub fn json(&self, text: &str) -> impl Iterator<Item = (String, Value)> {
        let (value, more) = match self.kind {
            AxisKind::Integers => (text.parse::<i64>().ok().map(Value::from), None),
            AxisKind::Numbers => (number(text).map(Value::from), None),
            AxisKind::Flags => (text.parse::<bool>().ok().map(Value::from), None),
            AxisKind::Quantities(unit) => (None, unit.number(text).map(|it| (unit.suffix, it))),
            AxisKind::Texts => (None, None),
        };
        let value = value.unwrap_or_else(|| Value::from(text));
        let more = more.map(|(suffix, number)| (format!("{}{suffix}", self.name), number.into()));
        [(self.name.clone(), value)].into_iter().chain(more)
    }
}
