//! Values of axes as JSON.

use fairwire_sim::results::Axis;
use serde_json::{Map, Value, json};

/// Numbers are numbers if all values of the axis are; quantities are numbers in the unit that the name ends with, and
/// what is of several kinds is text.
#[test]
fn values_are_the_json_that_they_mean() {
    let of = |values: &[&str]| {
        let cells: Vec<Vec<(String, String)>> = values
            .iter()
            .map(|value| vec![("x".to_owned(), (*value).to_owned())])
            .collect();
        let axes = Axis::of(&cells.iter().map(Vec::as_slice));
        assert_eq!(axes.len(), 1);
        Value::Object(axes[0].json(values[0]).collect::<Map<_, _>>())
    };
    assert_eq!(of(&["2", "-3"]), json!({"x": 2}));
    assert_eq!(of(&["2", "0.5"]), json!({"x": 2.0}));
    assert_eq!(of(&["true", "false"]), json!({"x": true}));
    assert_eq!(of(&["5 ms", "1 s"]), json!({"x": "5 ms", "x_s": 0.005}));
    assert_eq!(
        of(&["2 Mbit/s"]),
        json!({"x": "2 Mbit/s", "x_bit_per_s": 2e6})
    );
    assert_eq!(
        of(&["1 packet", "2 packets"]),
        json!({"x": "1 packet", "x_packets": 1.0})
    );
    assert_eq!(of(&["0.1 %"]), json!({"x": "0.1 %", "x_percent": 0.1}));
    for values in [["20 packets", "codel"], ["2", "y"], ["1 s", "1 B"]] {
        assert_eq!(of(&values), json!({"x": values[0]}), "{values:?}");
    }
}
