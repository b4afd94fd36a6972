//! Tasks as bytes, for workers in other processes and on other machines.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairwire_scenario::{Scenario, ScenarioError};
use fairwire_sim::campaign::{RunKey, ScenarioKey, Task};
use fairwire_sim::{RunError, RunOptions, run};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::record::{Origin, Recorded, SOURCES};
use crate::text::ScenarioText;

/// Why a worker cannot do a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The worker has other code than the one that made the task.
    #[error(
        "this worker has other code than the program that sent the runs (sources {SOURCES} here, {task} there): \
         install the same version of fairwire on both"
    )]
    OtherCode {
        /// The hash of the sources of the one that made the task.
        task: String,
    },
    /// The bytes are no task.
    #[error("these bytes are no task: {0}")]
    Unreadable(String),
    /// A scenario cannot be read back, which is a bug.
    #[error("a scenario cannot be read back, which is a bug: {0}")]
    Scenario(ScenarioError),
    /// A run failed, or was interrupted.
    #[error(transparent)]
    Run(RunError),
}

#[derive(Deserialize, Serialize)]
struct Json {
    sources: String,
    scenarios: Vec<ScenarioText>,
    runs: Vec<(String, u64, bool)>,
}

/// Returns a task as bytes.
pub fn task_bytes(task: &Task) -> Vec<u8> {
    let scenarios: BTreeMap<ScenarioKey, &Scenario> =
        task.runs().map(|(run, of)| (run.scenario, of)).collect();
    let texts = scenarios.into_iter();
    let runs = task.runs();
    let json = Json {
        sources: SOURCES.to_owned(),
        scenarios: texts.map(|(key, of)| ScenarioText::of(key, of)).collect(),
        runs: runs
            .map(|(run, _)| (run.scenario.to_string(), run.seed, run.perturbed))
            .collect(),
    };
    json!(json).to_string().into_bytes()
}

/// Does a task that [`task_bytes`] made bytes of.
///
/// # Errors
/// See [`TaskError`].
pub fn work(
    bytes: &[u8],
    origin: &Arc<Origin>,
    stop: &AtomicBool,
) -> Result<Vec<Recorded>, TaskError> {
    let unreadable = |error: &dyn fmt::Display| TaskError::Unreadable(error.to_string());
    let task: Json = serde_json::from_slice(bytes).map_err(|error| unreadable(&error))?;
    if task.sources != SOURCES {
        return Err(TaskError::OtherCode { task: task.sources });
    }
    let mut scenarios: BTreeMap<ScenarioKey, Scenario> = BTreeMap::new();
    for text in &task.scenarios {
        let key = ScenarioKey::from_str(&text.scenario);
        let key = key.map_err(|_| unreadable(&"the key of a scenario is wrong"))?;
        let scenario = text.resolved.scenario().map_err(TaskError::Scenario)?;
        scenarios.insert(key, scenario);
    }
    let runs = task.runs.iter().map(|(scenario, seed, perturbed)| {
        let key = ScenarioKey::from_str(scenario).ok();
        let found = key.and_then(|key| Some((key, scenarios.get(&key)?)));
        let (key, scenario) = found.ok_or_else(|| unreadable(&"a run has no scenario"))?;
        let key = RunKey {
            scenario: key,
            seed: *seed,
            perturbed: *perturbed,
        };
        compute(key, scenario, origin, stop)
    });
    runs.collect()
}

fn compute(
    key: RunKey,
    scenario: &Scenario,
    origin: &Arc<Origin>,
    stop: &AtomicBool,
) -> Result<Recorded, TaskError> {
    let options = RunOptions {
        stop: Some(stop),
        ..RunOptions::default()
    };
    let run = run(scenario, (key.seed, key.perturbed), options).map_err(TaskError::Run)?;
    Ok(Recorded {
        scenario: key.scenario,
        run,
        origin: Arc::clone(origin),
    })
}
