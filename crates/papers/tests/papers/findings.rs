//! What the first page of the report says of each paper, and the verdicts that it rests on.

use fairwire_paper::{Overview, Paper, Verdict};
use fairwire_sim::results::Results;

use crate::{Verdicts, load, quick};

/// Each sentence of a finding, and each part of it between semicolons, rests on verdicts, which quick runs have.
fn stands(name: &str) {
    stands_at(&quick(name), None);
}

/// Like [`stands`], with the runs at one point of the paper's sweep. One point at which a claim fails decides that it
/// has a condition; all points would take minutes.
fn stands_at(paper: &Paper, point: Option<&str>) {
    let name = &paper.name;
    let overview = paper.overview.as_ref().expect("an overview");
    assert_eq!(without_ground(overview), Vec::<&str>::new(), "{name}");
    let swept = paper.cells.iter().map(|cell| cell.name.as_str());
    let swept = swept.filter(|cell| point.is_some_and(|point| cell.ends_with(point)));
    let cells: Vec<&str> = paper.cells_of_overview().into_iter().chain(swept).collect();
    let verdicts = Verdicts::after(paper, &cells);
    assert_eq!(overview.unfounded(&verdicts.0), []);
    for id in overview.rests_on.iter().flat_map(|it| it.verdicts.keys()) {
        assert_ne!(*verdicts.of(id), Verdict::NotRun, "{id}");
    }
}

/// Returns the parts of an answer in which nothing rests on a verdict.
fn without_ground(overview: &Overview) -> Vec<&str> {
    let found = overview.found.trim().trim_end_matches('.');
    let parts = found.split(". ").flat_map(|it| it.split("; "));
    let is_without = |part: &&str| {
        let mut grounds = overview.rests_on.iter();
        !grounds.any(|ground| part.contains(&ground.says))
    };
    parts.filter(is_without).collect()
}

#[test]
fn of_voip() {
    stands("voip");
}

#[test]
fn of_satellite() {
    stands("satellite");
}

#[test]
fn of_queue_size() {
    // Two seeds already have these verdicts. A run at 5096 kbit/s has 360,000 packets.
    stands_at(&load("queue-size", true, Some(2)), None);
}

#[test]
fn of_long_delay() {
    stands("long-delay");
}

#[test]
fn of_wifi_handoff() {
    stands_at(
        &quick("wifi-handoff"),
        Some("-at-router-10Mbit-radio-54Mbit-outage-1s"),
    );
}

/// A verdict that differs is told with the statement that rested on it; a claim that was not run is not.
#[test]
fn a_statement_that_does_not_stand_is_told() {
    let paper = quick("satellite");
    let mut overview = paper.overview.clone().expect("an overview");
    let judged = paper.judge(&Results::default());
    assert_eq!(overview.unfounded(&judged), []);
    // The equation needs no run.
    overview.rests_on[0].verdicts = [("S2-D1".to_owned(), "not reproduced".to_owned())].into();
    let told = overview.unfounded(&judged);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].says, "TCP is ahead here, too");
    assert_eq!(told[0].found, "reproduced");
}
