//! The text of a scenario, as a store keeps it.

use std::collections::BTreeMap;
use std::str::FromStr;

use fairwire_scenario::Resolved;
use serde::{Deserialize, Serialize};

use crate::key::ScenarioKey;

/// A resolved scenario with its key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ScenarioText {
    pub(crate) scenario: ScenarioKey,
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
    pub(crate) fn write(&self) -> Vec<u8> {
        let json = Json {
            scenario: self.scenario.to_string(),
            title: self.title.clone(),
            text: self.resolved.text.clone(),
            traces: self.resolved.traces.clone(),
        };
        serde_json::to_vec(&json).expect("texts are JSON")
    }

    pub(crate) fn read(json: &[u8]) -> Result<Self, serde_json::Error> {
        let json: Json = serde_json::from_slice(json)?;
        let scenario = ScenarioKey::from_str(&json.scenario)
            .map_err(|_| serde::de::Error::custom("the key of a scenario is wrong"))?;
        Ok(Self {
            scenario,
            title: json.title,
            resolved: Resolved {
                text: json.text,
                traces: json.traces,
            },
        })
    }
}
