//! Scenarios.

use std::path::PathBuf;

use fairwire_scenario::{Adjust, Cell, ScenarioError as LabError, ScenarioFile};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Changes;
use crate::errors::ScenarioError;
use crate::literal::document;

/// What messages call a scenario that is built from Python values.
const BUILT: &str = "the scenario";

/// A scenario: a file, or a dict of Python values.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Scenario {
    file: ScenarioFile,
    #[pyo3(get)]
    name: String,
    /// Whether it is made from Python values, so that its text is nothing that a user wrote.
    is_built: bool,
}

#[pymethods]
impl Scenario {
    /// Reads the file at a path, or takes the values of a dict.
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(dict) = source.cast::<PyDict>() {
            let text = document(dict)?;
            let file = ScenarioFile::parse(BUILT, &text).map_err(|error| refused(&error, true))?;
            let name = BUILT.to_owned();
            return Ok(Self {
                file,
                name,
                is_built: true,
            });
        }
        let path: PathBuf = source.extract()?;
        Ok(Self {
            file: ScenarioFile::load(&path).map_err(|error| refused(&error, false))?,
            name: path.display().to_string(),
            is_built: false,
        })
    }

    /// Returns the names of the experiments that it makes with these changes.
    fn cells(&self, changes: Changes<'_>) -> PyResult<Vec<String>> {
        let cells = self.made(&changes.adjust()?)?;
        Ok(cells.into_iter().map(|cell| cell.name).collect())
    }
}

impl Scenario {
    /// Returns its experiments with these changes.
    ///
    /// # Errors
    /// [`ScenarioError`].
    pub(crate) fn made(&self, adjust: &Adjust) -> PyResult<Vec<Cell>> {
        self.file
            .cells(adjust)
            .map_err(|error| match of_argument(&error, adjust) {
                Some(text) => ScenarioError::new_err(text),
                None => refused(&error, self.is_built),
            })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn refused(error: &LabError, is_built: bool) -> PyErr {
    if !is_built {
        return ScenarioError::new_err(error.to_string());
    }
    let key = error.key();
    let place = key.as_deref().unwrap_or(BUILT);
    ScenarioError::new_err(format!("{place}: {}", error.message()))
}

/// Returns the message of an error that is in an argument, in words of Python; none if it is in the scenario.
///
/// The lab takes changes as options of its command line.
fn of_argument(error: &LabError, adjust: &Adjust) -> Option<String> {
    let option = error.argument()?;
    let argument = if let Some(setting) = option.strip_prefix("--set ") {
        match setting.split_once('=') {
            Some((key, "")) => format!("set[{key:?}] = None"),
            Some((key, value)) => format!("set[{key:?}] = {value}"),
            None => format!("set[{setting:?}]"),
        }
    } else if let Some(axis) = option.strip_prefix("--axes ") {
        let name = axis.split_once('=').map_or(axis, |(name, _)| name);
        format!("axes[{name:?}]")
    } else if option.starts_with("--duration ") {
        "duration".to_owned()
    } else if let Some(key) = error.key() {
        format!("set[{key:?}]")
    } else {
        // The place is in the value of an argument.
        let named = |arguments: &[String], name: &str| {
            let mut pairs = arguments.iter().filter_map(|it| it.split_once('='));
            let found = pairs.find(|(_, value)| *value == option);
            found.map(|(key, _)| format!("{name}[{key:?}]"))
        };
        let found = named(&adjust.set, "set").or_else(|| named(&adjust.axes, "axes"));
        found.unwrap_or_else(|| option.to_owned())
    };
    let notes = error.notes().iter().map(|note| format!(" ({note})"));
    let notes = notes.collect::<String>();
    Some(format!("{argument}: {}{notes}", error.message()))
}
