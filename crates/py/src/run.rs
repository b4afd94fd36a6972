//! Running scenarios.

use std::sync::Arc;

use fairwire_scenario::{Cell, notes};
use fairwire_sim::campaign::{Campaign, run_cells};
use fairwire_sim::results;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::Changes;
use crate::attended::attended;
use crate::errors::RunError;
use crate::law;
use crate::results::Results;
use crate::scenario::Scenario;
use crate::source::Source;

/// Runs every cell of a scenario with every seed. Returns the results, and the exception that ended it early, if any.
#[pyfunction]
#[pyo3(signature = (scenario, changes, jobs=None, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    changes: Changes<'_>,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Results, Option<PyErr>)> {
    let cells: Arc<[Cell]> = scenario.made(&changes.adjust()?)?.into();
    if jobs == Some(0) {
        return Err(PyValueError::new_err("jobs is a number from 1"));
    }
    let (name, work) = (scenario.name().to_owned(), Arc::clone(&cells));
    let laws = law::of_cells(&cells);
    let threads = law::threads(jobs, &laws);
    let (ran, interrupted) = attended(py, progress.as_ref(), laws, move |watch| {
        let campaign = Campaign {
            threads,
            stop: &watch.stop,
            progress: &|progress| watch.note(progress),
            capture: None,
        };
        run_cells(&name, &work, campaign, &mut |_| Ok(())).map_err(|error| error.to_string())
    })?;
    let mut ran: results::Results = ran.map_err(RunError::new_err)?;
    ran.notes = notes(&cells);
    let name = ran.name.clone();
    let results = Results::new(Source::Memory(ran), name, cells);
    Ok((results, interrupted))
}
