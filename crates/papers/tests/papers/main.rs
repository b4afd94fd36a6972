//! The papers in as few runs as possible: the first seed of every cell (of a sweep at a third of its points), for its
//! digest, and the others that verdicts depend on. No test repeats a run of another one.

mod findings;
mod golden;
mod long_delay;
mod queue_size;
mod runs;
mod satellite;
mod voip;
mod wifi_handoff;

use fairwire_paper::{Judged, Paper, Verdict};
use fairwire_scenario::Cell;
use fairwire_sim::results::Results;

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

/// Returns the results of some cells.
fn results(paper: &Paper, cells: &[&str]) -> Results {
    let cells: Vec<Cell> = cells.iter().map(|name| cell(paper, name).clone()).collect();
    runs::results(&paper.name, &cells)
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
