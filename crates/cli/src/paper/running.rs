//! Runs papers: one pool of runs for all of them, with a progress bar.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairwire_paper::Paper;
use fairwire_sim::campaign::{Batch, Campaign, Progress, RunStore, run_batches_in};
use fairwire_sim::results::{CellResult, Output, Results};

use crate::progress;

/// The outcome of running papers.
pub(super) struct Finished {
    /// The results of each paper, as far as they were computed.
    pub(super) results: Vec<Results>,
    /// The error of an output, which stopped the run.
    pub(super) unwritten: Option<io::Error>,
    /// What failed and stopped the others: a run, or the store.
    pub(super) failure: Option<String>,
    /// How many runs the store had before.
    pub(super) found: u64,
    /// How many runs were done.
    pub(super) done: u64,
}

/// Runs what the store does not have of all cells of all papers, `jobs` runs at the same time. `outputs` has one entry
/// for each paper, or none.
pub(super) fn run<S: RunStore>(
    papers: &[Paper],
    (stop, jobs): (&Arc<AtomicBool>, usize),
    store: &mut S,
    outputs: &mut [Output],
) -> Finished {
    let bar = progress::bar();
    let progress = |progress: Progress<'_>| bar.show(progress);
    let campaign = Campaign {
        threads: jobs,
        stop,
        progress: &progress,
        capture: None,
    };
    let batches: Vec<Batch<'_>> = papers
        .iter()
        .map(|paper| Batch {
            name: &paper.name,
            cells: &paper.cells,
        })
        .collect();
    let mut unwritten = None;
    let mut on_cell = |paper: usize, cell: &CellResult| {
        // After a directory failed to take a cell, no more cells are written.
        let output = outputs.get_mut(paper).filter(|_| unwritten.is_none());
        if let Some(Err(error)) = output.map(|output| output.cell(cell)) {
            unwritten = Some(error);
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let versions = BTreeMap::new();
    let outcome = run_batches_in(store, &versions, &batches, campaign, &mut on_cell);
    bar.clear();
    Finished {
        results: outcome.results,
        unwritten,
        failure: outcome.failure.map(|error| error.to_string()),
        found: outcome.found,
        done: outcome.done,
    }
}
