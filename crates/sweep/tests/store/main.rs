//! Sweeps and their store: nothing is done twice, nothing that was finished is lost.

mod columns;
mod inside;
mod seeds;
mod strange;
mod upkeep;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairwire_scenario::{Adjust, Cell, ScenarioFile};
use fairwire_sim::campaign::{
    Batch, Campaign, CampaignError, Plan, Progress, RunStore as _, Seeds, run_cells,
};
use fairwire_sim::results::RunResult;
use fairwire_sweep::columns::{Column, Values};
use fairwire_sweep::{
    Origin, Prune, Store, StoreError, TaskError, decode, encode, task_bytes, work,
};

/// A short scenario with series and a window, and these values of an axis.
fn cells(queues: &str) -> Vec<Cell> {
    let text = r#"
        title = "a dumbbell"
        [run]
        duration = "2 s"
        seeds = 3
        max_seeds = 3
        [topology]
        kind = "dumbbell"
        access = { rate = "100 Mbit/s", delay = "1 ms" }
        bottleneck = { rate = "2 Mbit/s", delay = "20 ms", queue = "20 packets" }
        [flows]
        one = { traffic = "greedy", wire = "500 B", dccp = { ccid = 3 } }
        two = { traffic = "greedy", wire = "1500 B", tcp = {} }
        [measure]
        series = "1 s"
        windows.late = { from = "1 s" }
    "#;
    let file = ScenarioFile::parse("test", text).expect("a scenario");
    let adjust = Adjust {
        axes: vec![format!("topology.bottleneck.queue={queues}")],
        ..Adjust::default()
    };
    file.cells(&adjust).expect("cells")
}

fn open(folder: &Path) -> Store {
    Store::open(folder, Origin::here("here", "2026-01-01")).expect("a store")
}

fn planned(cells: &[Cell], seeds: Seeds, store: &mut Store) -> Result<Plan, StoreError> {
    let name = "test";
    let batch = Batch { name, cells };
    Plan::new(&[batch], seeds, &BTreeMap::new(), store)
}

fn plan(queues: &str, store: &mut Store) -> Plan {
    planned(&cells(queues), Seeds::AsStated, store).expect("a plan")
}

fn run_all(
    plan: &mut Plan,
    store: &mut Store,
    threads: usize,
) -> Result<(), CampaignError<StoreError>> {
    let campaign = Campaign {
        threads,
        stop: &AtomicBool::new(false),
        progress: &|_| (),
        capture: None,
    };
    store.run(plan, campaign)
}

/// Runs a sweep to its end and returns how many runs it found and did.
fn sweep(queues: &str, store: &mut Store) -> (u64, u64) {
    let mut plan = plan(queues, store);
    run_all(&mut plan, store, 2).expect("runs");
    assert!(plan.is_complete());
    (plan.found(), plan.done())
}

/// Returns the runs of each cell.
fn runs(queues: &str, store: &mut Store) -> Vec<Vec<RunResult>> {
    let plan = plan(queues, store);
    let cells = plan.map_cells(store, |cell| {
        let mut runs = cell.runs.clone();
        runs.extend(cell.unperturbed.clone());
        runs
    });
    cells.expect("cells")
}

/// What comes from a store is what a campaign without a store computes.
#[test]
fn a_sweep_has_the_results_of_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let queues = "5 packets,20 packets";
    // Each cell has three seeds and the unperturbed run.
    assert_eq!(sweep(queues, &mut store), (0, 8));
    let campaign = Campaign {
        threads: 1,
        stop: &AtomicBool::new(false),
        progress: &|_| (),
        capture: None,
    };
    let expected = run_cells("test", &cells(queues), campaign, &mut |_| Ok(())).expect("runs");
    drop(store);
    let found = runs(queues, &mut open(folder.path()));
    for (found, expected) in found.iter().zip(&expected.cells) {
        let expected: Vec<_> = expected.runs.iter().chain(&expected.unperturbed).collect();
        assert_eq!(found.len(), 4);
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.digest, expected.digest);
            assert_eq!(found.values, expected.values);
            assert_eq!(found.notes, expected.notes);
            assert_eq!(found.series.len(), expected.series.len());
            assert_eq!(
                (found.period, found.simulated),
                (expected.period, expected.simulated)
            );
            for (found, expected) in found.series.iter().zip(&expected.series) {
                assert_eq!(
                    (&found.subject, found.metric),
                    (&expected.subject, expected.metric)
                );
                let bits =
                    |values: &[f64]| values.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found.values), bits(&expected.values));
            }
        }
    }
}

/// A second sweep does only what is missing, in this process and in a new one.
#[test]
fn nothing_is_done_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    assert_eq!(sweep("5 packets", &mut store), (0, 4));
    assert_eq!(sweep("5 packets", &mut store), (4, 0));
    let mut again = open(folder.path());
    assert_eq!(sweep("5 packets,6 packets", &mut again), (4, 4));
    drop(store);
    let mut third = open(folder.path());
    assert_eq!(sweep("5 packets,6 packets,7 packets", &mut third), (8, 4));
    assert_eq!(third.len().expect("a count"), 12);
    assert_eq!(third.sweeps().expect("sweeps").len(), 3);
}

/// After an interruption the store has what was finished, and the rest is done by the next sweep.
#[test]
fn an_interrupted_sweep_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let queues =
        "5 packets,6 packets,7 packets,8 packets,9 packets,10 packets,11 packets,12 packets";
    let mut first = plan(queues, &mut store);
    let stop = AtomicBool::new(false);
    let (work, all) = (AtomicU64::new(0), first.work());
    let campaign = Campaign {
        threads: 1,
        stop: &stop,
        progress: &|progress| {
            if let Progress::Done(more) = progress {
                let done = work.fetch_add(more, Ordering::Relaxed) + more;
                stop.store(done >= all * 6 / 32, Ordering::Relaxed);
            }
        },
        capture: None,
    };
    store.run(&mut first, campaign).expect("runs");
    let done = first.done();
    assert!((6..32).contains(&done) && !first.is_complete());
    drop(store);
    assert_eq!(sweep(queues, &mut open(folder.path())), (done, 32 - done));
}

/// A process that was killed leaves a log beside the database, perhaps with half a commit at its end. What was committed
/// is there, and the rest is done by the next sweep.
#[test]
fn a_killed_process_loses_only_what_was_under_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let mut first = plan("5 packets,6 packets", &mut store);
    let (origin, stop) = (store.origin(), AtomicBool::new(false));
    for _ in 0..5 {
        let task = first
            .take(1, &mut store)
            .expect("the store")
            .expect("a task");
        let done = work(&task_bytes(&task), &origin, &stop).expect("a run");
        first
            .keep(task.number, done, &mut store)
            .expect("it is kept");
    }
    let log = fs::read(folder.path().join("store.db-wal")).expect("a log");
    let mut left = Vec::new();
    for part in [0, 1, 40, 60, 80, 90, 99, 100] {
        let killed = tempfile::tempdir().expect("a folder");
        let database = killed.path().join("store.db");
        fs::copy(folder.path().join("store.db"), database).expect("a copy");
        let log = &log[..log.len() * part / 100];
        fs::write(killed.path().join("store.db-wal"), log).expect("it is written");
        let origin = Origin::here("here", "2026-01-01");
        // Before the first commit there are no tables.
        let kept = match Store::open_existing(killed.path(), origin) {
            Ok(mut store) => {
                store.verify().expect("it is whole");
                store.len().expect("a count")
            }
            Err(error) => {
                assert!(part < 40, "{part}: {error}");
                0
            }
        };
        let (found, done) = sweep("5 packets,6 packets", &mut open(killed.path()));
        assert_eq!((found, found + done), (kept, 8));
        left.push(kept);
    }
    assert!(left.is_sorted() && left.last() == Some(&5), "{left:?}");
    left.dedup();
    assert!(left.len() > 2, "{left:?}");
}

/// Two processes may do the same sweep. What both have done is there once.
#[test]
fn two_sweeps_at_once_are_safe() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut one, mut two) = (open(folder.path()), open(folder.path()));
    let queues = "5 packets,6 packets";
    let (mut first, mut second) = (plan(queues, &mut one), plan(queues, &mut two));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            run_all(&mut first, &mut one, 1).expect("runs");
        });
        scope.spawn(|| {
            run_all(&mut second, &mut two, 1).expect("runs");
        });
    });
    assert!((1..=8).contains(&first.done()) && (1..=8).contains(&second.done()));
    let mut after = open(folder.path());
    assert_eq!(after.len().expect("a count"), 8);
    assert_eq!(after.stale().expect("a count"), 0);
    assert_eq!(sweep(queues, &mut after), (8, 0));
    // The other process still reads what it had opened.
    assert_eq!(runs(queues, &mut two).concat().len(), 8);
}

/// Of two equal sweeps, started together or not, one begins at the other end as soon as both have done something, and
/// each soon sees what the other has done.
#[test]
fn two_sweeps_at_once_share_their_runs() {
    for is_together in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let queues = "5 packets,6 packets,7 packets";
        let one_task = |plan: &mut Plan, store: &mut Store| {
            let task = plan.take(1, store).expect("the store").expect("a task");
            let (origin, stop) = (store.origin(), AtomicBool::new(false));
            let done = work(&task_bytes(&task), &origin, &stop).expect("a run");
            let key = done[0].key();
            plan.keep(task.number, done, store).expect("it is kept");
            key
        };
        let mut one = open(folder.path());
        let mut first = plan(queues, &mut one);
        if !is_together {
            one_task(&mut first, &mut one);
        }
        let mut two = open(folder.path());
        let mut second = plan(queues, &mut two);
        one_task(&mut second, &mut two);
        if is_together {
            one_task(&mut first, &mut one);
        }
        wait_until_sweeps_look();
        let (by_first, by_second) = (
            one_task(&mut first, &mut one),
            one_task(&mut second, &mut two),
        );
        assert_ne!(by_first.scenario, by_second.scenario, "{is_together}");
        for _ in 0..3 {
            one_task(&mut first, &mut one);
        }
        wait_until_sweeps_look();
        while let Some(task) = second.take(1, &mut two).expect("the store") {
            second.give_back(task.number);
            one_task(&mut second, &mut two);
        }
        wait_until_sweeps_look();
        assert!(first.take(1, &mut one).expect("the store").is_none());
        // At most the first task of each was done twice.
        assert!((12..=13).contains(&(first.done() + second.done())));
        assert_eq!((first.work(), first.found() + first.done()), (0, 12));
    }
}

/// Waits longer than a sweep goes without looking at the store.
fn wait_until_sweeps_look() {
    let (_end, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(std::time::Duration::from_millis(1_100));
}

/// A store of a newer format and a folder with other files are refused with a reason.
#[test]
fn wrong_folders_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let origin = || Origin::here("here", "2026-01-01");
    fs::write(folder.path().join("mine.txt"), "mine").expect("a file");
    let error = Store::open(folder.path(), origin()).expect_err("no store");
    assert!(matches!(error, StoreError::NotAStore(_)), "{error}");
    let error = Store::open_existing(&folder.path().join("nowhere"), origin()).expect_err("none");
    assert!(matches!(error, StoreError::NoStore(_)), "{error}");

    // An early version made folders of Parquet files.
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("store.json"), r#"{"format": 1}"#).expect("a file");
    fs::create_dir(folder.path().join("parts")).expect("a folder");
    for opened in [
        Store::open(folder.path(), origin()),
        Store::open_existing(folder.path(), origin()),
    ] {
        let error = opened.expect_err("an old store");
        assert!(matches!(error, StoreError::Old(_)), "{error}");
        assert!(error.to_string().contains("give a new folder"), "{error}");
    }

    let folder = tempfile::tempdir().expect("a folder");
    drop(open(folder.path()));
    change(
        folder.path(),
        "create table more (id integer); pragma user_version = 7",
    );
    let error = Store::open(folder.path(), origin()).expect_err("a newer store");
    let text = "is a store of format 7, and this version of Fairwire knows formats up to 2";
    assert!(error.to_string().contains(text), "{error}");
    // So is one whose tables have not changed. This version cannot tell what is damaged in it.
    change(folder.path(), "drop table more");
    let error = Store::repair(folder.path(), origin()).expect_err("a newer store");
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");

    let folder = tempfile::tempdir().expect("a folder");
    let other = rusqlite::Connection::open(folder.path().join("store.db")).expect("a file");
    other
        .execute_batch("create table mine (id integer)")
        .expect("a table");
    let error = Store::open(folder.path(), origin()).expect_err("no store");
    assert!(matches!(error, StoreError::NotAStore(_)), "{error}");
}

/// Changes the database of a store as somebody else may.
fn change(folder: &Path, statements: &str) {
    let database = rusqlite::Connection::open(folder.join("store.db")).expect("a store");
    database.execute_batch(statements).expect("it is changed");
}

/// Pruning removes runs of other sources, or those of no sweep; the others stay.
#[test]
fn pruning_removes_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    let other = tempfile::tempdir().expect("a folder");
    let mut old = old_store(other.path());
    sweep_all(&mut old);
    assert_eq!(counts(&mut old), (0, 4));
    assert_eq!(store.merge(&mut old).expect("they are merged"), 4);
    assert_eq!(store.merge(&mut old).expect("they are there"), 0);
    assert_eq!(counts(&mut store), (4, 4));
    assert_eq!(store.prune(&Prune::Stale).expect("it is pruned"), 4);
    assert_eq!(counts(&mut store), (4, 0));
    assert_eq!(store.prune(&Prune::Unlisted).expect("it is pruned"), 0);
    let listed = store.sweeps().expect("sweeps");
    // Another sweep, of which nothing has run yet.
    drop(plan("9 packets", &mut store));
    for sweep in listed {
        assert!(store.forget(&sweep.id).expect("it is forgotten"));
        assert!(!store.forget(&sweep.id).expect("it is gone"));
    }
    assert_eq!(store.prune(&Prune::Unlisted).expect("it is pruned"), 4);
    assert_eq!(counts(&mut store), (0, 0));
    // Nothing of them is left.
    let rows = store.query("select (select count(*) from value) + (select count(*) from list) + (select count(*) from scenario) + (select count(*) from setting)");
    assert_eq!(numbers(&rows.expect("an answer")), [0]);
}

/// Returns how many runs of these sources and of others there are.
fn counts(store: &mut Store) -> (u64, u64) {
    (
        store.len().expect("a count"),
        store.stale().expect("a count"),
    )
}

/// Returns the numbers of the first column of an answer.
fn numbers(answer: &[Column]) -> Vec<i64> {
    match &answer[0].1 {
        Values::Integers(rows) => rows.iter().map(|it| it.expect("a number")).collect(),
        other => panic!("integers: {other:?}"),
    }
}

/// Opens a store that records runs of other sources, as that of an older version.
fn old_store(folder: &Path) -> Store {
    let origin = Origin {
        sources: "0".repeat(16),
        ..Origin::here("there", "2025-01-01")
    };
    Store::open(folder, origin).expect("a store")
}

/// Does the sweep in a store whose runs count as those of other sources.
fn sweep_all(store: &mut Store) {
    let mut plan = plan("5 packets", store);
    run_all(&mut plan, store, 1).expect("runs");
}

/// A task travels as bytes, and so do its results. Other code is refused.
#[test]
fn workers_of_other_code_refuse() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let mut plan = plan("5 packets", &mut store);
    let task = plan
        .take(u64::MAX, &mut store)
        .expect("the store")
        .expect("a task");
    let (bytes, origin) = (
        task_bytes(&task),
        Arc::new(Origin::here("there", "2026-01-01")),
    );
    let stop = AtomicBool::new(false);
    let done = work(&bytes, &origin, &stop).expect("runs");
    assert_eq!(done.len(), 4);
    let travelled = decode(&encode(&done)).expect("runs");
    plan.keep(task.number, travelled, &mut store)
        .expect("they are kept");
    assert!(plan.is_complete());
    let text = String::from_utf8(bytes).expect("JSON");
    let other = text.replace(fairwire_sweep::SOURCES, "0123456789abcdef");
    let error = work(other.as_bytes(), &origin, &stop).expect_err("other code");
    assert!(matches!(error, TaskError::OtherCode { .. }), "{error}");
    assert!(matches!(
        work(b"nonsense", &origin, &stop),
        Err(TaskError::Unreadable(_))
    ));
    for length in 0..64 {
        assert!(decode(&encode(&done)[..length]).is_err());
    }
}

/// A lost worker's runs are done again; what it sends later changes nothing.
#[test]
fn a_lost_task_is_done_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let mut plan = plan("5 packets", &mut store);
    let lost = plan
        .take(u64::MAX, &mut store)
        .expect("the store")
        .expect("a task");
    assert!(
        plan.take(u64::MAX, &mut store)
            .expect("the store")
            .is_none()
    );
    let (origin, stop) = (store.origin(), AtomicBool::new(false));
    let late = work(&task_bytes(&lost), &origin, &stop).expect("runs");
    plan.give_back(lost.number);
    assert_eq!(plan.waiting(), 4);
    run_all(&mut plan, &mut store, 1).expect("runs");
    assert_eq!(plan.done(), 4);
    plan.keep(lost.number, late, &mut store)
        .expect("nothing happens");
    assert_eq!((plan.done(), store.len().expect("a count")), (4, 4));
}
