//! The papers in as few runs as possible: the runs that their verdicts depend on, and golden digests of these runs.
//!
//! `fairwire paper all --check-digests` compares every run of every quick form.

mod findings;
mod long_delay;
mod queue_size;
mod satellite;
mod voip;
mod wifi_handoff;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fairwire_paper::{Judged, Paper, Verdict};
use fairwire_scenario::Cell;
use fairwire_sim::campaign::{self, Campaign, run_cells};
use fairwire_sim::results::{Results, RunResult};
use fairwire_sim::{RunOptions, run};

/// Loads the quick form of the paper `name`.
fn quick(name: &str) -> Paper {
    load(name, true, None)
}

/// Loads the paper `name`, in full or quick, with `seeds` seeds or its own number of them.
fn load(name: &str, quick: bool, seeds: Option<u32>) -> Paper {
    let bundle = fairwire_papers::find(name).unwrap_or_else(|error| panic!("{error}"));
    Paper::load(bundle, &Paper::adjust(quick, seeds)).unwrap_or_else(|error| panic!("{error}"))
}

fn cell<'a>(paper: &'a Paper, name: &str) -> &'a Cell {
    let found = paper.cells.iter().find(|cell| cell.name == name);
    found.unwrap_or_else(|| panic!("{} has no cell {name}", paper.name))
}

/// Runs some cells and returns their results.
fn results(paper: &Paper, cells: &[&str]) -> Results {
    let cells: Vec<Cell> = cells.iter().map(|name| cell(paper, name).clone()).collect();
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        name: paper.name.clone(),
        threads: campaign::threads(),
        stop: &stop,
        progress: &|_| {},
        capture: None,
    };
    run_cells(&cells, campaign, &mut |_| Ok(())).expect("runs")
}

/// The verdicts on all claims when only some cells have been run.
struct Verdicts(Vec<Judged>);

impl Verdicts {
    fn after(paper: &Paper, cells: &[&str]) -> Self {
        Self(paper.judge(&results(paper, cells)))
    }

    fn of(&self, id: &str) -> &Verdict {
        let found = self.0.iter().find(|judged| judged.id == id);
        &found
            .unwrap_or_else(|| panic!("{id} has no verdict"))
            .verdict
    }

    /// Checks that all of `claims` have a verdict and that each judged claim has a reason.
    fn are_of(&self, claims: &[&str]) {
        for id in claims {
            self.of(id);
        }
        for judged in &self.0 {
            let told = !judged.because.is_empty();
            assert!(told || judged.verdict == Verdict::NotRun, "{}", judged.id);
        }
    }
}

/// A run of a cell whose digest is stored by seed or as `unperturbed`.
#[derive(Clone, Copy)]
struct Run<'a> {
    cell: &'a Cell,
    seed: u64,
    perturbed: bool,
}

impl<'a> Run<'a> {
    fn first(cell: &'a Cell) -> Self {
        Self {
            cell,
            seed: cell.scenario.run.seed,
            perturbed: true,
        }
    }

    fn name(&self) -> String {
        if self.perturbed {
            format!("seed {}", self.seed)
        } else {
            "unperturbed".into()
        }
    }
}

/// Runs the first seed of some cells and checks it; see [`golden`].
fn first_runs(paper: &Paper, cells: &[&str]) -> Vec<RunResult> {
    let runs = cells.iter().map(|name| Run::first(cell(paper, name)));
    golden(paper, &runs.collect::<Vec<_>>())
}

/// Runs `runs` in parallel and checks their golden digests.
///
/// If a change is intended, `make digests` writes the new ones.
fn golden(paper: &Paper, runs: &[Run<'_>]) -> Vec<RunResult> {
    let bundle = fairwire_papers::find(&paper.name).unwrap_or_else(|error| panic!("{error}"));
    let golden = Paper::golden(bundle).unwrap_or_else(|error| panic!("{error}"));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(it) = runs.get(index) else { return };
        let result = run(
            &it.cell.scenario,
            (it.seed, it.perturbed),
            RunOptions::default(),
        );
        done.lock()
            .expect("no thread panicked")
            .push((index, result));
    };
    std::thread::scope(|scope| {
        for _ in 0..campaign::threads() {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|(index, _)| *index);
    let mut wrong = Vec::new();
    let mut results = Vec::new();
    for (it, (_, result)) in runs.iter().zip(done) {
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", it.cell.name));
        let written = golden
            .get(&it.cell.name)
            .and_then(|runs| runs.get(&it.name()));
        let now = result.digest.to_string();
        if written != Some(&now) {
            wrong.push(format!(
                "{}, {}: was {written:?}, is {now}",
                it.cell.name,
                it.name()
            ));
        }
        results.push(result);
    }
    assert!(wrong.is_empty(), "digests moved:\n{}", wrong.join("\n"));
    results
}
