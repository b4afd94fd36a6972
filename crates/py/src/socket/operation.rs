//! Calls that may have to wait, for an event loop or for a thread.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tokio::time::timeout;

use crate::socket::runtime::{Owned, within};
use crate::socket::wakeups::{Alarm, Wakeups};

/// How often a thread that waits handles signals, such as Ctrl-C.
const TURN: Duration = Duration::from_millis(50);

/// What an operation gives, to be made a Python object with the interpreter's lock.
type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

type Pending = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A call that may have to wait. Nothing happens before it is polled or waited for, and dropping it cancels it.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Operation {
    state: Mutex<Owned<State>>,
}

enum State {
    Pending(Pending, Option<Arc<Alarm>>),
    Ready(Outcome),
    Over,
}

impl Operation {
    /// Makes an operation of a future and of what turns its output into a Python object or an exception.
    pub(crate) fn new<T, O>(
        future: impl Future<Output = T> + Send + 'static,
        made: impl FnOnce(Python<'_>, T) -> PyResult<O> + Send + 'static,
    ) -> Self
    where
        T: Send + 'static,
        O: for<'py> IntoPyObject<'py>,
    {
        let future = async move {
            let output = future.await;
            let outcome: Outcome = Box::new(move |py| made(py, output)?.into_py_any(py));
            outcome
        };
        Self {
            state: Mutex::new(Owned::new(State::Pending(Box::pin(future), None))),
        }
    }

    fn with_state<T>(&self, call: impl FnOnce(&mut State) -> T) -> PyResult<T> {
        // Before the lock, which another thread may have held when this process was forked.
        within(|| ())?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.with_mut(call)
    }
}

#[pymethods]
impl Operation {
    /// Goes on as far as possible. Returns 0 if it is done, or else the token that `wakeups` will have when it can go
    /// on.
    fn poll(&self, py: Python<'_>, wakeups: &Wakeups) -> PyResult<u64> {
        let poll = |state: &mut State| {
            let State::Pending(future, alarm) = state else {
                return 0;
            };
            let alarm = alarm.get_or_insert_with(|| wakeups.alarm());
            let waker = alarm.set();
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => alarm.token,
                Poll::Ready(outcome) => {
                    *state = State::Ready(outcome);
                    0
                }
            }
        };
        // Without the interpreter's lock: it may encrypt, or make a key.
        py.detach(|| self.with_state(poll))
    }

    /// Returns what a done operation gave, once.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let state = self.with_state(|state| mem::replace(state, State::Over))?;
        match state {
            State::Ready(outcome) => outcome(py),
            _ => Err(PyRuntimeError::new_err("the operation has no result")),
        }
    }

    /// Ends the operation without a result.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with_state(|state| *state = State::Over))
    }

    /// Waits on this thread, at most for `timeout` seconds, and returns the result. Handles signals meanwhile; an
    /// exception cancels the operation.
    #[pyo3(signature = (timeout=None))]
    fn wait(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = timeout_of)] timeout: Option<Duration>,
    ) -> PyResult<Py<PyAny>> {
        let state = self.with_state(|state| mem::replace(state, State::Over))?;
        let pending = match state {
            State::Ready(outcome) => return outcome(py),
            State::Pending(pending, _) => pending,
            State::Over => return Err(PyRuntimeError::new_err("the operation is over")),
        };
        wait(py, pending, timeout)?(py)
    }
}

fn timeout_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    seconds("timeout", value)
}

fn wait(py: Python<'_>, pending: Pending, limit: Option<Duration>) -> PyResult<Outcome> {
    let limited = async move {
        match limit {
            Some(limit) => timeout(limit, pending).await.map_err(|_| limit),
            None => Ok(pending.await),
        }
    };
    let mut future = Owned::new(Box::pin(limited));
    let sleeper = Arc::new(Sleeper::default());
    let waker = Waker::from(Arc::clone(&sleeper));
    loop {
        let polled = py.detach(|| {
            let mut context = Context::from_waker(&waker);
            let polled = future.with_mut(|future| future.as_mut().poll(&mut context))?;
            if polled.is_pending() {
                sleeper.sleep();
            }
            Ok::<_, PyErr>(polled)
        })?;
        match polled {
            Poll::Ready(Ok(outcome)) => return Ok(outcome),
            Poll::Ready(Err(limit)) => {
                let text = format!("timed out after {} s", limit.as_secs_f64());
                return Err(PyTimeoutError::new_err(text));
            }
            Poll::Pending => py.check_signals()?,
        }
    }
}

/// A thread that waits.
#[derive(Default)]
struct Sleeper {
    is_woken: Mutex<bool>,
    woken: Condvar,
}

impl Sleeper {
    /// Waits until it is woken, at most one turn.
    fn sleep(&self) {
        let is_woken = self.is_woken.lock().unwrap_or_else(PoisonError::into_inner);
        let slept = self
            .woken
            .wait_timeout_while(is_woken, TURN, |is_woken| !*is_woken);
        let (mut is_woken, _) = slept.unwrap_or_else(PoisonError::into_inner);
        *is_woken = false;
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.woken.notify_one();
    }
}

/// Returns an argument that is a number of seconds or None. `name` is what messages call it.
///
/// # Errors
/// `TypeError` if it is something else, and `ValueError` if it is negative, not a number, or too large.
pub(crate) fn seconds(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    let wanted = format!("{name} is a number of seconds from 0");
    let found: Option<f64> = argument(&wanted, value)?;
    let found = found.map(Duration::try_from_secs_f64).transpose();
    found.map_err(|_| PyValueError::new_err(format!("{wanted}, and not {value}")))
}

/// Returns an argument. `wanted` is its name and what it takes, for messages.
///
/// # Errors
/// `TypeError` if it has another type, and `ValueError` if it is out of range.
pub(crate) fn argument<'a, 'py, T>(wanted: &str, value: &'a Bound<'py, PyAny>) -> PyResult<T>
where
    T: FromPyObject<'a, 'py>,
{
    value.extract().map_err(|error: T::Error| {
        let error: PyErr = error.into();
        let text = match value.repr() {
            Ok(found) => format!("{wanted}, and not {found}"),
            Err(error) => return error,
        };
        if error.is_instance_of::<PyTypeError>(value.py()) {
            PyTypeError::new_err(text)
        } else {
            PyValueError::new_err(text)
        }
    })
}
