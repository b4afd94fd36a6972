//! Axes as columns of tables.

use fairwire_sim::results::Axis;
use fairwire_sweep::axis_columns;
use fairwire_sweep::columns::Values;

/// Numbers are numbers; quantities have a column of numbers beside that of texts; a mixture is texts.
#[test]
fn values_have_the_types_that_they_mean() {
    let kinds = |values: &[&str]| {
        let axis = Axis::new("x", &values.iter().copied());
        let columns = axis_columns(&axis, values.iter().map(|it| Some(*it)));
        let kinds = columns.into_iter().map(|(name, column)| {
            let kind = match column {
                Values::Labels { .. } => "labels",
                Values::Integers(_) => "integers",
                Values::Numbers(_) => "numbers",
                Values::Flags(_) => "flags",
                other => panic!("{other:?}"),
            };
            (name, kind)
        });
        kinds.collect::<Vec<_>>()
    };
    let x = |kind| ("x".to_owned(), kind);
    assert_eq!(kinds(&["2", "-3"]), [x("integers")]);
    assert_eq!(kinds(&["2", "0.5"]), [x("numbers")]);
    assert_eq!(kinds(&["true", "false"]), [x("flags")]);
    for (values, name) in [
        (["5 ms", "1 s"], "x_s"),
        (["2 Mbit/s", "1 Gbit/s"], "x_bit_per_s"),
        (["5 kB", "1 MiB"], "x_bytes"),
        (["1 packet", "20 packets"], "x_packets"),
        (["0.1 %", "7 %"], "x_percent"),
    ] {
        assert_eq!(kinds(&values), [x("labels"), (name.to_owned(), "numbers")]);
    }
    for values in [["20 packets", "codel"], ["2", "x"], ["1 s", "1 B"]] {
        assert_eq!(kinds(&values).len(), 1, "{values:?}");
    }
}
