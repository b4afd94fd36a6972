//! Campaigns from their plan to their results.

use std::collections::BTreeMap;
use std::io;

use fairwire_scenario::Cell;

use super::plan::Plan;
use super::seeds::Seeds;
use super::store::{Memory, RunStore};
use super::{Batch, Campaign, CampaignError, Outcome};
use crate::results::{CellResult, Results};

/// Runs `cells` with all their seeds and passes each cell to `on_cell` once it and all cells before it are finished.
///
/// `name` is the name of the results. When asked to stop, it keeps the finished runs and marks the results as partial.
///
/// # Errors
/// See [`CampaignError`].
pub fn run_cells(
    name: &str,
    cells: &[Cell],
    campaign: Campaign<'_>,
    on_cell: &mut dyn FnMut(&CellResult) -> io::Result<()>,
) -> Result<Results, CampaignError> {
    let batch = Batch { name, cells };
    let mut outcome = run_batches(&[batch], campaign, &mut |_, cell| on_cell(cell));
    let results = outcome.results.pop();
    match outcome.failure {
        Some(failure) => Err(failure),
        None => Ok(results.unwrap_or_else(|| Results::empty(name.to_owned()))),
    }
}

/// Runs the cells of all batches on the same threads.
///
/// Passes each cell, with the index of its batch, to `on_cell` once it and all cells before it are finished. If the
/// campaign is stopped or something fails, the finished runs are kept.
pub fn run_batches(
    batches: &[Batch<'_>],
    campaign: Campaign<'_>,
    on_cell: &mut dyn FnMut(usize, &CellResult) -> io::Result<()>,
) -> Outcome {
    let versions = BTreeMap::new();
    run_batches_in(
        &mut Memory::default(),
        &versions,
        batches,
        campaign,
        on_cell,
    )
}

/// As [`run_batches`], with a store: runs that it has are not done again, and new ones are added. `versions` are those
/// of what scenarios name and other code defines ([`ScenarioKey::of`](super::ScenarioKey::of)).
pub fn run_batches_in<S: RunStore>(
    store: &mut S,
    versions: &BTreeMap<String, String>,
    batches: &[Batch<'_>],
    campaign: Campaign<'_>,
    on_cell: &mut dyn FnMut(usize, &CellResult) -> io::Result<()>,
) -> Outcome<S::Error> {
    let results = batches.iter().map(|it| Results::empty(it.name.to_owned()));
    let mut outcome = Outcome {
        results: results.collect(),
        found: 0,
        done: 0,
        failure: None,
    };
    let mut plan = match Plan::new(batches, Seeds::AsStated, versions, store) {
        Ok(plan) => plan,
        Err(error) => {
            outcome.failure = Some(CampaignError::Store(error));
            outcome.results.iter_mut().for_each(|it| it.partial = true);
            return outcome;
        }
    };
    let mut is_taken = true;
    let mut deliver = |batch: usize, cell: CellResult| {
        let results = &mut outcome.results[batch];
        results.partial |= cell.partial;
        if cell.runs.is_empty() && cell.unperturbed.is_none() {
            return Ok(());
        }
        let mut taken = Ok(());
        if is_taken {
            taken = on_cell(batch, &cell);
            is_taken = taken.is_ok();
        }
        results.cells.push(cell);
        taken
    };
    let ran = plan.run_here(store, campaign, Some(&mut deliver));
    outcome.failure = ran.err();
    if let Some(CampaignError::Store(_)) = outcome.failure {
        // Cells that it could not give are missing altogether.
        outcome.results.iter_mut().for_each(|it| it.partial = true);
    }
    (outcome.found, outcome.done) = (plan.found(), plan.done());
    outcome
}
