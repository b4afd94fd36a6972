//! The golden digests of the papers hold in this build, as they do in a release.
//!
//! `fairwire paper NAME --quick --check-digests` compares every run; here, with debug assertions on,
//! each cell that is short is run with all its seeds and of the long ones those that go through
//! different code.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairwire_lab::paper::{Bundle, Paper, QUICK_SEEDS};
use fairwire_lab::scenario::{Cell, Scenario};
use fairwire_lab::sim::{RunOptions, run};
use fairwire_lab::units::Duration;

/// Cells of up to this length are run with all seeds.
const SHORT: Duration = Duration::from_secs(200);

/// The long ones that are run with one seed: the base, another law, real competition.
const LONG: [&str; 3] = ["cut-50", "tcp-like-tw", "cut-50-open"];

/// A run by its name in the file, and what it takes to do it.
struct Job<'a> {
    cell: &'a str,
    run: String,
    scenario: &'a Scenario,
    seed: (u64, bool),
}

fn jobs(cell: &Cell) -> Vec<Job<'_>> {
    let scenario = &cell.scenario;
    let (first, quick) = (scenario.run.seed, u64::from(QUICK_SEEDS));
    let seeds = if scenario.run.duration <= SHORT {
        quick
    } else if LONG.contains(&cell.name.as_str()) {
        1
    } else {
        return Vec::new();
    };
    let job = |run: String, seed| Job {
        cell: &cell.name,
        run,
        scenario,
        seed,
    };
    let mut jobs: Vec<Job<'_>> = (first..first + seeds)
        .map(|seed| job(format!("seed {seed}"), (seed, true)))
        .collect();
    if seeds == quick {
        jobs.push(job("unperturbed".into(), (first, false)));
    }
    jobs
}

/// What a paper's runs look like on the wires is what it was when the digests were written. If it
/// is meant to differ, `make digests` writes the new ones.
#[test]
fn golden_digests_of_papers_hold() {
    let bundle = Bundle::find("long-delay").expect("it is there");
    let paper = Paper::load(bundle, &Paper::adjust(true, None)).expect("loads");
    let golden = Paper::golden(bundle).expect("reads");
    let jobs: Vec<Job<'_>> = paper.cells.iter().flat_map(jobs).collect();
    assert!(
        jobs.len() > 50,
        "{} runs are too few to say anything",
        jobs.len()
    );
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = run(job.scenario, job.seed, RunOptions::default());
            let digest =
                result.map_or_else(|error| error.to_string(), |run| run.digest.to_string());
            let written = golden.get(job.cell).and_then(|runs| runs.get(&job.run));
            if written != Some(&digest) {
                let line = format!("{}, {}: was {written:?}, is {digest}", job.cell, job.run);
                wrong.lock().expect("no thread panicked").push(line);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..fairwire_lab::campaign::threads() {
            scope.spawn(work);
        }
    });
    let wrong = wrong.into_inner().expect("no thread panicked");
    assert!(wrong.is_empty(), "digests moved:\n{}", wrong.join("\n"));
}
