//! The values of axes as columns of tables.
//!
//! An axis comes from a file or a command line, so its values are texts. Those that mean numbers are numbers in tables.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array};
use fairwire_units::{Duration, Packets, Percent, Rate, Size};

use crate::columns::{Column, labels, numbers};

/// An axis: its name, and what its values mean.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The name of the axis.
    pub name: String,
    kind: Kind,
}

/// What the values of an axis mean: the first of these that all of them are.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Integers,
    Numbers,
    Flags,
    /// Numbers with a unit.
    Quantities(Unit),
    Texts,
}

/// The unit in which quantities are numbers, as the end of a name; and how they become numbers.
type Unit = (&'static str, fn(&str) -> Option<f64>);

/// The units of quantities.
const UNITS: [Unit; 5] = [
    ("_s", |text| read(text, Duration::as_secs_f64)),
    ("_bit_per_s", |text| {
        read(text, |it: Rate| it.bits_per_s() as f64)
    }),
    ("_bytes", |text| read(text, |it: Size| it.bytes() as f64)),
    ("_packets", |text| read(text, |it: Packets| f64::from(it.0))),
    ("_percent", |text| {
        // As it is written: a fraction times a hundred may have other digits.
        Percent::from_str(text).ok()?;
        text.trim().strip_suffix('%')?.trim().parse().ok()
    }),
];

fn read<T: FromStr>(text: &str, number: impl Fn(T) -> f64) -> Option<f64> {
    text.parse().ok().map(number)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|it: &f64| it.is_finite())
}

impl Axis {
    /// Returns the axis that has these values.
    pub fn new<'a>(name: &str, values: &(impl Iterator<Item = &'a str> + Clone)) -> Self {
        let all = |is: &dyn Fn(&str) -> bool| values.clone().all(is);
        let kind = if all(&|it| it.parse::<i64>().is_ok()) {
            Kind::Integers
        } else if all(&|it| number(it).is_some()) {
            Kind::Numbers
        } else if all(&|it| it.parse::<bool>().is_ok()) {
            Kind::Flags
        } else {
            let unit = UNITS
                .into_iter()
                .find(|(_, read)| all(&|it| read(it).is_some()));
            unit.map_or(Kind::Texts, Kind::Quantities)
        };
        Self {
            name: name.to_owned(),
            kind,
        }
    }

    /// Returns its columns: integers, numbers, true and false, or texts. Quantities are texts, and in a second column, whose
    /// name ends with the unit, numbers.
    pub fn columns<'a>(
        &self,
        values: impl Iterator<Item = Option<&'a str>> + Clone,
    ) -> Vec<Column> {
        let column = |values: ArrayRef| vec![(self.name.clone(), values)];
        match self.kind {
            Kind::Integers => {
                let values = values.map(|it| it?.parse().ok());
                column(Arc::new(values.collect::<Int64Array>()))
            }
            Kind::Numbers => vec![numbers(&self.name, values.map(|it| number(it?)))],
            Kind::Flags => {
                let values = values.map(|it| it?.parse().ok());
                column(Arc::new(values.collect::<BooleanArray>()))
            }
            Kind::Quantities((unit, read)) => {
                let name = format!("{}{unit}", self.name);
                let texts = values.clone().map(Option::unwrap_or_default);
                vec![
                    labels(&self.name, texts),
                    numbers(&name, values.map(|it| read(it?))),
                ]
            }
            Kind::Texts => vec![labels(&self.name, values.map(Option::unwrap_or_default))],
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::Axis;

    /// Numbers are numbers; quantities have a column of numbers beside that of texts; a mixture is texts.
    #[test]
    fn values_have_the_types_that_they_mean() {
        let types = |values: &[&str]| {
            let axis = Axis::new("x", &values.iter().copied());
            let columns = axis.columns(values.iter().map(|it| Some(*it)));
            let types = columns
                .iter()
                .map(|(name, column)| (name.clone(), column.data_type().clone()));
            types.collect::<Vec<_>>()
        };
        let x = |kind| ("x".to_owned(), kind);
        assert_eq!(types(&["2", "-3"]), [x(DataType::Int64)]);
        assert_eq!(types(&["2", "0.5"]), [x(DataType::Float64)]);
        assert_eq!(types(&["true", "false"]), [x(DataType::Boolean)]);
        for (values, name) in [
            (["5 ms", "1 s"], "x_s"),
            (["2 Mbit/s", "1 Gbit/s"], "x_bit_per_s"),
            (["5 kB", "1 MiB"], "x_bytes"),
            (["1 packet", "20 packets"], "x_packets"),
            (["0.1 %", "7 %"], "x_percent"),
        ] {
            let types = types(&values);
            assert!(matches!(types[0].1, DataType::Dictionary(..)), "{name}");
            assert_eq!(types[1], (name.to_owned(), DataType::Float64));
        }
        for values in [["20 packets", "codel"], ["2", "x"], ["1 s", "1 B"]] {
            assert_eq!(types(&values).len(), 1, "{values:?}");
        }
    }
}
