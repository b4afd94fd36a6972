//! The reasons why a run has no result.

use std::io;

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A capture names a link that the scenario does not have.
    #[error("there is no link '{name}' to capture: there are {known}")]
    UnknownLink {
        /// The link that was named.
        name: String,
        /// The links that exist.
        known: String,
    },
    /// The capture could not be started.
    #[error("cannot write the capture: {0}")]
    Capture(io::Error),
    /// The scenario cannot be built. This does not happen with a checked scenario.
    #[error("{0}")]
    Scenario(&'static str),
    /// The endpoints of a flow refuse their configuration.
    #[error("a flow cannot be created: {0}")]
    Transport(String),
}
