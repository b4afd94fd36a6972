//! Campaigns: all seeds of all cells, run in parallel and returned in order.
//!
//! All runs of all cells are jobs of one thread pool, so no processor waits for the last seed of a cell. A run uses one
//! thread. Results are ordered by cell and seed, never by completion, so the number of threads changes only the time
//! that a campaign takes.

mod board;
mod pool;
mod repeat;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;

use crate::results::Results;
use crate::{RunError, Tap};
use fairwire_scenario::Cell;

pub use pool::{run_batches, run_cells};
pub use repeat::seeds_needed;

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
pub struct Outcome {
    /// The results of each batch; partial where cells did not finish.
    pub results: Vec<Results>,
    /// Why the campaign ended early, unless it was asked to stop.
    pub failure: Option<CampaignError>,
}

/// The settings of a campaign.
pub struct Campaign<'a> {
    /// The name of the results of [`run_cells`]; [`run_batches`] uses the names of the batches.
    pub name: String,
    /// The number of runs at the same time.
    pub threads: usize,
    /// Stops everything when it becomes true; finished runs are kept.
    pub stop: &'a AtomicBool,
    /// Called with the progress of the campaign.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Receives the packets of the first seed of the first cell.
    pub capture: Option<Tap>,
}

impl fmt::Debug for Campaign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign")
            .field("name", &self.name)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// Why a campaign ended early. Cells that finished before were passed to `on_cell`.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A run failed.
    #[error(transparent)]
    Run(RunError),
    /// The callback for finished cells failed.
    #[error(transparent)]
    Output(io::Error),
}

/// Returns the default number of parallel runs: the number of available processors, or 1 if that is unknown.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
