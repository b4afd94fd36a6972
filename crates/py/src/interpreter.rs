//! The interpreter that has this module.

use std::sync::OnceLock;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Where that interpreter keeps its modules. No other one has the same place while it lives.
static HOME: OnceLock<usize> = OnceLock::new();

/// Returns an error if another interpreter of this process has the module: its classes belong to one only.
///
/// # Errors
/// `ImportError`.
pub(crate) fn claim(py: Python<'_>) -> PyResult<()> {
    let here = py.import("sys")?.getattr("modules")?.as_ptr() as usize;
    if *HOME.get_or_init(|| here) == here {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "fairwire does not work in a subinterpreter beside another interpreter that uses it: use a process of its own",
    ))
}
