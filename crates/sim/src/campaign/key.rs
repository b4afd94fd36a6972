//! The keys of runs. Runs with equal keys have equal results.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use fairwire_scenario::{Resolved, Scenario};
use sha2::{Digest, Sha256};

use super::seeds::Job;

/// The hash of a resolved scenario, without what changes no run: its title, and how many seeds there are.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ScenarioKey([u8; 16]);

/// The key of a run of the present sources: what it is computed from.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RunKey {
    /// Its scenario.
    pub scenario: ScenarioKey,
    /// Its seed.
    pub seed: u64,
    /// Whether start times are moved at random, as the scenario says; false for the unperturbed run.
    pub perturbed: bool,
}

impl RunKey {
    /// Returns the key of a run of a scenario.
    pub(super) fn new(scenario: ScenarioKey, (perturbed, seed): Job) -> Self {
        Self {
            scenario,
            seed,
            perturbed,
        }
    }

    /// Returns which of the runs of its scenario it is.
    pub(super) fn job(&self) -> Job {
        (self.perturbed, self.seed)
    }
}

impl ScenarioKey {
    /// Returns the key of a scenario.
    ///
    /// `versions` are those of what was registered by name and is not among the present sources, such as window laws in
    /// another language: the versions of those that the scenario names count.
    pub fn of(scenario: &Scenario, versions: &BTreeMap<String, String>) -> Self {
        let resolved = Self::text(scenario);
        let mut hash = Sha256::new();
        let parts = resolved.traces.iter().flat_map(|(name, text)| [name, text]);
        let named = versions
            .iter()
            .filter(|(name, _)| resolved.text.contains(&format!("\"{name}\"")))
            .flat_map(|(name, version)| [name, version]);
        for text in [&resolved.text].into_iter().chain(parts).chain(named) {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        let mut key = [0; 16];
        key.copy_from_slice(&hash.finalize()[..16]);
        Self(key)
    }

    /// Returns the text that the key of a scenario is the hash of.
    pub fn text(scenario: &Scenario) -> Resolved {
        let mut scenario = scenario.clone();
        scenario.title = String::new();
        scenario.about = None;
        let run = &mut scenario.run;
        (run.seeds, run.max_seeds, run.seed) = (1, 1, 1);
        scenario.resolved()
    }
}

impl fmt::Display for ScenarioKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ScenarioKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAKey;

impl FromStr for ScenarioKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        if text.len() != 32 || !text.is_ascii() {
            return Err(NotAKey);
        }
        let mut key = [0; 16];
        for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| NotAKey)?;
        }
        Ok(Self(key))
    }
}
