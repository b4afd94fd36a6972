//! Papers and their verdicts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fairwire_paper::{Bundle, Paper, PaperError as LabError, Report, Reported};
use fairwire_papers::catalogue;
use fairwire_scenario::Cell;
use fairwire_sim::campaign::{Batch, Campaign, run_batches, run_batches_in};
use fairwire_sweep::columns::{flags, labels, texts};
use fairwire_sweep::{Origin, Store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::attended::attended;
use crate::errors::{PaperError, RunError, failed, stored};
use crate::law;
use crate::results::Results;
use crate::source::Source;
use crate::table::Table;

/// The names of the built-in papers with their subjects.
#[pyfunction]
pub(crate) fn papers() -> PyResult<Vec<(String, String)>> {
    let all = catalogue().iter().map(|bundle| {
        let paper = Paper::load(bundle, &Paper::adjust(true, None)).map_err(refused)?;
        Ok((paper.name, paper.line))
    });
    all.collect()
}

/// A paper that was run: its title, its results, its verdicts, its report as text and as a page, and the exception that
/// ended it early, if any.
type Ran = (String, Results, Table, String, String, Option<PyErr>);

/// A store: its folder, the host and the date, and what returns the versions of window laws in Python.
type Place<'py> = (PathBuf, (String, String), Bound<'py, PyAny>);

/// Runs a paper, by name or by the path of its directory. With a store, only what it does not have is run.
#[pyfunction]
#[pyo3(signature = (name, quick=false, seeds=None, jobs=None, progress=None, store=None))]
pub(crate) fn paper(
    py: Python<'_>,
    name: &str,
    quick: bool,
    seeds: Option<u32>,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
    store: Option<Place<'_>>,
) -> PyResult<Ran> {
    if jobs == Some(0) {
        return Err(PyValueError::new_err("jobs is a number from 1"));
    }
    let bundle = match fairwire_papers::find(name) {
        Ok(bundle) => bundle.clone(),
        // As the command: what is not the name of a paper may be a directory.
        Err(_) if name.contains(std::path::is_separator) || Bundle::is_in(name.as_ref()) => {
            Bundle::read(name.as_ref()).map_err(refused)?
        }
        Err(error) => return Err(refused(error)),
    };
    let paper = Paper::load(&bundle, &Paper::adjust(quick, seeds)).map_err(refused)?;
    let cells: Arc<[Cell]> = paper.cells.as_slice().into();
    let laws = law::of_cells(&cells);
    let threads = law::threads(jobs, &laws);
    let (work, batch) = (Arc::clone(&cells), paper.name.clone());
    let store = store.map(|(folder, origin, versions)| {
        let versions: BTreeMap<String, String> = versions.call1((laws.clone(),))?.extract()?;
        let store = py.detach(|| Store::open(&folder, Origin::here(&origin.0, &origin.1)));
        Ok::<_, PyErr>((store.map_err(stored)?, versions))
    });
    let store = store.transpose()?;
    let ((results, failure), interrupted) = attended(py, progress.as_ref(), laws, move |watch| {
        let campaign = Campaign {
            threads,
            stop: &watch.stop,
            progress: &|progress| watch.note(progress),
            capture: None,
        };
        let batch = Batch {
            name: &batch,
            cells: &work,
        };
        let Some((mut store, versions)) = store else {
            let outcome = run_batches(&[batch], campaign, &mut |_, _| Ok(()));
            let failure = outcome.failure.map(|it| RunError::new_err(it.to_string()));
            return (outcome.results, failure);
        };
        let on_cell = &mut |_, _: &_| Ok(());
        let outcome = run_batches_in(&mut store, &versions, &[batch], campaign, on_cell);
        let closed = store.close().err().map(stored);
        (outcome.results, outcome.failure.map(failed).or(closed))
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let Some(results) = results.into_iter().next() else {
        return Err(RunError::new_err("the paper has no runs"));
    };
    let report = paper.report(&results);
    let text = paper.text(&report);
    let reported = Reported {
        paper: &paper,
        report: report.clone(),
    };
    let page = fairwire_report::page(&[reported]);
    let table = verdicts(&report);
    let name = results.name.clone();
    let results = Results::new(Source::Memory(results), name, cells);
    Ok((paper.title.clone(), results, table, text, page, interrupted))
}

/// Returns the verdicts of a paper as a table.
fn verdicts(report: &Report) -> Table {
    let verdicts = &report.verdicts;
    Table::new(vec![
        labels("claim", verdicts.iter().map(|it| it.id.as_str())),
        labels("verdict", verdicts.iter().map(|it| it.verdict.words())),
        texts(
            "condition",
            verdicts.iter().map(|it| it.verdict.condition()),
        ),
        texts("says", verdicts.iter().map(|it| it.says.as_str())),
        texts("because", verdicts.iter().map(|it| it.because.as_str())),
        labels("place", verdicts.iter().map(|it| it.place.as_str())),
        flags("close", verdicts.iter().map(|it| it.close)),
    ])
}

fn refused(error: LabError) -> PyErr {
    PaperError::new_err(error.to_string())
}
