//! The paper voip: what must be seen of it in a short form, that every claim has its verdict, and that the
//! runs are what they were.

use std::sync::atomic::AtomicBool;

use fairwire_lab::campaign::{self, Campaign, run_cells};
use fairwire_lab::paper::{Bundle, Paper, Verdict};
use fairwire_lab::sim::{RunOptions, run};

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

fn paper() -> Paper {
    let bundle = Bundle::find("voip").expect("it is there");
    Paper::load(bundle, &Paper::adjust(true, None)).expect("loads")
}

/// In three seeds of scenario A: an idle frame takes 73 ms, UDP keeps at least 90 %, Vegas leaves most beside one and two
/// TCPs, CCID 4 lifts the ratio. All ids are there; what the paper says against itself is found in its numbers; a claim
/// about cells that were not run is not judged.
#[test]
fn what_must_be_seen_is_seen() {
    let paper = paper();
    let cells = &paper.cells[..JOINS];
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        name: paper.name.clone(),
        threads: campaign::threads(),
        stop: &stop,
        progress: &|_| {},
        capture: None,
    };
    let results = run_cells(cells, campaign, &mut |_| Ok(())).expect("runs");
    let verdicts = paper.judge(&results);
    let of = |id: &str| {
        let judged = verdicts.iter().find(|judged| judged.id == id);
        judged.unwrap_or_else(|| panic!("{id} has no verdict"))
    };
    for id in CLAIMS {
        let judged = of(id);
        let told = !judged.because.is_empty();
        assert!(told || judged.verdict == Verdict::NotRun, "{id}");
    }
    assert_eq!(verdicts.len(), CLAIMS.len());
    for id in ["S1-C1", "S1-C4b", "S1-C6a", "S1-D4"] {
        assert_eq!(of(id).verdict, Verdict::Reproduced, "{id}");
    }
    assert!(matches!(of("S1-D3").verdict, Verdict::Condition(_)));
    for id in ["S1-C6d", "S1-C9"] {
        assert_eq!(of(id).verdict, Verdict::Contradiction, "{id}");
    }
    assert_eq!(of("S1-C8").verdict, Verdict::NotRun);
}

/// What paces the call is its frame of 80 bytes; 36 of IP and DCCP come on top, or 28 of IP and UDP.
#[test]
fn a_frame_has_real_headers() {
    for cell in &paper().cells[..JOINS] {
        let (_, call) = cell.scenario.enabled_flows().next().expect("a flow");
        let headers = if call.dccp.is_some() { 36 } else { 28 };
        assert_eq!(call.payload_bytes(), 80, "{}", cell.name);
        assert_eq!(call.wire_bytes(), 80 + headers, "{}", cell.name);
    }
}

/// The golden digests of scenario A hold in this build, as they do in a release; all others are compared by
/// `fairwire paper voip --quick --check-digests`.
#[test]
fn golden_digests_of_scenario_a_hold() {
    let bundle = Bundle::find("voip").expect("it is there");
    let golden = Paper::golden(bundle).expect("reads");
    for cell in &paper().cells[..JOINS] {
        let seed = cell.scenario.run.seed;
        let result = run(&cell.scenario, (seed, true), RunOptions::default()).expect("runs");
        let written = golden.get(&cell.name).and_then(|runs| runs.get("seed 1"));
        assert_eq!(written, Some(&result.digest.to_string()), "{}", cell.name);
    }
}
