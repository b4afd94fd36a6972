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
    let mut outcome = Outcome {
        results: batches
            .iter()
            .map(|batch| Results::empty(batch.name.to_owned()))
            .collect(),
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
    let batch_of: Vec<usize> = batches
        .iter()
        .enumerate()
        .flat_map(|(number, batch)| batch.cells.iter().map(move |_| number))
        .collect();
    let mut is_taken = true;
    let mut deliver = |number: usize, cell: CellResult| {
        let batch = batch_of[number];
        let results = &mut outcome.results[batch];
        results.partial |= cell.partial;
        if cell.runs.is_empty() && cell.unperturbed.is_none() {
            return Ok(());
        }
        let taken = if is_taken {
            on_cell(batch, &cell)
        } else {
            Ok(())
        };
        is_taken &= taken.is_ok();
        results.cells.push(cell);
        taken
    };
    let ran = plan.run_here(store, campaign, Some(&mut deliver));
    if let Err(error) = ran {
        // Cells that the store could not give are missing altogether.
        let is_partial = matches!(error, CampaignError::Store(_));
        outcome
            .results
            .iter_mut()
            .for_each(|it| it.partial |= is_partial);
        outcome.failure = Some(error);
    }
    (outcome.found, outcome.done) = (plan.found(), plan.done());
    outcome
}
