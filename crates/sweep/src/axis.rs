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
