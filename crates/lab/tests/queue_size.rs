//! The paper queue-size: every claim has its verdict, the packet is made of real headers, and the runs are
//! what they were.

use std::sync::atomic::AtomicBool;

use fairwire_lab::campaign::{self, Campaign, run_cells};
use fairwire_lab::paper::{Bundle, Paper, Verdict};
use fairwire_lab::sim::{RunOptions, run};

/// The claims of the paper, those that a rate has of its own, what is derived from its numbers.
const CLAIMS: &[&str] = &[
    "S3-C1",
    "S3-C2",
    "S3-C3",
    "S3-C4",
    "S3-C4-96",
    "S3-C4-512",
    "S3-C4-2048",
    "S3-C4-5096",
    "S3-C5",
    "S3-C6",
    "S3-C7",
    "S3-C8",
    "S3-C9",
    "S3-C10",
    "S3-C11",
    "S3-C11-96",
    "S3-C11-512",
    "S3-C11-2048",
    "S3-C11-5096",
    "S3-C12",
    "S3-D1",
    "S3-D2",
];

fn paper() -> Paper {
    let bundle = Bundle::find("queue-size").expect("it is there");
    Paper::load(bundle, &Paper::adjust(true, None)).expect("loads")
}

/// All ids are there; what the paper says against itself is found in its numbers without a run; a claim
/// about cells that were not run is not judged.
#[test]
fn every_claim_has_a_verdict() {
    let paper = paper();
    let mut cells = paper.cells.clone();
    cells.retain(|cell| ["96k-q10", "96k-q20"].contains(&cell.name.as_str()));
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        name: paper.name.clone(),
        threads: campaign::threads(),
        stop: &stop,
        progress: &|_| {},
        capture: None,
    };
    let results = run_cells(&cells, campaign, &mut |_| Ok(())).expect("runs");
    let verdicts = paper.judge(&results);
    for id in CLAIMS {
        let judged = verdicts.iter().find(|judged| judged.id == *id);
        let judged = judged.unwrap_or_else(|| panic!("{id} has no verdict"));
        assert!(!judged.because.is_empty(), "{id}");
    }
    let of = |id: &str| {
        &verdicts
            .iter()
            .find(|judged| judged.id == id)
            .expect("there")
            .verdict
    };
    for id in ["S3-C1", "S3-C3", "S3-C7", "S3-C8"] {
        assert_eq!(*of(id), Verdict::Contradiction, "{id}");
    }
    assert_eq!(
        *of("S3-D2"),
        Verdict::Reproduced,
        "a matter of printed numbers alone"
    );
    assert_eq!(*of("S3-C9"), Verdict::NotRun);
}

/// 160 bytes of speech, 12 of RTP, 16 of DCCP and 20 of IP, and 3 that the link adds: 211.
#[test]
fn a_packet_is_made_of_real_headers() {
    for cell in &paper().cells {
        let (_, flow) = cell.scenario.enabled_flows().next().expect("a flow");
        let (_, link) = cell.scenario.topology.path()[0];
        assert_eq!(flow.payload_bytes(), 160 + 12, "{}", cell.name);
        assert_eq!(
            u64::from(flow.wire_bytes()) + link.framing_bytes(),
            211,
            "{}",
            cell.name
        );
    }
}

/// The golden digests of the slow links hold in this build, as they do in a release; those of the fast ones
/// are compared by `fairwire paper queue-size --quick --check-digests`.
#[test]
fn golden_digests_of_slow_links_hold() {
    let bundle = Bundle::find("queue-size").expect("it is there");
    let golden = Paper::golden(bundle).expect("reads");
    for cell in paper().cells {
        if !cell.name.starts_with("96k") || cell.name.contains("600s") {
            continue;
        }
        let seed = cell.scenario.run.seed;
        let result = run(&cell.scenario, (seed, true), RunOptions::default()).expect("runs");
        let written = golden.get(&cell.name).and_then(|runs| runs.get("seed 1"));
        assert_eq!(written, Some(&result.digest.to_string()), "{}", cell.name);
    }
}
