//! The paper wifi-handoff: its cells and claims, and its main claim.

use fairwire_sim::results::{Metric, Subject};

use crate::{load, results};

/// The claims that must have a verdict.
const CLAIMS: [&str; 24] = [
    "S0-C1a", "S0-C1b", "S0-C2", "S0-C3", "S0-C4", "S0-C4x", "S0-C5", "S0-C6", "S0-C6b", "S0-C7",
    "S0-C8a", "S0-C8b", "S0-C9", "S0-C10", "S0-C11", "S0-C12", "S0-C13", "S0-C14", "S0-C15",
    "S0-C16", "S0-C17", "S0-C18", "S0-D1", "S0-D2",
];

/// The paper has all its cells and claims, each once.
///
/// The cells are eleven comparisons (the paper's "confronts") at two packet sizes, the sixteen with DCCP again with
/// today's RFCs, eighteen cells at 27 points of the sweep, and the isolating runs.
#[test]
fn nothing_is_left_out() {
    for quick in [true, false] {
        let paper = load("wifi-handoff", quick, None);
        assert_eq!(paper.cells.len(), 22 + 16 + 18 * 27 + 23);
        let ids: Vec<&str> = paper.claims.iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!(ids, CLAIMS);
    }
}

/// Runs the first seed of some cells, and returns what each measured of `flows` in all, percent of loss.
fn loss(cells: &[&str], flows: &[&str]) -> Vec<f64> {
    let results = results(&load("wifi-handoff", true, Some(1)), cells);
    let of = |cell: &&str| {
        let found = results.cells.iter().find(|it| it.name == **cell);
        let run = &found.expect("it ran").runs[0];
        let loss = |flow: &&str| run.value(&Subject::flow(flow), "late", Metric::Loss);
        flows.iter().map(|flow| loss(flow).expect("it sent")).sum()
    };
    cells.iter().map(of).collect()
}

/// UDP loses most of what it sends and DCCP much less.
#[test]
fn dccp_loses_far_less_than_udp() {
    let cells = [
        "reno-udp-512",
        "reno-ccid3-512",
        "ccid2-udp-1424",
        "veno-ccid2-512",
    ];
    let loss = loss(&cells, &["late-a", "late-b"]);
    let (udp, tfrc) = (loss[0], loss[1]);
    assert!(udp > 100.0, "{udp}");
    assert!(udp > 10.0 * tfrc, "{udp} {tfrc}");
}

/// At 512 B the receiving tablet limits CCID 2, because acknowledgements take its time.
///
/// With a fast tablet, the shorter queue of the router is full instead, which loses more packets.
#[test]
fn the_receiving_tablet_decides_what_ccid_2_loses() {
    let cells = ["reno-ccid2-512", "reno-ccid2-512-fast-receiver"];
    let loss = loss(&cells, &["late-b"]);
    assert!(loss[1] > 1.5 * loss[0], "{loss:?}");
}
