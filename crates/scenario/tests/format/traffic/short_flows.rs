//! Arrivals of short flows and their sizes.

use fairwire_net::Streams;
use fairwire_scenario::traffic::{
    Arrival, FlowContext, PacketShape, ShortFlows, Sizes, TrafficModel,
};
use fairwire_units::{Duration, Size};

const COUNT: u32 = 20_000;

fn drawn(sizes: Sizes) -> Vec<Arrival> {
    let flows = ShortFlows {
        every: Duration::from_millis(100),
        sizes,
    };
    let flow = FlowContext::new("web", PacketShape::new(1_000), Streams::new(1));
    let mut arrivals = flows.arrivals(&flow).expect("flows arrive");
    (0..COUNT).map(|_| arrivals.next()).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() / f64::from(COUNT)
}

/// Times and sizes have the stated means, within four standard errors. Their random streams are independent, so
/// other sizes arrive at the same times.
#[test]
fn means_are_as_asked_for() {
    let exponential = drawn(Sizes::Exponential {
        mean: Size::new(20_000),
    });
    let bound = 4.0 / f64::from(COUNT).sqrt();
    let every = mean(exponential.iter().map(|one| one.after.as_secs_f64()));
    assert!((every / 0.1 - 1.0).abs() < bound, "{every}");
    let size = mean(exponential.iter().map(|one| one.bytes as f64));
    assert!((size / 20_000.0 - 1.0).abs() < bound, "{size}");
    let fixed = drawn(Sizes::Fixed { size: Size::new(7) });
    assert!(fixed.iter().all(|one| one.bytes == 7));
    let times = |all: &[Arrival]| all.iter().map(|one| one.after).collect::<Vec<_>>();
    assert_eq!(times(&fixed), times(&exponential));
}

/// With a uniform distribution both bounds occur and nothing beyond them, and the mean is half-way between.
#[test]
fn uniform_sizes_lie_between_their_bounds() {
    let all = drawn(Sizes::Uniform {
        least: Size::new(30),
        most: Size::new(50),
    });
    let sizes = || all.iter().map(|one| one.bytes);
    assert_eq!((sizes().min(), sizes().max()), (Some(30), Some(50)));
    let size = mean(sizes().map(|bytes| bytes as f64));
    // Four standard errors: 4 * sqrt((21^2 - 1) / 12 / 20000) = 0.17.
    assert!((size - 40.0).abs() < 0.17, "{size}");
}

/// With a bounded Pareto distribution all sizes lie within the bounds, and the share of flows above a size is as
/// computed.
#[test]
fn large_flows_are_rare() {
    let all = drawn(Sizes::Pareto {
        shape: 1.2,
        least: Size::new(4_000),
        most: Size::new(4_000_000),
    });
    let within = |one: &Arrival| (4_000..=4_000_000).contains(&one.bytes);
    assert!(all.iter().all(within));
    let cut = 1.0 - libm::pow(0.001, 1.2);
    for size in [8_000.0, 40_000.0, 400_000.0] {
        let share = mean(
            all.iter()
                .map(|one| f64::from(u8::from(one.bytes as f64 > size))),
        );
        let expected = 1.0 - (1.0 - libm::pow(4_000.0 / size, 1.2)) / cut;
        let error = (expected * (1.0 - expected) / f64::from(COUNT)).sqrt();
        assert!(
            (share - expected).abs() < 4.0 * error,
            "{size}: {share}, not {expected}"
        );
    }
}
