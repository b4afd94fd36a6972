//! Python values as text of TOML, with the keys of a `dict` in its order.
//!
//! The order counts: of two links that could be taken, a path takes the first, and the values of an axis come in the
//! order in which they are written.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use toml::Value;

/// How deep lists and dicts may be in each other. No scenario is as deep, and a list may have itself in it.
const DEEPEST: usize = 64;

/// Returns a `dict` as the lines of a file of TOML.
///
/// # Errors
/// `TypeError` for a key that is not a `str` or a value that no scenario has; the message names the key.
pub(crate) fn document(dict: &Bound<'_, PyDict>) -> PyResult<String> {
    let entries = entries(dict, "", 0)?.into_iter();
    let lines = entries.map(|(key, value)| format!("{key} = {value}\n"));
    Ok(lines.collect())
}

/// Returns a value as TOML in one line. `path` is what messages call it.
///
/// # Errors
/// As of [`document`].
pub(crate) fn literal(value: &Bound<'_, PyAny>, path: &str) -> PyResult<String> {
    nested(value, path, 0)
}

/// Returns the keys of a `dict` with their values, both as TOML.
fn entries(dict: &Bound<'_, PyDict>, path: &str, depth: usize) -> PyResult<Vec<(String, String)>> {
    let mut entries = Vec::with_capacity(dict.len());
    for (key, value) in dict {
        let Ok(key) = key.cast::<PyString>() else {
            let place = if path.is_empty() {
                "the scenario"
            } else {
                path
            };
            let text = format!("a key of {place} is {key}, and not a str");
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
            entries.push((quoted(&key), nested(&value, &path, depth + 1)?));
        }
    }
    Ok(entries)
}

fn nested(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<String> {
    if depth > DEEPEST {
        let begin: String = path.chars().take(40).collect();
        let text = format!("{begin}...: lists and dicts in each other, more than {DEEPEST} deep");
        return Err(PyValueError::new_err(text));
    }
    let items = |items: Vec<Bound<'_, PyAny>>| {
        let items = (0..).zip(items);
        let items = items.map(|(i, item)| nested(&item, &format!("{path}[{i}]"), depth + 1));
        Ok(format!(
            "[{}]",
            items.collect::<PyResult<Vec<_>>>()?.join(", ")
        ))
    };
    let table = |dict: &Bound<'_, PyDict>| {
        let entries = entries(dict, path, depth)?.into_iter();
        let entries = entries.map(|(key, value)| format!("{key} = {value}"));
        Ok(format!("{{ {} }}", entries.collect::<Vec<_>>().join(", ")))
    };
    if let Ok(value) = value.cast::<PyBool>() {
        Ok(value.is_true().to_string())
    } else if let Ok(value) = value.cast::<PyString>() {
        Ok(quoted(&value.to_string()))
    } else if let Ok(dict) = value.cast::<PyDict>() {
        table(dict)
    } else if let Ok(list) = value.cast::<PyList>() {
        items(list.iter().collect())
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        items(tuple.iter().collect())
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        let dict = PyDict::new(value.py());
        dict.update(mapping)?;
        table(&dict)
    } else if value.hasattr("tolist")? {
        // A number, a bool or an array of numpy.
        nested(&value.call_method0("tolist")?, path, depth + 1)
    } else if value.hasattr("total_seconds")? {
        duration(value).map(|text| quoted(&text))
    } else if value.hasattr("__fspath__")? {
        nested(&value.call_method0("__fspath__")?, path, depth + 1)
    } else if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let number: i64 = value.extract().map_err(|_| {
            PyValueError::new_err(format!("{path}: {value} is too large for a scenario"))
        })?;
        Ok(number.to_string())
    } else if value.is_instance_of::<PyFloat>() || value.hasattr("__float__")? {
        let number: f64 = value.extract()?;
        if !number.is_finite() {
            let text = format!("{path}: {value} is no value of a scenario");
            return Err(PyValueError::new_err(text));
        }
        Ok(Value::Float(number).to_string())
    } else {
        let kind = value.get_type().name()?;
        let text = format!(
            "{path}: a value of type {kind} cannot be in a scenario: give a str, a number, a bool, a list or a dict"
        );
        Err(PyTypeError::new_err(text))
    }
}

/// Returns a `timedelta` as a scenario has it, in the largest unit of which it is a whole number.
fn duration(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let part = |name: &str| value.getattr(name)?.extract::<i64>();
    let us = (part("days")? * 86_400 + part("seconds")?) * 1_000_000 + part("microseconds")?;
    Ok(match us {
        us if us % 1_000_000 == 0 => format!("{} s", us / 1_000_000),
        us if us % 1_000 == 0 => format!("{} ms", us / 1_000),
        us => format!("{us} us"),
    })
}

/// Returns a text as a basic string of TOML, which is in one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if char.is_control() => {
                quoted.extend(format!("\\U{:08X}", u32::from(char)).chars());
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
