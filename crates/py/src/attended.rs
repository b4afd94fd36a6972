//! Computing while the interpreter does something else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::InternalError;
use crate::law;
use crate::watch::Watch;

/// How often Python gets its turn: for Ctrl-C and for progress.
const TURN: Duration = Duration::from_millis(50);

/// Calls `compute` on a thread of its own, without the interpreter. Meanwhile handles signals and calls `progress` with
/// the share that is done; the last share is 1 if everything is done. After an exception in either of them, or in one of
/// these window laws, the computation is told to stop; its result and the exception are returned.
///
/// # Errors
/// [`InternalError`] if `compute` panics.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    laws: Vec<&'static str>,
    compute: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<(T, Option<PyErr>)> {
    let watch = Arc::new(Watch::of(laws));
    let watched = law::watched(&watch);
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
    drop(watched);
    let mut interrupted = watch.failure().or(interrupted);
    // A short computation ends before its progress was told once.
    if interrupted.is_none()
        && watch.is_done()
        && let Some(progress) = progress
    {
        interrupted = progress.call1((1.0,)).err();
    }
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
