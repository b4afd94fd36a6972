//! A scenario as text that can be run, with every value.

use std::collections::BTreeMap;

use super::Scenario;
use super::family::literal;
use super::file::{Adjust, ScenarioFile};
use super::place::ScenarioError;
use super::trace::TraceFile;

/// A complete scenario as text, with the texts of the traces that it uses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resolved {
    /// The scenario as TOML with every value, defaults included.
    pub text: String,
    /// The traces of its links, by the names that the scenario gives them.
    pub traces: BTreeMap<String, String>,
}

impl Scenario {
    /// Returns the scenario as text.
    ///
    /// The text has no sources of its values. A paper's scenario must have them, so the text does not say that it
    /// belongs to a paper.
    ///
    /// # Panics
    /// If a value cannot be written as TOML, which is a bug.
    pub fn resolved(&self) -> Resolved {
        let scenario = Self {
            paper: None,
            ..self.clone()
        };
        let text = toml::to_string(&scenario).expect("a scenario is made of TOML's types");
        let traces = self.traces().filter_map(|file| {
            let trace = file.trace()?;
            Some((file.name(), trace.to_string()))
        });
        Resolved {
            text: literal(&text),
            traces: traces.collect(),
        }
    }

    /// Returns the traces of its links.
    pub fn traces(&self) -> impl Iterator<Item = &TraceFile> {
        let links = self.topology.directions().into_iter();
        links.filter_map(|(_, link)| link.trace.as_ref())
    }
}

impl Resolved {
    /// Reads the scenario back.
    ///
    /// # Errors
    /// If it is not one that this version of Fairwire wrote.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let file = ScenarioFile::parse_beside("a scenario", &self.text, self.traces.clone())?;
        let mut cells = file.cells(&Adjust::default())?;
        match cells.pop() {
            Some(cell) if cells.is_empty() => Ok(cell.scenario),
            _ => Err(ScenarioError::new("this is not one scenario")),
        }
    }
}
