//! The wifi-handoff paper in its quick form: every promised verdict is there, the runs look as they
//! did, and what they say of the paper's main claim.

use fairwire_lab::paper::{Bundle, Paper};
use fairwire_lab::results::{Metric, RunResult, Subject};
use fairwire_lab::sim::{RunOptions, run};

/// The claims that a verdict was promised for.
const CLAIMS: [&str; 24] = [
    "S0-C1a", "S0-C1b", "S0-C2", "S0-C3", "S0-C4", "S0-C4x", "S0-C5", "S0-C6", "S0-C6b", "S0-C7",
    "S0-C8a", "S0-C8b", "S0-C9", "S0-C10", "S0-C11", "S0-C12", "S0-C13", "S0-C14", "S0-C15",
    "S0-C16", "S0-C17", "S0-C18", "S0-D1", "S0-D2",
];

fn paper(quick: bool) -> Paper {
    let bundle = Bundle::find("wifi-handoff").expect("it is there");
    Paper::load(bundle, &Paper::adjust(quick, None)).unwrap_or_else(|error| panic!("{error}"))
}

/// The first seed's run of `cell`, which must be what was written down.
fn first_run(paper: &Paper, cell: &str) -> RunResult {
    let golden = Paper::golden(Bundle::find("wifi-handoff").expect("it is there"));
    let golden = golden.expect("reads");
    let scenario = &paper
        .cells
        .iter()
        .find(|known| known.name == cell)
        .expect(cell)
        .scenario;
    let seed = scenario.run.seed;
    let result = run(scenario, (seed, true), RunOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let written = golden
        .get(cell)
        .and_then(|runs| runs.get(&format!("seed {seed}")));
    assert_eq!(written, Some(&result.digest.to_string()), "{cell}");
    result
}

/// Eleven confronts at two sizes, and ten of them at 27 points; each claim stands once.
#[test]
fn nothing_is_left_out() {
    for quick in [true, false] {
        let paper = paper(quick);
        assert_eq!(paper.cells.len(), 22 + 10 * 27);
        let ids: Vec<&str> = paper.claims.iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!(ids, CLAIMS);
    }
}

/// UDP loses most of what it sends, DCCP hardly any of it, and nobody else's runs moved.
#[test]
fn dccp_loses_far_less_than_udp() {
    let paper = paper(true);
    let loss = |cell: &str| {
        let result = first_run(&paper, cell);
        let of = |flow| result.value(&Subject::flow(flow), "late", Metric::Loss);
        of("late-a").expect("it sent") + of("late-b").expect("it sent")
    };
    let (udp, tfrc) = (loss("reno-udp-512"), loss("reno-ccid3-512"));
    assert!(udp > 100.0, "{udp}");
    assert!(udp > 10.0 * tfrc, "{udp} {tfrc}");
    first_run(&paper, "ccid2-udp-1424");
    first_run(&paper, "veno-ccid2-512");
}
