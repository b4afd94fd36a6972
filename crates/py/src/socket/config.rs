//! The settings of a connection, from a `dict`. `fairwire.Config` in Python describes each.

use std::time::Duration;

use fairwire::laws::law;
use fairwire::{
    Ccid, Config, DamagedData, DataChecksum, QueuePolicy, ReceiveQueuePolicy, ServiceCode,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::law::registered;
use crate::socket::errors::ConfigError;
use crate::socket::operation::seconds;

/// Sets one setting to a value of Python.
type Set = fn(&mut Config, &Bound<'_, PyAny>) -> PyResult<()>;

/// All settings, by name.
const SETTINGS: &[(&str, Set)] = &[
    ("send_ccids", |config, value| {
        config.send_ccids = ccids(value)?;
        Ok(())
    }),
    ("receive_ccids", |config, value| {
        config.receive_ccids = ccids(value)?;
        Ok(())
    }),
    ("law", |config, value| {
        let name: String = value.extract()?;
        if !registered(std::slice::from_ref(&name)).is_empty() {
            // A thread that holds the interpreter may wait for the connection, which would wait for the interpreter.
            let text =
                format!("the law {name:?} is in Python, and only simulations can have such laws");
            return Err(PyValueError::new_err(text));
        }
        let chosen = law(&name);
        config.ccid2.law = chosen.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(())
    }),
    ("ecn", |config, value| {
        config.ecn = value.extract()?;
        Ok(())
    }),
    ("queue_policy", |config, value| {
        config.send_queue.policy = one_of(
            value,
            &[
                ("back-pressure", QueuePolicy::BackPressure),
                ("drop-oldest", QueuePolicy::DropOldest),
            ],
        )?;
        Ok(())
    }),
    ("queue_packets", |config, value| {
        config.send_queue.packets = value.extract()?;
        Ok(())
    }),
    ("queue_bytes", |config, value| {
        config.send_queue.bytes = value.extract()?;
        Ok(())
    }),
    ("queue_age", |config, value| {
        config.send_queue.age = optional_time(value)?;
        Ok(())
    }),
    ("receive_queue_policy", |config, value| {
        config.receive_queue_policy = one_of(
            value,
            &[
                ("drop-newest", ReceiveQueuePolicy::DropNewest),
                ("drop-oldest", ReceiveQueuePolicy::DropOldest),
            ],
        )?;
        Ok(())
    }),
    ("receive_queue_packets", |config, value| {
        config.receive_queue_packets = value.extract()?;
        Ok(())
    }),
    ("receive_queue_bytes", |config, value| {
        config.receive_queue_bytes = value.extract()?;
        Ok(())
    }),
    ("report_fates", |config, value| {
        config.report_fates = value.extract()?;
        Ok(())
    }),
    ("resend", |config, value| {
        config.resend = value.extract()?;
        Ok(())
    }),
    ("data_checksum", |config, value| {
        config.data_checksum = one_of(
            value,
            &[
                ("off", DataChecksum::Off),
                ("on", DataChecksum::On),
                ("required", DataChecksum::Required),
            ],
        )?;
        Ok(())
    }),
    ("damaged_data", |config, value| {
        config.damaged_data = one_of(
            value,
            &[
                ("drop", DamagedData::Drop),
                ("deliver", DamagedData::Deliver),
            ],
        )?;
        Ok(())
    }),
    ("path_mtu", |config, value| {
        config.path_mtu = value.extract()?;
        Ok(())
    }),
    ("connect_timeout", |config, value| {
        config.connect_timeout = time(value)?;
        Ok(())
    }),
    ("idle_timeout", |config, value| {
        config.idle_timeout = time(value)?;
        Ok(())
    }),
    ("keep_alive", |config, value| {
        config.keep_alive = optional_time(value)?;
        Ok(())
    }),
    ("drain_timeout", |config, value| {
        config.drain_timeout = time(value)?;
        Ok(())
    }),
    ("close_timeout", |config, value| {
        config.close_timeout = time(value)?;
        Ok(())
    }),
];

/// Returns the settings of a `dict`; the others have their defaults.
///
/// # Errors
/// `ConfigError` for a name that is no setting, and for a value that it does not take. What only the protocol knows to
/// be wrong, it says when the connection begins.
pub(crate) fn config(dict: Option<&Bound<'_, PyDict>>) -> PyResult<Config> {
    let mut config = Config::default();
    for (key, value) in dict.into_iter().flatten() {
        let key = key.str()?.to_string();
        let Some((_, set)) = SETTINGS.iter().find(|(name, _)| *name == key) else {
            let names: Vec<_> = SETTINGS.iter().map(|(name, _)| *name).collect();
            let text = format!(
                "no setting is called '{key}': there are {}",
                names.join(", ")
            );
            return Err(ConfigError::new_err(text));
        };
        set(&mut config, &value)
            .map_err(|error| ConfigError::new_err(format!("{key}: {}", error.value(value.py()))))?;
    }
    Ok(config)
}

fn ccids(value: &Bound<'_, PyAny>) -> PyResult<Vec<Ccid>> {
    let numbers: Vec<u8> = value.extract()?;
    Ok(numbers.into_iter().map(Ccid::new).collect())
}

fn time(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    seconds("it", value.extract()?)
}

fn optional_time(value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    let value: Option<f64> = value.extract()?;
    value.map(|value| seconds("it", value)).transpose()
}

fn one_of<T: Copy>(value: &Bound<'_, PyAny>, choices: &[(&str, T)]) -> PyResult<T> {
    let text: String = value.extract()?;
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<_> = choices
            .iter()
            .map(|(name, _)| format!("'{name}'"))
            .collect();
        PyValueError::new_err(format!("'{text}' is none of {}", names.join(", ")))
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
    let Ok(text) = value.extract::<String>() else {
        let text = format!("a service is a str such as 'SC:cam' or a number, and not {value}");
        return Err(PyTypeError::new_err(text));
    };
    text.parse()
        .map_err(|error: <ServiceCode as std::str::FromStr>::Err| {
            PyValueError::new_err(error.to_string())
        })
}
