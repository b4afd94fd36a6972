//! The values of axes as columns of tables.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array};
use fairwire_sim::results::{Axis, AxisKind};

use crate::columns::{Column, labels, numbers};

/// Returns the columns of an axis: integers, numbers, true and false, or texts. Quantities are texts, and in a second
/// column, whose name ends with the unit, numbers.
pub fn axis_columns<'a>(
    axis: &Axis,
    values: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Vec<Column> {
    let column = |values: ArrayRef| vec![(axis.name.clone(), values)];
    match axis.kind {
        AxisKind::Integers => {
            let values = values.map(|it| it?.parse().ok());
            column(Arc::new(values.collect::<Int64Array>()))
        }
        AxisKind::Numbers => {
            let values = values.map(|it| it?.parse().ok());
            column(Arc::new(values.collect::<Float64Array>()))
        }
        AxisKind::Flags => {
            let values = values.map(|it| it?.parse().ok());
            column(Arc::new(values.collect::<BooleanArray>()))
        }
        AxisKind::Quantities(unit) => {
            let name = format!("{}{}", axis.name, unit.suffix);
            let texts = values.clone().map(Option::unwrap_or_default);
            vec![
                labels(&axis.name, texts),
                numbers(&name, values.map(|it| unit.number(it?))),
            ]
        }
        AxisKind::Texts => vec![labels(&axis.name, values.map(Option::unwrap_or_default))],
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use fairwire_sim::results::Axis;

    use super::axis_columns;

    /// Numbers are numbers; quantities have a column of numbers beside that of texts; a mixture is texts.
    #[test]
    fn values_have_the_types_that_they_mean() {
        let types = |values: &[&str]| {
            let axis = Axis::new("x", &values.iter().copied());
            let columns = axis_columns(&axis, values.iter().map(|it| Some(*it)));
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
