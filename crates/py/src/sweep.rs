//! Sweeps with a store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairwire_sim::campaign::{Batch, Campaign, Plan, Precision, Seeds};
use fairwire_sim::results::Metric;
use fairwire_sweep::{
    Origin, Store as LabStore, TaskError, decode, encode, sweep_id, task_bytes, work as do_work,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Changes;
use crate::attended::attended;
use crate::errors::{RunError, WorkerError, failed, stored, wrong};
use crate::law;
use crate::results::Results;
use crate::scenario::Scenario;
use crate::source::{Source, Stored};

/// A sweep: which runs are wanted, and a store that has those which are finished.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Sweep {
    stored: Stored,
    results: Py<Results>,
    /// The name of its list in the store.
    #[pyo3(get)]
    id: String,
    /// The window laws in Python that its scenarios name.
    #[pyo3(get)]
    laws: Vec<&'static str>,
}

/// A task: its number, its bytes, the number of its runs and their work.
type Taken<'py> = (u64, Bound<'py, PyBytes>, usize, u64);

/// A wanted interval, as the functions of this module take it.
#[derive(FromPyObject)]
pub(crate) struct Until {
    #[pyo3(item)]
    metric: String,
    #[pyo3(item)]
    of: Option<String>,
    #[pyo3(item)]
    window: Option<String>,
    #[pyo3(item)]
    within: f64,
    #[pyo3(item)]
    least: u64,
    #[pyo3(item)]
    most: u64,
}

impl Until {
    fn precision(self) -> PyResult<Precision> {
        let metric: Metric = self.metric.parse().map_err(wrong)?;
        if !(self.within > 0.0 && self.within.is_finite()) {
            let text = "within is a share of the mean above 0, such as 0.05";
            return Err(PyValueError::new_err(text));
        }
        if self.least < 2 || self.most < self.least || self.most > 10_000 {
            let text = "least is a number of seeds from 2, and most one from least to 10000";
            return Err(PyValueError::new_err(text));
        }
        Ok(Precision {
            metric,
            of: self.of,
            window: self.window,
            within: self.within,
            least: self.least,
            most: self.most,
        })
    }
}

#[pymethods]
impl Sweep {
    /// Plans the runs of a scenario that the store does not have. `versions` returns the versions of window laws in
    /// Python. `seeds` are the seeds, or `until` is the wanted interval.
    #[new]
    #[pyo3(signature = (scenario, changes, store, origin, versions, seeds=None, until=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        changes: Changes<'_>,
        store: PathBuf,
        origin: (String, String),
        versions: &Bound<'_, PyAny>,
        seeds: Option<Vec<u64>>,
        until: Option<Until>,
    ) -> PyResult<Self> {
        let cells = scenario.made(&changes.adjust()?)?;
        let seeds = match (seeds, until) {
            (_, Some(until)) => Seeds::Until(until.precision()?),
            (Some(seeds), None) if seeds.is_empty() => {
                return Err(PyValueError::new_err("seeds is empty"));
            }
            (Some(seeds), None) => Seeds::These(seeds),
            (None, None) => Seeds::AsStated,
        };
        // Before a store is made.
        seeds.check(&cells).map_err(wrong)?;
        let name = scenario.name().to_owned();
        let laws = law::of_cells(&cells);
        let versions: BTreeMap<String, String> = versions.call1((laws.clone(),))?.extract()?;
        let planned = py.detach(|| {
            let mut store = LabStore::open(&store, Origin::here(&origin.0, &origin.1))?;
            let batch = Batch {
                name: &name,
                cells: &cells,
            };
            let plan = Plan::new(&[batch], seeds, &versions, &mut store)?;
            Ok((plan, store))
        });
        let (plan, store) = planned.map_err(stored)?;
        let cells = Arc::clone(plan.cells());
        let id = plan.listings().map(|it| sweep_id(&it)).collect();
        let held = Stored::new(plan, store);
        let results = Results::new(Source::Stored(held.clone()), name, cells);
        Ok(Self {
            stored: held,
            results: Py::new(py, results)?,
            id,
            laws,
        })
    }

    /// The results, as far as there are any.
    #[getter]
    fn results(&self, py: Python<'_>) -> Py<Results> {
        self.results.clone_ref(py)
    }

    /// How many runs the store had before.
    #[getter]
    fn found(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.stored.with(|plan, _| plan.found()))
    }

    /// How many runs were done.
    #[getter]
    fn done(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.stored.with(|plan, _| plan.done()))
    }

    /// How many runs wait.
    #[getter]
    fn waiting(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.stored.with(|plan, _| plan.waiting()))
    }

    /// Whether all wanted runs are in the store.
    #[getter]
    fn complete(&self, py: Python<'_>) -> bool {
        py.detach(|| self.stored.with(|plan, _| plan.is_complete()))
    }

    /// The work of the runs that wait or are under way: an upper bound of the packets that cross links.
    #[getter]
    fn work(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.stored.with(|plan, _| plan.work()))
    }

    /// Does the missing runs on this machine. Returns the exception that ended it early, if any.
    #[pyo3(signature = (jobs=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Option<PyErr>> {
        if jobs == Some(0) {
            return Err(PyValueError::new_err("jobs is a number from 1"));
        }
        let held = self.stored.clone();
        let laws = self.laws.clone();
        let threads = law::threads(jobs, &laws);
        let (ran, interrupted) = attended(py, progress.as_ref(), laws, move |watch| {
            let campaign = Campaign {
                threads,
                stop: &watch.stop,
                progress: &|progress| watch.note(progress),
                capture: None,
            };
            held.with(|plan, store| store.run(plan, campaign))
        })?;
        match ran {
            // A law that failed has interrupted its runs.
            _ if interrupted.is_some() => Ok(interrupted),
            Ok(()) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Takes runs of at most this work, or the next one. Returns the number of the task, the task as bytes, the number
    /// of its runs and their work; None if nothing waits.
    fn take<'py>(&self, py: Python<'py>, work: u64) -> PyResult<Option<Taken<'py>>> {
        let taken = py.detach(|| {
            self.stored.with(|plan, store| {
                let task = plan.take(work, store)?;
                Ok(task.map(|task| {
                    (
                        task.number,
                        task_bytes(&task),
                        task.runs().count(),
                        task.work,
                    )
                }))
            })
        });
        let taken = taken.map_err(stored)?;
        Ok(taken.map(|(number, bytes, runs, work)| (number, PyBytes::new(py, &bytes), runs, work)))
    }

    /// Puts what a worker returned for a task into the store.
    fn keep(&self, py: Python<'_>, task: u64, result: &[u8]) -> PyResult<()> {
        py.detach(|| {
            let runs = decode(result).map_err(|error| {
                WorkerError::new_err(format!("a worker returned no results: {error}"))
            })?;
            if let Some(other) = runs.iter().find(|run| !run.origin.is_current()) {
                let host = &other.origin.host;
                let text = format!("the worker on {host} has other code: install the same version of fairwire there");
                return Err(WorkerError::new_err(text));
            }
            let kept = self.stored.with(|plan, store| plan.keep(task, runs, store));
            kept.map_err(stored)
        })
    }

    /// Gives back a task that nobody will do, so that it is done again.
    fn give_back(&self, py: Python<'_>, task: u64) {
        py.detach(|| self.stored.with(|plan, _| plan.give_back(task)));
    }

    /// Ends the adding of runs to the store.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.stored.with(|_, store| store.close()))
            .map_err(stored)
    }
}

/// Does a task in a worker: takes its bytes and returns the results as bytes. `laws` are the names of the window laws in
/// Python that its scenarios may have.
#[pyfunction]
pub(crate) fn work<'py>(
    py: Python<'py>,
    task: &[u8],
    origin: (String, String),
    laws: Vec<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    let origin = Arc::new(Origin::here(&origin.0, &origin.1));
    let task = task.to_owned();
    let laws = law::registered(&laws);
    let (done, interrupted) = attended(py, None, laws, move |watch| {
        let stop: &AtomicBool = &watch.stop;
        do_work(&task, &origin, stop)
    })?;
    if let Some(interrupted) = interrupted {
        return Err(interrupted);
    }
    match done {
        Ok(runs) => Ok(PyBytes::new(py, &encode(&runs))),
        Err(TaskError::Run(fairwire_sim::RunError::Interrupted)) => {
            Err(PyKeyboardInterrupt::new_err("the worker was interrupted"))
        }
        Err(TaskError::Run(error)) => Err(RunError::new_err(error.to_string())),
        Err(error) => Err(WorkerError::new_err(error.to_string())),
    }
}
