//! All seeds of all cells: how many, side by side, in order.
//!
//! Seeds run on threads of their own; a run never uses one. Results are ordered by seed, never by
//! completion, so the number of threads shows nowhere but in the time taken.

mod jobs;
mod repeat;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::AtomicBool;

use fairwire_units::Duration;

use crate::results::{CellResult, Results, RunResult};
use crate::scenario::Cell;
use crate::sim::{RunError, Tap};
use jobs::{Job, run_jobs};

pub use repeat::seeds_needed;

/// What a campaign tells while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A cell begins.
    Cell(&'a str),
    /// So much more simulated time is planned, over all seeds.
    Planned(Duration),
    /// So much of it is done.
    Simulated(Duration),
}

/// How to run a campaign.
pub struct Campaign<'a> {
    /// What the results are called: the file or the paper.
    pub name: String,
    /// Seeds at the same time.
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

/// The number of seeds that run at once: the processors there are.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs `cells` one after the other, each with all its seeds, and gives each to `on_cell` when it
/// is finished. When asked to stop, it keeps the seeds that are finished and marks the results
/// partial.
///
/// # Errors
/// See [`CampaignError`].
pub fn run_cells(
    cells: &[Cell],
    mut campaign: Campaign<'_>,
    on_cell: &mut dyn FnMut(&CellResult) -> io::Result<()>,
) -> Result<Results, CampaignError> {
    let mut results = Results {
        name: std::mem::take(&mut campaign.name),
        version: env!("CARGO_PKG_VERSION"),
        cells: Vec::new(),
        partial: false,
    };
    for cell in cells {
        (campaign.progress)(Progress::Cell(&cell.name));
        let finished = run_cell(cell, &mut campaign).map_err(CampaignError::Run)?;
        let is_partial = finished.partial;
        if !finished.runs.is_empty() || finished.unperturbed.is_some() {
            on_cell(&finished).map_err(CampaignError::Output)?;
            results.cells.push(finished);
        }
        if is_partial {
            results.partial = true;
            break;
        }
    }
    Ok(results)
}

/// All seeds of one cell: the least number, then as many as their spread asks for.
fn run_cell(cell: &Cell, campaign: &mut Campaign<'_>) -> Result<CellResult, RunError> {
    let scenario = &cell.scenario;
    let first_seed = scenario.run.seed;
    let mut result = CellResult {
        name: cell.name.clone(),
        scenario: scenario.clone(),
        provenance: cell.provenance.clone(),
        runs: Vec::new(),
        unperturbed: None,
        partial: false,
    };
    // Without anything random every seed gives the same.
    let at_first = if scenario.is_random() {
        scenario.run.seeds
    } else {
        1
    };
    let seeds = (0..u64::from(at_first)).map(|number| Job::seed(first_seed + number));
    let unperturbed = scenario
        .is_perturbed_only()
        .then(|| Job::unperturbed(first_seed));
    let jobs: Vec<Job> = seeds.chain(unperturbed).collect();
    keep(&mut result, run_jobs(scenario, &jobs, campaign)?);
    if result.partial || !scenario.is_random() {
        return Ok(result);
    }
    let wanted = seeds_needed(&result);
    let more: Vec<Job> = (u64::from(at_first)..wanted)
        .map(|number| Job::seed(first_seed + number))
        .collect();
    keep(&mut result, run_jobs(scenario, &more, campaign)?);
    Ok(result)
}

/// Adds finished runs; a missing one makes the cell partial.
fn keep(result: &mut CellResult, runs: Vec<Option<RunResult>>) {
    for run in runs {
        match run {
            None => result.partial = true,
            Some(run) if run.perturbed => result.runs.push(run),
            Some(run) => result.unperturbed = Some(run),
        }
    }
}
