//! Axes as columns of tables.

use arrow_schema::DataType;
use fairwire_sim::results::Axis;
use fairwire_sweep::axis_columns;

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
