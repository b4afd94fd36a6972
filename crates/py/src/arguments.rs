//! Python values as the values of a scenario.

use fairwire_lab::scenario::Adjust;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use toml::{Table, Value};

/// Returns a `dict` as a table of TOML.
///
/// # Errors
/// `TypeError` for a key that is not a `str` or a value that no scenario has; the message names the key.
pub(crate) fn table(dict: &Bound<'_, PyDict>, path: &str) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in dict {
        let Ok(key) = key.cast::<PyString>() else {
            let text = format!("a key of {} is {key}, and not a str", place(path));
            return Err(PyTypeError::new_err(text));
        };
        let key = key.to_string();
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        // A key without a value is as if it were not there.
        if !value.is_none() {
            table.insert(key, self::value(&value, &path)?);
        }
    }
    Ok(table)
}

/// How deep lists and dicts may be in each other.
const DEEPEST: usize = 64;

fn place(path: &str) -> &str {
    if path.is_empty() {
        "the scenario"
    } else {
        path
    }
}

fn value(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    // No scenario is as deep, and a list may have itself in it.
    if path.matches(['.', '[']).count() > DEEPEST {
        let begin: String = path.chars().take(40).collect();
        let text = format!("{begin}...: lists and dicts in each other, more than {DEEPEST} deep");
        return Err(PyValueError::new_err(text));
    }
    let items = |items: Vec<Bound<'_, PyAny>>| {
        let items = (0..).zip(items);
        let items = items.map(|(i, item)| self::value(&item, &format!("{path}[{i}]")));
        Ok(Value::Array(items.collect::<PyResult<_>>()?))
    };
    if let Ok(value) = value.cast::<PyBool>() {
        Ok(Value::Boolean(value.is_true()))
    } else if let Ok(value) = value.cast::<PyString>() {
        Ok(Value::String(value.to_string()))
    } else if let Ok(dict) = value.cast::<PyDict>() {
        Ok(Value::Table(table(dict, path)?))
    } else if let Ok(list) = value.cast::<PyList>() {
        items(list.iter().collect())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        items(tuple.iter().collect())
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        let dict = PyDict::new(value.py());
        dict.update(mapping)?;
        Ok(Value::Table(table(&dict, path)?))
    } else if value.hasattr("tolist")? {
        // A number, a bool or an array of numpy.
        self::value(&value.call_method0("tolist")?, path)
    } else if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let number = value.extract().map_err(|_| {
            PyValueError::new_err(format!("{path}: {value} is too large for a scenario"))
        })?;
        Ok(Value::Integer(number))
    } else if value.is_instance_of::<PyFloat>() || value.hasattr("__float__")? {
        let number: f64 = value.extract()?;
        if !number.is_finite() {
            let text = format!("{path}: {value} is no value of a scenario");
            return Err(PyValueError::new_err(text));
        }
        Ok(Value::Float(number))
    } else {
        let kind = value.get_type().name()?;
        let text = format!(
            "{path}: a value of type {kind} cannot be in a scenario: give a str, a number, a bool, a list or a dict"
        );
        Err(PyTypeError::new_err(text))
    }
}

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
                self::value(&value, &format!("set[{key:?}]"))?.to_string()
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
                self::value(&value, &place)
            });
            // A list of TOML, because a value may have commas.
            let values = Value::Array(values.collect::<PyResult<_>>()?);
            adjust.axes.push(format!("{name}={values}"));
        }
        Ok(adjust)
    }
}
