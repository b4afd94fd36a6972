//! The axes of charts.

use fairwire_paper::Scale;
use fairwire_report::Axis;

fn axis(scale: Scale, bounds: (f64, f64)) -> Axis {
    Axis::new(scale, bounds, (None, None), 100.0, 5)
}

/// An axis begins at zero if its values are near zero, and ends at a round number above the greatest value.
#[test]
fn linear_axes_have_round_ticks() {
    let near = axis(Scale::Linear, (210.0, 1396.0));
    let labels: Vec<String> = near.ticks.iter().map(|tick| near.label(*tick)).collect();
    assert_eq!(labels, ["0", "500", "1000", "1500"]);
    assert_eq!(near.place(750.0), 50.0);
    let far = axis(Scale::Linear, (309.0, 312.0));
    assert!(far.ticks[0] > 300.0, "{:?}", far.ticks);
    let small = axis(Scale::Linear, (0.0, 0.021));
    assert_eq!(small.label(small.ticks[1]), "0.005");
}

/// Equal ratios are equally far apart on a logarithmic axis, and zero cannot be shown.
#[test]
fn log_axes_show_ratios() {
    let log = axis(Scale::Log, (10.0, 1000.0));
    assert!((log.place(100.0) - 50.0).abs() < 1e-9);
    assert!(!log.shows(0.0) && log.shows(1.0));
}

/// A single value gives an axis with a position for it.
#[test]
fn a_single_value_has_its_place() {
    for value in [0.0, 5.0, -3.0] {
        let single = axis(Scale::Linear, (value, value));
        assert!(single.place(value).is_finite());
        assert!(single.ticks.len() >= 2, "{:?}", single.ticks);
    }
}
