//! Reports with real results: two papers that run quickly, and a scenario file, with two seeds each. The second of a
//! paper is the first with other values, because only their length matters here.

use std::sync::atomic::AtomicBool;

use fairwire_paper::{Paper, Reported};
use fairwire_scenario::{Adjust, ScenarioFile};
use fairwire_sim::campaign::{self, Batch, Campaign, run_batches, run_cells};

/// Calls with curves over time and unperturbed runs; links with losses and fitted values.
const PAPERS: [&str; 2] = ["voip", "satellite"];

/// Returns the report page of these papers.
pub(crate) fn page() -> String {
    let load = |seeds| {
        PAPERS.map(|name| {
            let bundle = fairwire_papers::find(name).expect("a paper");
            Paper::load(bundle, &Paper::adjust(true, Some(seeds))).expect("loads")
        })
    };
    let (papers, with_one) = (load(2), load(1));
    let batches: Vec<Batch<'_>> = with_one
        .iter()
        .map(|paper| Batch {
            name: &paper.name,
            cells: &paper.cells,
        })
        .collect();
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        threads: campaign::threads(),
        stop: &stop,
        progress: &|_| {},
        capture: None,
    };
    let mut outcome = run_batches(&batches, campaign, &mut |_, _| Ok(()));
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    for cell in outcome.results.iter_mut().flat_map(|it| &mut it.cells) {
        let mut second = cell.runs[0].clone();
        second.seed += 1;
        for value in &mut second.values {
            value.value *= 1.07;
        }
        cell.runs.push(second);
    }
    let reported: Vec<Reported<'_>> = papers
        .iter()
        .zip(&outcome.results)
        .map(|(paper, results)| Reported {
            paper,
            report: paper.report(results),
        })
        .collect();
    assert!(!Reported::is_partial(&reported));
    fairwire_report::page(&reported)
}

/// Returns the page of a scenario file with two cells and two windows.
pub(crate) fn run_page() -> String {
    let adjust = Adjust {
        axes: vec!["ccid=2,3".to_owned()],
        set: vec!["measure.windows.late.from=1 s".to_owned()],
        duration: Some("2s".parse().expect("a time")),
        seeds: Some(2),
        ..Adjust::default()
    };
    let cells = ScenarioFile::dumbbell().and_then(|file| file.cells(&adjust));
    let cells = cells.unwrap_or_else(|error| panic!("{error}"));
    let campaign = Campaign {
        threads: campaign::threads(),
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        capture: None,
    };
    let results = run_cells("dumbbell", &cells, campaign, &mut |_| Ok(()));
    let results = results.unwrap_or_else(|error| panic!("{error}"));
    fairwire_report::experiment_page(&results)
}
