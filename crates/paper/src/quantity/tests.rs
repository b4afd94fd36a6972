//! Quantities over synthetic results.

use std::collections::BTreeMap;

use fairwire_measure::Spread;

use super::{EvalContext, Measured, Written};
use crate::synthetic::{PUBLISHED, paper, results};
use crate::{Names, Unit, published};

fn measure(quantity: &str, window: &str, unit: &str, cells: &[(&str, &[(f64, f64)])]) -> Measured {
    let paper = paper("claims = []").expect("loads");
    let printed = published::read("t.csv", PUBLISHED).expect("reads");
    let published = BTreeMap::from([("t.csv".to_owned(), printed)]);
    let names = Names {
        cells: &paper.cells,
        moments: &paper.moments,
        published: &published,
    };
    let written: Written = toml::from_str(quantity).expect("parses");
    let quantity = written.resolve(&names).expect("resolves");
    let results = results(&paper, cells);
    let context = EvalContext {
        results: &results,
        moments: &paper.moments,
    };
    quantity.measure(&context, window, Unit::find(unit).expect("a unit"))
}

const RATIO: &str = r#"ratio = [
    { cell = "b", flow = "dccp", metric = "throughput" },
    { cell = "a", flow = "dccp", metric = "throughput" },
]"#;

/// A value is a mean over seeds in the requested unit, with its interval and the unperturbed run.
#[test]
fn values_are_means_over_seeds() {
    let quantity = "cell = \"a\"\nflow = \"dccp\"\nmetric = \"throughput\"";
    let measured = measure(
        quantity,
        "late",
        "kbit/s",
        &[("a", &[(1.0, 100.0), (1.0, 104.0)])],
    );
    let estimate = measured.estimate.expect("two seeds");
    assert!((estimate.mean - 102.0).abs() < 1e-9);
    // Student's t for one degree of freedom is 12.706; s / sqrt(2) is 2.
    let Spread::HalfWidth(half) = estimate.spread else {
        panic!("two values differ");
    };
    assert!((half - 25.41).abs() < 0.01, "{half}");
    assert_eq!(measured.unperturbed, Some(100.0));
    assert_eq!(measured.text(), "102 ± 25", "two digits of the interval");
}

/// A ratio is taken seed by seed, so what both cells share in a seed cancels.
///
/// A seed that only one of them has is left out.
#[test]
fn ratios_are_paired_by_seed() {
    let cells: &[(&str, &[(f64, f64)])] = &[
        ("a", &[(100.0, 0.0), (200.0, 0.0)]),
        ("b", &[(150.0, 0.0), (300.0, 0.0), (900.0, 0.0)]),
    ];
    let measured = measure(RATIO, "whole", "", cells);
    let estimate = measured.estimate.expect("two pairs");
    assert_eq!((estimate.mean, estimate.count), (1.5, 2));
    assert_eq!(estimate.spread, Spread::None);
    let never = measure(RATIO, "late", "", cells);
    assert_eq!(never.value(), None, "nothing is divided by zero");
    let above = "throughput of dccp in b";
    let below = "throughput of dccp in a";
    assert_eq!(measured.label, format!("ratio of {above} to {below}"));
    let sum = format!("ratio = [{{ sum = [{{ {RATIO} }}, {{ {RATIO} }}] }}, {{ {RATIO} }}]")
        .replace('\n', "");
    let ratio = format!("(ratio of {above} to {below})");
    assert_eq!(
        measure(&sum, "whole", "", cells).label,
        format!("ratio of ({ratio} + {ratio}) to {ratio}")
    );
    assert_eq!(never.text(), "no value");
}

/// The equation takes a time and a share, and refuses other units.
#[test]
fn the_equation_needs_a_time_and_a_share() {
    let paper = paper("claims = []").expect("loads");
    let published = BTreeMap::new();
    let names = Names {
        cells: &paper.cells,
        moments: &paper.moments,
        published: &published,
    };
    let part = |metric: &str| {
        format!("{{ cell = \"a\", flow = \"dccp\", metric = \"{metric}\", window = \"late\" }}")
    };
    let resolve = |rtt: &str, p: &str| {
        let (rtt, p) = (part(rtt), part(p));
        let written: Written =
            toml::from_str(&format!("tfrc = {{ bytes = 500, rtt = {rtt}, p = {p} }}"))
                .expect("parses");
        written.resolve(&names).map(|quantity| quantity.base_unit())
    };
    assert_eq!(resolve("srtt_mean", "loss"), Ok("bit/s"));
    assert!(
        resolve("loss", "loss")
            .expect_err("no time")
            .contains("time")
    );
    assert!(
        resolve("srtt_mean", "throughput")
            .expect_err("no share")
            .contains("share")
    );
}

/// The least of several values is taken seed by seed.
#[test]
fn the_least_of_several() {
    let least = RATIO.replace("ratio", "least");
    let measured = measure(
        &least,
        "late",
        "kbit/s",
        &[
            ("a", &[(0.0, 3.0), (0.0, 9.0)]),
            ("b", &[(0.0, 5.0), (0.0, 5.0)]),
        ],
    );
    assert_eq!(measured.value(), Some(4.0), "3 and 5");
}

const DISTANCE: &str = r#"
[distance]
published = "t.csv"
cells = ["a", "b"]
flow = "dccp"
metric = "throughput"
windows = ["whole", "late"]
published_metrics = ["throughput", "throughput"]
"#;

/// The distance from the published numbers (100 and 210) is taken seed by seed.
///
/// Errors of 3, -4, 0 and 12 give sqrt(169 / 4) = 6.5; the second seed has no error.
#[test]
fn the_distance_from_what_is_printed() {
    let cells: &[(&str, &[(f64, f64)])] = &[
        ("a", &[(103.0, 96.0), (100.0, 100.0)]),
        ("b", &[(210.0, 222.0), (210.0, 210.0)]),
    ];
    let measured = measure(DISTANCE, "whole", "kbit/s", cells);
    assert_eq!(measured.label, "r.m.s. of a .. b");
    let estimate = measured.estimate.expect("two seeds");
    assert!((estimate.mean - 3.25).abs() < 1e-9, "{}", estimate.mean);
    // A cell may be compared with the published numbers of another.
    let crossed = DISTANCE.replace("flow", "published_cells = [\"b\", \"a\"]\nflow");
    let crossed = measure(
        &crossed,
        "whole",
        "kbit/s",
        &[("a", &[(210.0, 210.0)]), ("b", &[(100.0, 100.0)])],
    );
    assert_eq!(crossed.value(), Some(0.0));
}

/// Lists of different lengths are refused, and so is a number that was not published.
#[test]
fn a_distance_has_a_printed_number_for_each() {
    let names = paper("claims = []").expect("loads");
    let published = BTreeMap::new();
    let names = Names {
        cells: &names.cells,
        moments: &names.moments,
        published: &published,
    };
    let refusal = |text: &str| {
        let written: Written = toml::from_str(text).expect("parses");
        written.resolve(&names).expect_err("refused")
    };
    let short = DISTANCE.replace(", \"late\"]", "]");
    assert!(refusal(&short).contains("as many"));
    assert!(refusal(DISTANCE).contains("there is no file 't.csv' among 'published'"));
}
