//! The changes to a scenario, as Python states them.

use fairwire_scenario::Adjust;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::literal::literal;

/// The changes to a scenario, as the functions of this module take them.
#[derive(FromPyObject)]
pub(crate) struct Changes<'py> {
    #[pyo3(item)]
    set: Option<Bound<'py, PyDict>>,
    #[pyo3(item)]
    axes: Option<Bound<'py, PyDict>>,
    #[pyo3(item)]
    only: Option<Vec<String>>,
    #[pyo3(item)]
    duration: Option<String>,
    #[pyo3(item)]
    seeds: Option<u32>,
    #[pyo3(item)]
    seed: Option<u64>,
}

impl Changes<'_> {
    /// Returns the changes as those of the command line.
    ///
    /// # Errors
    /// `TypeError` or `ValueError`, with a message that names the argument.
    pub(crate) fn adjust(&self) -> PyResult<Adjust> {
        let mut adjust = Adjust {
            only: self.only.clone().unwrap_or_default(),
            seeds: self.seeds,
            seed: self.seed,
            ..Adjust::default()
        };
        if let Some(duration) = &self.duration {
            let parsed = duration.parse();
            adjust.duration =
                Some(parsed.map_err(|error| PyValueError::new_err(format!("duration: {error}")))?);
        }
        for (key, value) in self.set.iter().flatten() {
            let key = key.to_string();
            // None takes the key away.
            let text = if value.is_none() {
                String::new()
            } else {
                literal(&value, &format!("set[{key:?}]"))?
            };
            adjust.set.push(format!("{key}={text}"));
        }
        for (name, values) in self.axes.iter().flatten() {
            let name = name.to_string();
            let place = format!("axes[{name:?}]");
            let values = values.try_iter()?.map(|value| {
                let value = value?;
                if value.is_none() {
                    let text = format!("{place}: None is no value of an axis");
                    return Err(PyValueError::new_err(text));
                }
                literal(&value, &place)
            });
            // A list of TOML, because a value may have commas.
            let values = values.collect::<PyResult<Vec<_>>>()?.join(", ");
            adjust.axes.push(format!("{name}=[{values}]"));
        }
        Ok(adjust)
    }
}
