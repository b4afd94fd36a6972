//! What a computation and the interpreter tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fairwire_sim::campaign::Progress;
use pyo3::PyErr;

/// What the thread that computes and the thread of the interpreter tell each other.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The window laws in Python that the computation uses.
    pub(crate) laws: Vec<&'static str>,
    /// The exception of the first of them that failed.
    failure: Mutex<Option<PyErr>>,
    /// Set to end the computation early.
    pub(crate) stop: AtomicBool,
    planned: AtomicU64,
    done: AtomicU64,
}

impl Watch {
    /// Returns the watch of a computation that uses these laws.
    pub(crate) fn of(laws: Vec<&'static str>) -> Self {
        Self {
            laws,
            ..Self::default()
        }
    }

    /// Notes that a law has failed, and tells the computation to stop.
    pub(crate) fn fail(&self, error: PyErr) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes the exception of the law that failed.
    pub(crate) fn failure(&self) -> Option<PyErr> {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take()
    }

    /// Notes the progress of a campaign.
    pub(crate) fn note(&self, progress: Progress<'_>) {
        match progress {
            Progress::Planned(work) => self.planned.fetch_add(work, Ordering::Relaxed),
            Progress::Done(work) => self.done.fetch_add(work, Ordering::Relaxed),
            Progress::Cell { .. } => 0,
        };
    }

    /// Returns whether everything that was planned is done.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.planned.load(Ordering::Relaxed)
    }

    /// Returns the share that is done, 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        let planned = self.planned.load(Ordering::Relaxed).max(1);
        (self.done.load(Ordering::Relaxed) as f64 / planned as f64).min(1.0)
    }
}
