//! Papers run: one pool of runs over all of them, with a bar that says what runs and how long it
//! will take.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairwire_lab::campaign::{Batch, Campaign, CampaignError, Progress, run_batches};
use fairwire_lab::paper::Paper;
use fairwire_lab::results::{CellResult, Output, Results};

use crate::progress;

/// What came of it.
pub(super) struct Finished {
    /// By paper, as far as they go.
    pub(super) results: Vec<Results>,
    /// An output that failed; it stopped the run.
    pub(super) unwritten: Option<io::Error>,
    /// A run that failed; it stopped the others.
    pub(super) failure: Option<CampaignError>,
}

/// Runs all cells of all papers, `jobs` runs at the same time. `outputs` are as many as papers, or none.
pub(super) fn run(
    papers: &[Paper],
    (stop, jobs): (&Arc<AtomicBool>, usize),
    outputs: &mut [Output],
) -> Finished {
    let bar = progress::bar();
    let progress = |progress: Progress<'_>| progress::show(&bar, progress);
    let campaign = Campaign {
        name: String::new(),
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
        // A directory that could not take a cell gets no others either.
        let output = outputs.get_mut(paper).filter(|_| unwritten.is_none());
        if let Some(Err(error)) = output.map(|output| output.cell(cell)) {
            unwritten = Some(error);
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let outcome = run_batches(&batches, campaign, &mut on_cell);
    bar.finish_and_clear();
    Finished {
        results: outcome.results,
        unwritten,
        failure: outcome.failure,
    }
}
