//! Campaigns: order, number of seeds, interruption.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Campaign, Progress, run_cells};
use crate::results::{Results, WHOLE};
use crate::scenario::{Adjust, Cell, ScenarioFile};

const SCENARIO: &str = r#"
title = "CBR with losses"
[run]
duration = "5 s"
seeds = 4
max_seeds = 12
[topology]
kind = "chain"
links.one = { rate = "1 Mbit/s", delay = "5 ms", loss = "1 %" }
[flows.cbr]
wire = "500 B"
traffic = "cbr"
rate = "0.5 Mbit/s"
udp = {}
[cells.low]
[cells.high]
topology.links.one.loss = "60 %"
[cells.none]
topology.links.one.loss = "0 %"
"#;

fn cells(text: &str) -> Vec<Cell> {
    ScenarioFile::parse("test.toml", text)
        .and_then(|file| file.cells(&Adjust::default()))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn campaign(cells: &[Cell], threads: usize, stop_after: u64) -> Results {
    let stop = AtomicBool::new(stop_after == 0);
    let told = AtomicU64::new(0);
    let progress = |progress: Progress<'_>| {
        if let Progress::Simulated(_) = progress {
            stop.store(
                told.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after,
                Ordering::Relaxed,
            );
        }
    };
    let campaign = Campaign {
        name: "test".into(),
        threads,
        stop: &stop,
        progress: &progress,
        capture: None,
    };
    run_cells(cells, campaign, &mut |_| Ok(())).expect("runs")
}

/// One thread or three: the same seeds in the same order with the same digests.
#[test]
fn threads_show_nowhere() {
    let cells = cells(SCENARIO);
    let (one, three) = (campaign(&cells, 1, u64::MAX), campaign(&cells, 3, u64::MAX));
    assert_eq!(one.cells.len(), 3);
    for (a, b) in one.cells.iter().zip(&three.cells) {
        let all = |cell: &crate::results::CellResult| {
            cell.runs
                .iter()
                .map(|run| (run.seed, run.digest))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(a), all(b), "{}", a.name);
        assert!(all(a).is_sorted_by_key(|(seed, _)| *seed));
    }
}

/// Little spread takes the least number of seeds, much of it more, and no randomness but the
/// start's an unperturbed run beside.
#[test]
fn the_spread_decides_the_number_of_seeds() {
    let results = campaign(&cells(SCENARIO), 2, u64::MAX);
    let runs = |name: &str| results.cell(name).expect(name).runs.len();
    assert_eq!(runs("low"), 4);
    // 625 packets of which 40 % arrive: s/mean is 0.049, (1.96 * 0.049 / 0.05)^2 = 3.7 on
    // average, and four runs estimate it badly; the bound is what is certain.
    assert!((4..=12).contains(&runs("high")));
    let none = results.cell("none").expect("none");
    assert!(none.unperturbed.is_some());
    assert!(results.cell("low").expect("low").unperturbed.is_none());
}

/// Asked to stop, a campaign keeps what is finished and says that it is not all.
#[test]
fn an_interrupted_campaign_keeps_what_it_has() {
    let cells = cells(SCENARIO);
    let results = campaign(&cells, 1, 9);
    assert!(results.partial);
    // Six readings a run (0 s to 5 s): one run is finished, the second is not.
    assert_eq!(results.cells.len(), 1);
    assert_eq!(results.cells[0].runs.len(), 1);
    assert!(results.cells[0].partial);
    assert!(!results.cells[0].keys().is_empty());
    assert!(
        results.cells[0]
            .keys()
            .iter()
            .any(|(_, window, _)| window == WHOLE)
    );
    let nothing = campaign(&cells, 1, 0);
    assert!(nothing.partial);
    assert!(nothing.cells.is_empty());
}
