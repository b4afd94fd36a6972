//! Scenarios.

use std::path::PathBuf;

use fairwire_lab::scenario::{Adjust, Cell, ScenarioFile};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Changes, table};
use crate::errors::ScenarioError;

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
            let text = toml::to_string(&table(dict, "")?);
            let text = text.map_err(|error| ScenarioError::new_err(error.to_string()))?;
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
            .map_err(|error| refused(&error, self.is_built))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn refused(error: &fairwire_lab::scenario::ScenarioError, is_built: bool) -> PyErr {
    ScenarioError::new_err(match error.key() {
        Some(key) if is_built => format!("{key}: {}", error.message()),
        _ => error.to_string(),
    })
}
