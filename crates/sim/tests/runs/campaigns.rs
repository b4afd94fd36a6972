//! Campaigns: order, number of seeds, interruption.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fairwire_scenario::{Adjust, Cell};
use fairwire_sim::Tap;
use fairwire_sim::campaign::{
    Batch, Campaign, Outcome, Precision, Progress, Seeds, run_batches, run_cells,
};
use fairwire_sim::results::{CellResult, Metric, Results, WHOLE};

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
traffic = { kind = "cbr", rate = "0.5 Mbit/s" }
udp = {}
[cells.low]
[cells.high]
topology.links.one.loss = "60 %"
[cells.none]
topology.links.one.loss = "0 %"
"#;

fn cells(text: &str) -> Vec<Cell> {
    super::cells(text, &Adjust::default())
}

fn campaign(cells: &[Cell], threads: usize, stop_after: u64) -> Results {
    let stop = AtomicBool::new(stop_after == 0);
    let told = AtomicU64::new(0);
    let progress = |progress: Progress<'_>| {
        if let Progress::Done(_) = progress {
            stop.store(
                told.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after,
                Ordering::Relaxed,
            );
        }
    };
    let campaign = Campaign {
        threads,
        stop: &stop,
        progress: &progress,
        capture: None,
    };
    run_cells("test", cells, campaign, &mut |_| Ok(())).expect("runs")
}

/// One thread and three threads give the same seeds in the same order with the same digests.
#[test]
fn threads_show_nowhere() {
    let cells = cells(SCENARIO);
    let (one, three) = (campaign(&cells, 1, u64::MAX), campaign(&cells, 3, u64::MAX));
    assert_eq!(one.cells.len(), 3);
    for (a, b) in one.cells.iter().zip(&three.cells) {
        let all = |cell: &CellResult| {
            cell.runs
                .iter()
                .map(|run| (run.seed, run.digest))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(a), all(b), "{}", a.name);
        assert!(all(a).is_sorted_by_key(|(seed, _)| *seed));
    }
}

/// Little spread takes the minimum number of seeds, and much spread takes more.
///
/// A cell whose start offsets alone are random has an unperturbed run in addition.
#[test]
fn the_spread_decides_the_number_of_seeds() {
    let results = campaign(&cells(SCENARIO), 2, u64::MAX);
    let runs = |name: &str| results.cell(name).expect(name).runs.len();
    assert_eq!(runs("low"), 4);
    // Of 625 packets 40 % arrive: s/mean is 0.049, so the rule asks for (1.96 * 0.049 / 0.05)^2 = 3.7 seeds on average.
    // Four runs estimate the spread badly, so only the bounds are certain.
    assert!((4..=12).contains(&runs("high")));
    let none = results.cell("none").expect("none");
    assert!(none.unperturbed.is_some());
    assert!(results.cell("low").expect("low").unperturbed.is_none());
}

/// A campaign that is asked to stop keeps the finished runs and marks them as partial.
#[test]
fn an_interrupted_campaign_keeps_what_it_has() {
    let cells = cells(SCENARIO);
    let results = campaign(&cells, 1, 9);
    assert!(results.partial);
    // A run reports its progress six times (0 s to 5 s), so one run is finished and the second is not.
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

/// A scenario of one cell with one run: nothing in it is random.
const QUIET: &str = r#"
title = "CBR without losses"
[run]
duration = "5 s"
start_offset = "none"
[topology]
kind = "chain"
links.one = { rate = "1 Mbit/s", delay = "5 ms" }
[flows.cbr]
wire = "500 B"
traffic = { kind = "cbr", rate = "0.5 Mbit/s" }
udp = {}
"#;

/// Runs the batches `first` and `second`, and lets the run of the first begin only when that of the second is done.
///
/// Returns the outcome and the order in which batches were passed to `on_cell`.
fn first_waits_for_second(stop_then: bool) -> (Outcome, Vec<usize>) {
    // Equal cells would share their run.
    let (first, second) = (cells(QUIET), cells(&QUIET.replace("500 B", "400 B")));
    let work = second[0].scenario.work();
    let (told, changed) = (Mutex::new(0u64), Condvar::new());
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress<'_>| match progress {
        Progress::Cell { batch: "first", .. } => {
            let done = told.lock().expect("a lock");
            let all = |done: &mut u64| *done < work;
            let patience = Duration::from_secs(60);
            let (_done, late) = changed
                .wait_timeout_while(done, patience, all)
                .expect("a lock");
            assert!(!late.timed_out(), "the second batch waits for the first");
            stop.store(stop_then, Ordering::Relaxed);
        }
        Progress::Done(more) => {
            *told.lock().expect("a lock") += more;
            changed.notify_all();
        }
        _ => {}
    };
    let campaign = Campaign {
        threads: 2,
        stop: &stop,
        progress: &progress,
        capture: None,
    };
    let batches = [("first", first.as_slice()), ("second", &second)]
        .map(|(name, cells)| Batch { name, cells });
    let mut order = Vec::new();
    let outcome = run_batches(&batches, campaign, &mut |batch, _| {
        order.push(batch);
        Ok(())
    });
    (outcome, order)
}

/// Runs of all batches share one pool: the second batch finishes while the first still runs.
///
/// Its cells are passed on in order all the same.
#[test]
fn batches_share_one_pool() {
    let (outcome, order) = first_waits_for_second(false);
    assert_eq!(order, [0, 1]);
    assert!(outcome.failure.is_none());
    let cells = outcome.results.iter().map(|results| results.cells.len());
    assert_eq!(cells.collect::<Vec<_>>(), [1, 1]);
    assert!(outcome.results.iter().all(|results| !results.partial));
}

/// The finished cells of a later batch are kept when an earlier batch is interrupted.
#[test]
fn what_is_finished_out_of_turn_is_kept() {
    let (outcome, order) = first_waits_for_second(true);
    assert_eq!(order, [1]);
    let [first, second] = outcome.results.as_slice() else {
        panic!("two batches");
    };
    assert!(first.partial && first.cells.is_empty());
    assert!(!second.partial);
    assert_eq!(second.cells[0].runs.len(), 1);
    assert!(!second.cells[0].partial);
}

/// The work reported as done equals the work reported as planned, including the seeds planned later.
#[test]
fn the_bar_ends_where_it_should() {
    let cells = cells(SCENARIO);
    let (planned, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |progress: Progress<'_>| {
        match progress {
            Progress::Planned(work) => planned.fetch_add(work, Ordering::Relaxed),
            Progress::Done(work) => done.fetch_add(work, Ordering::Relaxed),
            Progress::Cell { .. } => 0,
        };
    };
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        threads: 3,
        stop: &stop,
        progress: &progress,
        capture: None,
    };
    run_cells("test", &cells, campaign, &mut |_| Ok(())).expect("runs");
    let (planned, done) = (planned.into_inner(), done.into_inner());
    // At least four seeds of each cell, and one more run of 'none', at 500 kbit/s for 5 s.
    assert!(planned >= 13 * 5 * 125, "{planned}");
    assert_eq!(planned, done);
}

/// A run that panics ends the campaign with its panic, and no further run begins.
#[test]
fn a_panic_is_met() {
    let cells = cells(SCENARIO);
    let begun = AtomicU64::new(0);
    let progress = |progress: Progress<'_>| {
        if let Progress::Cell { .. } = progress {
            begun.fetch_add(1, Ordering::Relaxed);
            panic!("a bug");
        }
    };
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        threads: 1,
        stop: &stop,
        progress: &progress,
        capture: None,
    };
    let run = std::panic::AssertUnwindSafe(|| run_cells("test", &cells, campaign, &mut |_| Ok(())));
    let panic = std::panic::catch_unwind(run).expect_err("it panics");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a bug"));
    assert_eq!(begun.into_inner(), 1);
}

/// Cells with equal scenarios share their runs, and each has the results that it would have alone.
#[test]
fn equal_cells_share_their_runs() {
    let mut all = cells(SCENARIO);
    let mut twin = all[2].clone();
    "twin".clone_into(&mut twin.name);
    "another title".clone_into(&mut twin.scenario.title);
    twin.scenario.run.seeds = 6;
    all.insert(0, twin);
    let (work, hops) = (AtomicU64::new(0), all[0].scenario.work());
    let (begun, order) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let progress = |progress: Progress<'_>| match progress {
        Progress::Planned(more) => {
            work.fetch_add(more, Ordering::Relaxed);
        }
        Progress::Cell { cell, .. } => begun.lock().expect("a lock").push(cell.to_owned()),
        Progress::Done(_) => {}
    };
    let stop = AtomicBool::new(false);
    let out = tempfile::NamedTempFile::new().expect("a file");
    let settings = Campaign {
        threads: 2,
        stop: &stop,
        progress: &progress,
        capture: Some(Tap {
            out: Box::new(out.reopen().expect("a file")),
            links: Vec::new(),
        }),
    };
    let mut on_cell = |cell: &CellResult| {
        order.lock().expect("a lock").push(cell.name.clone());
        Ok(())
    };
    let batch = [all[0].clone(), all[3].clone()];
    let results = run_cells("test", &batch, settings, &mut on_cell).expect("runs");
    assert_eq!(order.into_inner().expect("a lock"), ["twin", "none"]);
    assert_eq!(begun.into_inner().expect("a lock"), ["twin"]);
    // Six seeds and the unperturbed run, which both have.
    assert_eq!(work.into_inner(), 7 * hops);
    let alone = campaign(&[all[3].clone()], 1, u64::MAX);
    let digests = |cell: &CellResult| {
        let runs = cell.runs.iter().chain(&cell.unperturbed);
        runs.map(|run| (run.seed, run.perturbed, run.digest))
            .collect::<Vec<_>>()
    };
    let [twin, none] = results.cells.as_slice() else {
        panic!("two cells");
    };
    assert_eq!(digests(none), digests(&alone.cells[0]));
    assert_eq!((twin.runs.len(), none.runs.len()), (6, 4));
    assert_eq!(twin.scenario.title, "another title");
    for cell in [twin, none] {
        let captured = cell.runs.iter().map(|run| run.captured.is_some());
        assert!(captured.eq((0..cell.runs.len()).map(|number| number == 0)));
        assert!(!cell.partial && cell.unperturbed.is_some());
    }
}

/// An interval of what no run can have is refused before any run.
#[test]
fn a_wanted_interval_is_of_something() {
    let cells = cells(SCENARIO);
    let check = |metric, of: Option<&str>, window: Option<&str>| {
        let precision = Precision {
            metric,
            of: of.map(str::to_owned),
            window: window.map(str::to_owned),
            ..Precision::default()
        };
        let checked = Seeds::Until(precision).check(&cells);
        checked.map_err(|error| error.to_string())
    };
    for (metric, of, window) in [
        (Metric::Throughput, None, None),
        (Metric::Goodput, Some("c*"), Some(WHOLE)),
        (Metric::Throughput, Some("cbr/back"), None),
        (Metric::QueueMean, Some("one"), None),
        (Metric::QueueMean, Some("one/back"), None),
    ] {
        assert_eq!(check(metric, of, window), Ok(()), "{metric} of {of:?}");
    }
    for (metric, of, window, there) in [
        (Metric::Goodput, Some("tyop"), None, "cbr in whole"),
        (Metric::Goodput, None, Some("early"), "cbr in whole"),
        (Metric::Goodput, Some("one"), None, "cbr in whole"),
        (Metric::QueueMean, Some("cbr"), None, "one in whole"),
        (Metric::QueueMean, None, None, "one in whole"),
        (Metric::Jain, None, None, "nothing"),
        (Metric::Mos, None, None, "nothing"),
        (Metric::ThroughputRatio, None, None, "nothing"),
    ] {
        let error = check(metric, of, window).expect_err("it is refused");
        let end = format!("; the metric is there for {there}");
        assert!(error.ends_with(&end), "{error}");
    }
}
