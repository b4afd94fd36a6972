//! What must be seen in a short form.

use fairwire_lab::paper::{Paper, Verdict};

use crate::{Verdicts, first_runs, quick};

/// The claims of the paper, those that a version of TCP has of its own, what is derived from its numbers.
const CLAIMS: &[&str] = &[
    "S1-C1",
    "S1-C1t",
    "S1-C2",
    "S1-C3",
    "S1-C3-Tahoe",
    "S1-C3-Reno",
    "S1-C3-NewReno",
    "S1-C3-SACK",
    "S1-C3-Vegas",
    "S1-C4",
    "S1-C4b",
    "S1-C5",
    "S1-C6",
    "S1-C6a",
    "S1-C6b",
    "S1-C6c",
    "S1-C6d",
    "S1-C7",
    "S1-C8",
    "S1-C9",
    "S1-C10",
    "S1-C10v",
    "S1-C11",
    "S1-C12",
    "S1-D1",
    "S1-D2",
    "S1-D3",
    "S1-D4",
];

/// What decides about the idle delay, UDP, Vegas and CCID 4: scenario A.
const JOINS: usize = 15;

/// The cells of scenario A.
fn joins(paper: &Paper) -> Vec<&str> {
    let cells = &paper.cells[..JOINS];
    cells.iter().map(|cell| cell.name.as_str()).collect()
}

/// In three seeds of scenario A: an idle frame takes 73 ms, UDP keeps at least 90 %, Vegas leaves most beside one and two
/// TCPs, CCID 4 lifts the ratio. All ids are there; what the paper says against itself is found in its numbers; a claim
/// about cells that were not run is not judged.
#[test]
fn what_must_be_seen_is_seen() {
    let paper = quick("voip");
    let verdicts = Verdicts::after(&paper, &joins(&paper));
    verdicts.are_of(CLAIMS);
    for id in ["S1-C1", "S1-C4b", "S1-C6a", "S1-D4"] {
        assert_eq!(*verdicts.of(id), Verdict::Reproduced, "{id}");
    }
    assert!(matches!(verdicts.of("S1-D3"), Verdict::Condition(_)));
    for id in ["S1-C6d", "S1-C9"] {
        assert_eq!(*verdicts.of(id), Verdict::Contradiction, "{id}");
    }
    assert_eq!(*verdicts.of("S1-C8"), Verdict::NotRun);
}

/// What paces the call is its frame of 80 bytes; 36 of IP and DCCP come on top, or 28 of IP and UDP.
#[test]
fn a_frame_has_real_headers() {
    for cell in &quick("voip").cells[..JOINS] {
        let (_, call) = cell.scenario.enabled_flows().next().expect("a flow");
        let headers = if call.dccp.is_some() { 36 } else { 28 };
        assert_eq!(call.payload_bytes(), 80, "{}", cell.name);
        assert_eq!(call.wire_bytes(), 80 + headers, "{}", cell.name);
    }
}

/// The golden digests of scenario A hold in this build, as they do in a release.
#[test]
fn golden_digests_of_scenario_a_hold() {
    let paper = quick("voip");
    first_runs(&paper, &joins(&paper));
}
