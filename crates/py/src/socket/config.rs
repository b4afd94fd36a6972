//! The settings of a connection, from a `dict`. `fairwire.Config` in Python describes each.

use fairwire::{Config, Profile, ServiceCode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use crate::law::registered;
use crate::socket::errors::ConfigError;
use crate::socket::operation::argument;

/// Short names of keys.
const SHORT: [(&str, &str); 5] = [
    ("law", LAW),
    ("queue_policy", "send_queue.policy"),
    ("queue_packets", "send_queue.packets"),
    ("queue_bytes", "send_queue.bytes"),
    ("queue_age", "send_queue.age"),
];

const LAW: &str = "ccid2.law";
const PROFILE: &str = "profile";

/// Returns the settings of a `dict`; the others are those of its profile.
///
/// # Errors
/// `ConfigError` for a name that is no setting, and for a value that it does not take. What does not fit together is
/// found when the connection begins.
pub(crate) fn config(dict: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
    let mut config = profile(dict)?.config();
    let keys = Config::keys();
    for (name, value) in dict.into_iter().flatten() {
        let name = name.str()?.to_string();
        if name == PROFILE {
            continue;
        }
        let long = SHORT.iter().find(|(short, _)| *short == name);
        let long = long.map_or(name.as_str(), |(_, long)| long);
        let unit = keys.iter().find(|key| key.name == long);
        let text = text(&value, unit.and_then(|key| key.unit))?;
        let wrong = |problem: &str| ConfigError::new_err(format!("{name}: {problem}"));
        if long == LAW && !registered(std::slice::from_ref(&text)).is_empty() {
            // A thread that holds the interpreter may wait for the connection, which would wait for the interpreter.
            let problem =
                format!("the law {text:?} is in Python, and only simulations can have such laws");
            return Err(wrong(&problem));
        }
        config
            .set(long, &text)
            .map_err(|error| wrong(error.problem()))?;
    }
    Ok(config)
}

/// Returns the profile that a `dict` names, or the default of sockets.
fn profile(dict: Option<&Bound<'_, PyDict>>) -> PyResult<Profile> {
    match dict
        .map(|dict| dict.get_item(PROFILE))
        .transpose()?
        .flatten()
    {
        Some(name) => argument::<String>("profile: the name of a profile", &name)?
            .parse()
            .map_err(|error: fairwire::ConfigError| ConfigError::new_err(error.to_string())),
        None => Ok(Profile::default()),
    }
}

/// Returns a value as a text for [`Config::set`]. A number has the key's unit.
fn text(value: &Bound<'_, PyAny>, unit: Option<&str>) -> PyResult<String> {
    if value.is_none() {
        return Ok("none".to_owned());
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyString>() {
        return value.extract();
    }
    // A `timedelta`.
    if let Ok(seconds) = value.call_method0("total_seconds") {
        return Ok(format!("{seconds} s"));
    }
    if let Ok(items) = value.try_iter() {
        let items = items.map(|item| text(&item?, None));
        return Ok(items.collect::<PyResult<Vec<_>>>()?.join(", "));
    }
    Ok(match unit {
        Some(unit) => format!("{value} {unit}"),
        None => value.to_string(),
    })
}

/// Returns a service code: a `str` such as "SC:cam", or a number.
///
/// # Errors
/// `ValueError` or `TypeError`, with a message that says what it takes.
pub(crate) fn service(value: &Bound<'_, PyAny>) -> PyResult<ServiceCode> {
    if let Ok(number) = value.extract::<u32>() {
        return Ok(ServiceCode(number));
    }
    let wanted = "service is a str such as 'SC:cam' or a number from 0 to 4294967295";
    if value.is_instance_of::<PyInt>() {
        return Err(PyValueError::new_err(format!("{wanted}, and not {value}")));
    }
    let text: String = argument(wanted, value)?;
    text.parse()
        .map_err(|error: <ServiceCode as std::str::FromStr>::Err| {
            PyValueError::new_err(format!("service: {error}"))
        })
}
