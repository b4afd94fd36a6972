//! Running scenarios while the interpreter does something else.

use std::fs::File;
use std::io::BufWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use fairwire_lab::campaign::{self, Campaign, Progress, run_cells};
use fairwire_lab::results;
use fairwire_lab::scenario::{Cell, notes};
use fairwire_lab::sim::{Tap, check_links};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::Changes;
use crate::errors::{InternalError, RunError, ScenarioError};
use crate::results::Results;
use crate::scenario::Scenario;
use crate::source::Source;

/// How often Python gets its turn: for Ctrl-C and for progress.
const TURN: Duration = Duration::from_millis(50);

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
    let threads = jobs.unwrap_or_else(campaign::threads);
    let (name, work) = (scenario.name().to_owned(), Arc::clone(&cells));
    let (ran, interrupted) = attended(py, progress.as_ref(), move |watch| {
        let campaign = Campaign {
            name,
            threads,
            stop: &watch.stop,
            progress: &|progress| watch.note(progress),
            capture: None,
        };
        run_cells(&work, campaign, &mut |_| Ok(())).map_err(|error| error.to_string())
    })?;
    let mut ran: results::Results = ran.map_err(RunError::new_err)?;
    ran.notes = notes(&cells);
    let name = ran.name.clone();
    let results = Results::new(Source::Memory(ran), name, cells);
    Ok((results, interrupted))
}

/// What the thread that computes and the thread of the interpreter tell each other.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Set to end the computation early.
    pub(crate) stop: AtomicBool,
    planned: AtomicU64,
    done: AtomicU64,
}

impl Watch {
    /// Notes how much work there is.
    pub(crate) fn plan(&self, work: u64) {
        self.planned.store(work, Ordering::Relaxed);
    }

    /// Notes that this much more work is done, and how much is left.
    pub(crate) fn finish(&self, work: u64, left: u64) {
        let done = self.done.fetch_add(work, Ordering::Relaxed) + work;
        self.planned
            .store(done.saturating_add(left), Ordering::Relaxed);
    }

    /// Notes the progress of a campaign.
    pub(crate) fn note(&self, progress: Progress<'_>) {
        match progress {
            Progress::Planned(work) => self.planned.fetch_add(work, Ordering::Relaxed),
            Progress::Done(work) => self.done.fetch_add(work, Ordering::Relaxed),
            Progress::Cell { .. } => 0,
        };
    }

    /// Returns the share that is done, 0 to 1.
    fn share(&self) -> f64 {
        let planned = self.planned.load(Ordering::Relaxed).max(1);
        (self.done.load(Ordering::Relaxed) as f64 / planned as f64).min(1.0)
    }
}

/// Calls `compute` on a thread of its own, without the interpreter. Meanwhile handles signals and calls `progress` with
/// the share that is done. After an exception in either of them the computation is told to stop; its result and the
/// exception are returned.
///
/// # Errors
/// [`InternalError`] if `compute` panics.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    compute: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<(T, Option<PyErr>)> {
    let watch = Arc::new(Watch::default());
    let (done, finished) = channel();
    let seen = Arc::clone(&watch);
    let computing = thread::Builder::new().name("fairwire".to_owned());
    let computing = computing.spawn(move || {
        let computed = catch_unwind(AssertUnwindSafe(|| compute(&seen)));
        // The other end waits for it, whatever happens.
        let _ = done.send(computed);
    });
    let computing = computing.map_err(PyOSError::new_err)?;
    let mut interrupted = None;
    let finished = std::sync::Mutex::new(finished);
    let computed = loop {
        let waited = py.detach(|| {
            let finished = finished
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            finished.recv_timeout(TURN)
        });
        match waited {
            Ok(computed) => break computed,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(InternalError::new_err(
                    "the thread of the runs has vanished",
                ));
            }
        }
        if interrupted.is_some() {
            continue;
        }
        let attended = py.check_signals().and_then(|()| match progress {
            Some(progress) => progress.call1((watch.share(),)).map(drop),
            None => Ok(()),
        });
        if let Err(error) = attended {
            watch.stop.store(true, Ordering::Relaxed);
            interrupted = Some(error);
        }
    };
    let _ = computing.join();
    match computed {
        Ok(computed) => Ok((computed, interrupted)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(InternalError::new_err(
                text.unwrap_or("a run panicked").to_owned(),
            ))
        }
    }
}

/// Runs the first seed of `cell` and writes its packets to `path`. Returns the number of packets.
pub(crate) fn capture(
    py: Python<'_>,
    cell: &Cell,
    path: &Path,
    links: Vec<String>,
) -> PyResult<u64> {
    check_links(&cell.scenario, &links)
        .map_err(|error| ScenarioError::new_err(error.to_string()))?;
    let failed = |error: std::io::Error| {
        PyOSError::new_err(format!("cannot write {}: {error}", path.display()))
    };
    let out = BufWriter::new(File::create(path).map_err(failed)?);
    let mut cell = cell.clone();
    (cell.scenario.run.seeds, cell.scenario.run.max_seeds) = (1, 1);
    cell.wants_unperturbed = false;
    let (ran, interrupted) = attended(py, None, move |watch| {
        let campaign = Campaign {
            name: String::new(),
            threads: 1,
            stop: &watch.stop,
            progress: &|progress| watch.note(progress),
            capture: Some(Tap {
                out: Box::new(out),
                links,
            }),
        };
        run_cells(&[cell], campaign, &mut |_| Ok(())).map_err(|error| error.to_string())
    })?;
    if let Some(error) = interrupted {
        return Err(error);
    }
    let ran = ran.map_err(RunError::new_err)?;
    let run = ran.cells.first().and_then(|cell| cell.runs.first());
    if let Some(reason) = run.and_then(|run| run.capture_failure.as_ref()) {
        return Err(failed(std::io::Error::other(reason.clone())));
    }
    let captured = run.and_then(|run| run.captured.as_ref());
    let packets = |captured: &results::Captured| {
        ["dccp", "tcp", "udp"]
            .map(|name| captured.packets(name))
            .iter()
            .sum()
    };
    Ok(captured.map_or(0, packets))
}
