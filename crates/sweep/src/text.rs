//! The text of a scenario, as a store keeps it and a task has it.

use std::collections::BTreeMap;

use fairwire_scenario::{Resolved, Scenario};
use fairwire_sim::campaign::ScenarioKey;
use serde::{Deserialize, Serialize};

/// A resolved scenario with its key.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "Json", into = "Json")]
pub(crate) struct ScenarioText {
    pub(crate) scenario: String,
    pub(crate) title: String,
    pub(crate) resolved: Resolved,
}

#[derive(Deserialize, Serialize)]
struct Json {
    scenario: String,
    title: String,
    text: String,
    traces: BTreeMap<String, String>,
}

impl ScenarioText {
    /// Returns the text of a scenario.
    pub(crate) fn of(key: ScenarioKey, scenario: &Scenario) -> Self {
        Self {
            scenario: key.to_string(),
            title: scenario.title.clone(),
            resolved: ScenarioKey::text(scenario),
        }
    }

    pub(crate) fn new(
        scenario: &str,
        title: String,
        text: String,
        traces: BTreeMap<String, String>,
    ) -> Self {
        Self {
            scenario: scenario.to_owned(),
            title,
            resolved: Resolved { text, traces },
        }
    }

    /// Returns the checksum of everything in it.
    pub(crate) fn checksum(&self) -> u32 {
        crc32c::crc32c(&serde_json::to_vec(self).expect("texts are JSON"))
    }
}

impl From<Json> for ScenarioText {
    fn from(json: Json) -> Self {
        Self::new(&json.scenario, json.title, json.text, json.traces)
    }
}

impl From<ScenarioText> for Json {
    fn from(text: ScenarioText) -> Self {
        Self {
            scenario: text.scenario,
            title: text.title,
            text: text.resolved.text,
            traces: text.resolved.traces,
        }
    }
}
