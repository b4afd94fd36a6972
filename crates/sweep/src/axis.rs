//! The values of axes as columns of tables.

use fairwire_sim::results::{Axis, AxisKind};

use crate::columns::{Column, Values, labels, numbers};

/// Returns the columns of an axis: integers, numbers, true and false, or texts. Quantities are texts, and in a second
/// column, whose name ends with the unit, numbers.
pub fn axis_columns<'a>(
    axis: &Axis,
    values: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Vec<Column> {
    let column = |values| vec![(axis.name.clone(), values)];
    match axis.kind {
        AxisKind::Integers => column(Values::Integers(
            values.map(|it| it?.parse().ok()).collect(),
        )),
        AxisKind::Numbers => column(Values::Numbers(values.map(|it| it?.parse().ok()).collect())),
        AxisKind::Flags => column(Values::Flags(values.map(|it| it?.parse().ok()).collect())),
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
