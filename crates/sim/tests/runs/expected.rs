//! What the runs of a scenario can measure.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fairwire_scenario::{Adjust, Cell, Metric};
use fairwire_sim::expected;
use fairwire_sim::results::WHOLE;

use super::{cells, once, ours};

const SCENARIO: &str = r#"
    title = "A call beside TCP"
    [run]
    duration = "4 s"
    [topology]
    kind = "dumbbell"
    access = { rate = "100 Mbit/s", delay = "1 ms" }
    bottleneck = { rate = "500 kbit/s", delay = "5 ms", queue = "5 packets", loss = "1 %" }
    [measure]
    windows.late = { from = "2 s" }
    playout = "100 ms"
    baseline = "whole"
    [flows.call]
    codec = "g711"
    traffic = "cbr"
    dccp = { ccid = 3 }
    [flows.tcp]
    wire = "1500 B"
    traffic = "greedy"
    total = "50 kB"
    tcp = {}
"#;

/// Whatever a run has was expected, and every metric that was expected of links or of whole runs is there.
#[test]
fn a_run_has_what_is_expected() {
    let cells = cells(SCENARIO, &lasting("4s"));
    let seen = seen(&cells);
    for metric in Metric::ALL.iter().copied() {
        let has = |kind| seen.contains(&(metric, kind));
        let there = expected(&cells[0].scenario, metric).expect("a network");
        let is_of_links = there.iter().any(|(subject, _)| subject.kind() == "link");
        assert_eq!(has("link"), is_of_links, "{metric}");
        if !there.is_empty() && there.iter().all(|(_, window)| window == WHOLE) {
            assert!(has("flow"), "{metric}");
        }
    }
}

/// So does a run of each scenario that Fairwire comes with.
#[test]
fn every_scenario_has_what_is_expected() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).expect("the scenarios");
    let names = files.map(|entry| PathBuf::from(entry.expect("an entry").file_name()));
    for name in names.filter(|it| it.extension().is_some_and(|it| it == "toml")) {
        if name.as_os_str() != "digests.toml" {
            assert!(!seen(&ours(&name, &lasting("3s"))).is_empty());
        }
    }
}

fn lasting(duration: &str) -> Adjust {
    Adjust {
        duration: Some(duration.parse().expect("a time")),
        ..Adjust::default()
    }
}

/// Runs the first cell, checks that its values were expected, and returns which metrics flows and links have in the whole
/// run.
fn seen(cells: &[Cell]) -> BTreeSet<(Metric, &'static str)> {
    let scenario = &cells[0].scenario;
    let result = once(scenario, 1);
    for value in &result.values {
        let there = expected(scenario, value.metric).expect("a network");
        let pair = (value.subject.clone(), value.window.clone());
        assert!(there.contains(&pair), "{pair:?} has {}", value.metric);
    }
    let whole = result.values.iter().filter(|it| it.window == WHOLE);
    whole.map(|it| (it.metric, it.subject.kind())).collect()
}
