//! Window laws in Python.
//!
//! A law cannot return an error in the middle of a run. So the first one that fails is noted for all computations that
//! use the law, and these are told to stop: a run that is stopped has no result.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairwire::laws::{Adjustment, Kind, Law, Signal, Window, WindowLaw, register_law};
use fairwire_scenario::Cell;
use fairwire_units::Duration;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::LawError;
use crate::watch::Watch;

/// The classes that were registered, by name.
static CLASSES: Mutex<BTreeMap<&'static str, Class>> = Mutex::new(BTreeMap::new());

/// The computations that are under way.
static WATCHES: Mutex<Vec<Arc<Watch>>> = Mutex::new(Vec::new());

/// A class that is a law.
struct Class {
    object: Py<PyAny>,
    has: Has,
}

/// Which of the optional methods a class has.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one for each method, and they do not exclude each other"
)]
struct Has {
    threshold: bool,
    observe: bool,
    after_timeout: bool,
    slow_start: bool,
    initial_ssthresh: bool,
    reset: bool,
}

/// What a law sees: sizes in packets, times in seconds.
#[pyclass(frozen, get_all, module = "fairwire._fairwire")]
pub(crate) struct LawWindow {
    /// The time of the event, since the beginning of the run.
    now: f64,
    /// The congestion window; for a cut, the one from which the cut is computed.
    cwnd: f64,
    /// Growth already earned that is less than a whole packet, if windows are whole packets.
    credit: f64,
    /// The slow-start threshold; may be infinite.
    ssthresh: f64,
    /// The packets acknowledged with this event.
    acked: u32,
    /// The packets in the network.
    flight: u32,
    /// The round-trip sample that came with this event.
    rtt: Option<f64>,
    /// The smoothed round-trip time.
    srtt: Option<f64>,
    /// The shortest round trip seen.
    min_rtt: Option<f64>,
    /// The packets that arrived in this round trip so far.
    round_delivered: u32,
    /// The marked packets among them.
    round_marked: u32,
    /// Whether the round trip ends with this event.
    round_ends: bool,
}

impl LawWindow {
    fn of(window: &Window) -> Self {
        Self {
            now: window.now.as_secs_f64(),
            cwnd: window.cwnd,
            credit: window.credit,
            ssthresh: window.ssthresh,
            acked: window.acked,
            flight: window.flight.packets,
            rtt: window.rtt.map(Duration::as_secs_f64),
            srtt: window.srtt.map(Duration::as_secs_f64),
            min_rtt: window.min_rtt.map(Duration::as_secs_f64),
            round_delivered: window.round.delivered,
            round_marked: window.round.marked,
            round_ends: window.round.ends,
        }
    }
}

/// Registers a class as the window law `name`. A class that had the name before is replaced.
#[pyfunction]
pub(crate) fn register_window_law(
    name: &str,
    class_: &Bound<'_, PyAny>,
    meaning: &str,
) -> PyResult<()> {
    let class = class_;
    for method in ["increase", "cut"] {
        if !class
            .getattr_opt(method)?
            .is_some_and(|it| it.is_callable())
        {
            let text = format!("the law '{name}' needs a method {method}");
            return Err(PyTypeError::new_err(text));
        }
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        let text = format!("{name:?} is no name of a law: use small letters, digits and '-'");
        return Err(PyValueError::new_err(text));
    }
    let has = |method| class.hasattr(method);
    let entry = Class {
        has: Has {
            threshold: has("threshold")?,
            observe: has("observe")?,
            after_timeout: has("after_timeout")?,
            slow_start: has("slow_start")?,
            initial_ssthresh: has("initial_ssthresh")?,
            reset: has("reset")?,
        },
        object: class.clone().unbind(),
    };
    let mut classes = lock(&CLASSES);
    if let Some(known) = classes.get_mut(name) {
        // The old class is dropped after the lock is given back, because that may run Python.
        let old = std::mem::replace(known, entry);
        drop(classes);
        drop(old);
        return Ok(());
    }
    // The registry keeps it as long as the process lives.
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let meaning: &'static str = Box::leak(meaning.to_owned().into_boxed_str());
    let kind = Kind::<dyn Law>::new(leaked, meaning).made_by(move || Arc::new(PyLaw(leaked)));
    register_law(kind).map_err(|error| PyValueError::new_err(error.to_string()))?;
    classes.insert(leaked, entry);
    Ok(())
}

/// Returns the laws in Python that have these names.
pub(crate) fn registered(names: &[String]) -> Vec<&'static str> {
    let classes = lock(&CLASSES);
    let found = names
        .iter()
        .filter_map(|name| classes.get_key_value(name.as_str()));
    found.map(|(name, _)| *name).collect()
}

/// Returns how many runs there are at the same time: one for each processor unless `jobs` says otherwise. With laws in
/// Python it is one, because one thread at a time has the interpreter, and the others would only wait for it.
pub(crate) fn threads(jobs: Option<usize>, laws: &[&str]) -> usize {
    let all = if laws.is_empty() {
        fairwire_sim::campaign::threads()
    } else {
        1
    };
    jobs.unwrap_or(all)
}

/// Returns the laws in Python that cells name.
pub(crate) fn of_cells(cells: &[Cell]) -> Vec<&'static str> {
    let names: Vec<&'static str> = lock(&CLASSES).keys().copied().collect();
    if names.is_empty() {
        return Vec::new();
    }
    let texts: Vec<String> = cells
        .iter()
        .map(|cell| cell.scenario.resolved().text)
        .collect();
    let is_named = |name: &&str| {
        let quoted = format!("\"{name}\"");
        texts.iter().any(|text| text.contains(&quoted))
    };
    names.into_iter().filter(is_named).collect()
}

/// Tells failures of laws to `watch` as long as the returned value lives.
pub(crate) fn watched(watch: &Arc<Watch>) -> Watched {
    lock(&WATCHES).push(Arc::clone(watch));
    Watched(Arc::clone(watch))
}

/// Ends the watching of laws when it is dropped.
#[derive(Debug)]
pub(crate) struct Watched(Arc<Watch>);

impl Drop for Watched {
    fn drop(&mut self) {
        lock(&WATCHES).retain(|watch| !Arc::ptr_eq(watch, &self.0));
    }
}

fn failed(py: Python<'_>, name: &'static str, method: &str, cause: PyErr) {
    let kind = cause
        .get_type(py)
        .name()
        .map_or_else(|_| String::new(), |it| it.to_string());
    // Our own words about what a law returned need no class.
    let kind = if cause.is_instance_of::<LawError>(py) {
        String::new()
    } else {
        format!("{kind}: ")
    };
    let text = format!(
        "the law '{name}' failed in {method}: {kind}{}",
        cause.value(py)
    );
    // Python may run another thread below, which must not find the lock taken.
    let mut watches = lock(&WATCHES).clone();
    watches.retain(|watch| watch.laws.contains(&name));
    for watch in watches {
        let error = LawError::new_err(text.clone());
        error.set_cause(py, Some(cause.clone_ref(py)));
        watch.fail(error);
    }
}

/// The law of a class, by its name.
struct PyLaw(&'static str);

impl fmt::Debug for PyLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Law for PyLaw {
    fn build(&self) -> Box<dyn WindowLaw> {
        let name = self.0;
        Python::attach(|py| {
            let found = lock(&CLASSES)
                .get(name)
                .map(|it| (it.object.clone_ref(py), it.has));
            let Some((class, has)) = found else {
                return Box::new(PyWindowLaw { name, made: None });
            };
            let made = match class.call0(py) {
                Ok(instance) => Some((instance, has)),
                Err(error) => {
                    failed(py, name, "__init__", error);
                    None
                }
            };
            Box::new(PyWindowLaw { name, made })
        })
    }

    fn wants_every_sample(&self) -> bool {
        false
    }

    fn counts_marks(&self) -> bool {
        false
    }

    fn problem(&self) -> Option<&'static str> {
        None
    }
}

/// An instance of a class, for one connection.
struct PyWindowLaw {
    name: &'static str,
    /// None if it has failed.
    made: Option<(Py<PyAny>, Has)>,
}

impl fmt::Debug for PyWindowLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PyWindowLaw {
    /// Calls a method. After a failure, `otherwise` is what the run goes on with until it stops.
    fn call<T>(
        &self,
        method: &'static str,
        is_there: impl Fn(Has) -> bool,
        otherwise: T,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> T {
        let Some((instance, has)) = &self.made else {
            return otherwise;
        };
        if !is_there(*has) {
            return otherwise;
        }
        Python::attach(|py| match call(instance.bind(py)) {
            Ok(value) => value,
            Err(error) => {
                failed(py, self.name, method, error);
                otherwise
            }
        })
    }
}

/// Returns a size that a law computed, unless it is none.
fn size(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        Ok(number) => Err(no_size(&number)),
        Err(_) => Err(no_size(&value.repr()?)),
    }
}

fn no_size(value: &dyn fmt::Display) -> PyErr {
    LawError::new_err(format!(
        "it returned {value}, and a size in packets is a number from 0"
    ))
}

fn word(signal: Signal) -> &'static str {
    match signal {
        Signal::Lost => "loss",
        Signal::Marked => "mark",
    }
}

impl WindowLaw for PyWindowLaw {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        let seen = LawWindow::of(window);
        self.call(
            "increase",
            |_| true,
            0.0,
            |law| size(&law.call_method1("increase", (seen, acked))?),
        )
    }

    fn cut(&mut self, window: &Window, signal: Signal) -> f64 {
        let seen = LawWindow::of(window);
        self.call(
            "cut",
            |_| true,
            window.cwnd / 2.0,
            |law| size(&law.call_method1("cut", (seen, word(signal)))?),
        )
    }

    fn threshold(&self, left: f64) -> f64 {
        self.call(
            "threshold",
            |has| has.threshold,
            left,
            |law| size(&law.call_method1("threshold", (left,))?),
        )
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        let seen = || LawWindow::of(window);
        self.call(
            "observe",
            |has| has.observe,
            None,
            |law| {
                let adjusted = law.call_method1("observe", (seen(),))?;
                if adjusted.is_none() {
                    return Ok(None);
                }
                let pair: PyResult<(Bound<'_, PyAny>, f64)> = adjusted.extract();
                let Ok((cwnd, ssthresh)) = pair else {
                    let found = adjusted.repr()?;
                    let text = format!("it returned {found}, and not None or (cwnd, ssthresh)");
                    return Err(LawError::new_err(text));
                };
                if ssthresh.is_nan() || ssthresh < 0.0 {
                    let text = format!("it returned a threshold of {ssthresh}");
                    return Err(LawError::new_err(text));
                }
                let cwnd = size(&cwnd)?;
                Ok(Some(Adjustment { cwnd, ssthresh }))
            },
        )
    }

    fn after_timeout(&mut self, window: &Window) -> f64 {
        let seen = || LawWindow::of(window);
        self.call(
            "after_timeout",
            |has| has.after_timeout,
            window.cwnd / 2.0,
            |law| size(&law.call_method1("after_timeout", (seen(),))?),
        )
    }

    fn slow_start(&mut self, window: &Window, growth: f64) -> f64 {
        let seen = || LawWindow::of(window);
        self.call(
            "slow_start",
            |has| has.slow_start,
            growth,
            |law| size(&law.call_method1("slow_start", (seen(), growth))?),
        )
    }

    fn initial_ssthresh(&self) -> Option<f64> {
        self.call(
            "initial_ssthresh",
            |has| has.initial_ssthresh,
            None,
            |law| {
                let value = law.call_method0("initial_ssthresh")?;
                if value.is_none() {
                    return Ok(None);
                }
                Ok(Some(size(&value)?))
            },
        )
    }

    fn reset(&mut self) {
        self.call(
            "reset",
            |has| has.reset,
            (),
            |law| law.call_method0("reset").map(drop),
        );
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
