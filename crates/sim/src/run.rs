//! One run: one cell with one seed, from the first event to the results.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use fairwire_units::{Duration, Instant};

use super::build::build;
use super::capture::Tap;
use super::error::RunError;
use super::gather::{Readings, gather};
use crate::results::RunResult;
use fairwire_scenario::Scenario;

/// Options of a run beside the scenario.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// A capture of whole packets as pcapng.
    pub capture: Option<Tap>,
    /// A flag that stops the run when it becomes true.
    pub stop: Option<&'a AtomicBool>,
    /// A function that gets the simulated time since its last call, at each reading.
    pub progress: Option<&'a (dyn Fn(Duration) + Sync)>,
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOptions")
            .field("captures", &self.capture.is_some())
            .finish_non_exhaustive()
    }
}

/// Runs `scenario` with `seed`. Without `perturbed`, flows start exactly when the scenario says.
///
/// The same arguments give the same result on every machine and in every build.
///
/// # Errors
/// See [`RunError`].
pub fn run(
    scenario: &Scenario,
    (seed, perturbed): (u64, bool),
    options: RunOptions<'_>,
) -> Result<RunResult, RunError> {
    let capture = options.capture;
    let mut built = build(scenario, (seed, perturbed), capture)?;
    let mut readings: Readings = Vec::new();
    let mut done = Instant::START;
    let is_stopped = || {
        let stop = options.stop;
        stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    };
    for moment in built.windows.readings() {
        let is_finished = built.network.run_until_unless(moment, is_stopped);
        // A part of this run may have failed and asked to stop, such as a window law in another language. A run that
        // has reported its last progress counts as finished.
        if !is_finished || is_stopped() {
            return Err(RunError::Interrupted);
        }
        if let Some(progress) = options.progress {
            progress(moment.saturating_since(done));
        }
        done = moment;
        let now = built.flows.iter().map(|flow| flow.readings(&built.network));
        readings.push((moment, now.collect()));
    }
    Ok(gather(scenario, (seed, perturbed), built, &readings))
}
