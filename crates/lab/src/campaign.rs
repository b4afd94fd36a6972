//! All seeds of all cells: how many, side by side, in order.
//!
//! All runs of all cells are jobs of one pool, so that no processor waits for the last seed of a
//! cell. A run never uses a thread of its own. Results are ordered by cell and seed, never by
//! completion, so the number of threads shows nowhere but in the time taken.

mod board;
mod pool;
mod repeat;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;

use crate::results::Results;
use crate::scenario::Cell;
use crate::sim::{RunError, Tap};

pub use pool::{run_batches, run_cells};
pub use repeat::seeds_needed;

/// What a campaign tells while it runs. Work is counted in packets over links at most
/// ([`Scenario::work`](crate::scenario::Scenario::work)), which tells time better than simulated
/// seconds do where one cell has a hundred times the rate of another.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A cell begins.
    Cell {
        /// What it belongs to.
        batch: &'a str,
        /// Its name.
        cell: &'a str,
    },
    /// So much more work is planned.
    Planned(u64),
    /// So much of it is done.
    Done(u64),
}

/// Cells that belong together: those of a scenario file, or of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// What their results are called.
    pub name: &'a str,
    /// The cells.
    pub cells: &'a [Cell],
}

/// What came of some batches.
#[derive(Debug)]
pub struct Outcome {
    /// The results of each batch, as far as they go.
    pub results: Vec<Results>,
    /// Why it ended early, if that was not asked for.
    pub failure: Option<CampaignError>,
}

/// How to run a campaign.
pub struct Campaign<'a> {
    /// What the results of [`run_cells`] are called; batches have names of their own.
    pub name: String,
    /// Runs at the same time.
    pub threads: usize,
    /// Stops everything when it becomes true; what is finished is kept.
    pub stop: &'a AtomicBool,
    /// Told how far things are.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Gets the packets of the first seed of the first cell.
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

/// Why a campaign ended early. What was finished before was given to `on_cell`.
#[derive(Debug)]
pub enum CampaignError {
    /// A run failed.
    Run(RunError),
    /// What a finished cell was given to failed.
    Output(io::Error),
}

impl fmt::Display for CampaignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl Error for CampaignError {}

/// The number of runs at the same time: the processors there are.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
