//! Campaigns: all seeds of all cells, run in parallel and returned in order.
//!
//! 1. A [`Plan`] says which runs of some cells are wanted ([`Seeds`]), and which of them are missing where runs are
//!    found and kept: in [`Memory`], or in another [`RunStore`].
//! 2. [`run_cells`] and [`run_batches`] plan runs into memory, and [`run_batches_in`] into another store.
//!    [`Plan::run_here`] does the runs of a plan on threads of this process. Another engine takes tasks
//!    ([`Plan::take`]) and gives their results back ([`Plan::keep`]).
//!
//! A run uses one thread, and threads take the next run as soon as they are free, so no processor waits for the last
//! seed of a cell. Results are ordered by cell and seed, never by completion, so the number of threads changes only the
//! time that a campaign takes. Cells with equal scenarios share their runs.

mod batches;
mod key;
mod plan;
mod runner;
mod seeds;
mod store;

use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;

use crate::results::Results;
use crate::{RunError, Tap};
use fairwire_measure::counted;
use fairwire_scenario::Cell;

pub use batches::{run_batches, run_batches_in, run_cells};
pub use key::{NotAKey, RunKey, ScenarioKey};
pub use plan::{Plan, Task};
pub use seeds::{Precision, Seeds};
pub use store::{Listing, Memory, Recorded, RunStore};

/// What a campaign reports while it runs.
///
/// Work is an upper bound on the number of packets that cross links
/// ([`Scenario::work`](fairwire_scenario::Scenario::work)). It predicts the time left better than simulated seconds do,
/// because one cell can have a hundred times the rate of another.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The first run of a cell begins.
    Cell {
        /// The name of the cell's batch.
        batch: &'a str,
        /// The cell's name.
        cell: &'a str,
    },
    /// This much more work is planned.
    Planned(u64),
    /// This much more work is done.
    Done(u64),
}

/// Cells that belong together: those of a scenario file or of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The name of their results.
    pub name: &'a str,
    /// The cells.
    pub cells: &'a [Cell],
}

/// The outcome of some batches.
#[derive(Debug)]
pub struct Outcome<E = PlanError> {
    /// The results of each batch; partial where cells did not finish.
    pub results: Vec<Results>,
    /// How many runs the store had before.
    pub found: u64,
    /// How many runs were done.
    pub done: u64,
    /// Why the campaign ended early, unless it was asked to stop.
    pub failure: Option<CampaignError<E>>,
}

/// The settings of a campaign.
pub struct Campaign<'a> {
    /// The number of runs at the same time.
    pub threads: usize,
    /// Stops everything when it becomes true; finished runs are kept.
    pub stop: &'a AtomicBool,
    /// Called with the progress of the campaign.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Receives the packets of the first seed of the first cell. Cells with the same scenario share that run.
    pub capture: Option<Tap>,
}

impl fmt::Debug for Campaign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign")
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// Why a campaign ended early. Finished runs are in the store, and cells that finished before were passed to `on_cell`.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError<E = PlanError> {
    /// A run failed.
    #[error(transparent)]
    Run(RunError),
    /// The callback for finished cells failed, or there are no threads.
    #[error(transparent)]
    Output(io::Error),
    /// The store cannot be read or written, or something is wrong with the plan.
    #[error(transparent)]
    Store(#[from] E),
}

/// What is wrong with a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The wanted seeds cannot be run.
    #[error("{0}")]
    Seeds(String),
    /// As many seeds are wanted as an interval needs, and a cell has no value that it could be an interval of.
    #[error(
        "the interval cannot be judged: {cell} has no value for {wanted}; the metric is there for {there}"
    )]
    NothingToJudge {
        /// The cell.
        cell: String,
        /// What the interval is of.
        wanted: String,
        /// What has the metric.
        there: String,
    },
    /// Runs of an open sweep have left the store meanwhile: another process has pruned or repaired it, or a file was
    /// damaged.
    #[error(
        "the store has lost {} of {cell}, because it was pruned, repaired or damaged meanwhile: start the sweep \
         again",
        counted(*.runs, "run")
    )]
    Gone {
        /// The cell that they belong to.
        cell: String,
        /// How many there are.
        runs: u64,
    },
}

/// Returns the default number of parallel runs: the number of available processors, or 1 if that is unknown.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
