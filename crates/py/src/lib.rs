//! The native part of the Python package `fairwire`: it builds scenarios, runs them, and hands over results as Arrow.
//!
//! What users call is in `python/fairwire`, in typed Python. This module is thin: it converts arguments, releases the
//! interpreter while runs are computed, and turns errors into exceptions.

#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 passes arguments by value"
)]

mod arguments;
mod attended;
mod capture;
mod command;
mod errors;
mod interpreter;
mod law;
mod literal;
mod paper;
mod results;
mod run;
mod scenario;
mod socket;
mod source;
mod store;
mod sweep;
mod table;
mod tabulate;
mod watch;

use pyo3::prelude::*;

/// The native module of the package `fairwire`.
#[pymodule]
mod _fairwire {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::errors::{
        FairwireError, InternalError, LawError, PaperError, RunError, ScenarioError, StoreError,
        WorkerError,
    };
    #[pymodule_export]
    use crate::law::{LawWindow, register_window_law};
    #[pymodule_export]
    use crate::paper::{paper, papers};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::socket::connection::{Connection, connect};
    #[pymodule_export]
    use crate::socket::datagram::Datagram;
    #[pymodule_export]
    use crate::socket::listener::{Listener, listen};
    #[pymodule_export]
    use crate::socket::operation::Operation;
    #[pymodule_export]
    use crate::socket::security::{ClientDtls, Identity, ServerDtls};
    #[pymodule_export]
    use crate::socket::wakeups::Wakeups;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::sweep::{Sweep, work};
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interpreter::claim(module.py())
    }

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python calls it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    const SOURCES: &str = fairwire_sweep::SOURCES;
}
