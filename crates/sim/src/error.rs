//! The reasons why a run has no result.

use std::error::Error;
use std::fmt;
use std::io;

/// The reason why a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// The run was asked to stop.
    Interrupted,
    /// A capture names a link that the scenario does not have.
    UnknownLink {
        /// The link that was named.
        name: String,
        /// The links that exist.
        known: String,
    },
    /// The capture could not be started.
    Capture(io::Error),
    /// The scenario cannot be built. This does not happen with a checked scenario.
    Scenario(&'static str),
    /// The endpoints of a flow refuse their configuration.
    Transport(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Capture(error) => write!(f, "cannot write the capture: {error}"),
            Self::UnknownLink { name, known } => {
                write!(f, "there is no link '{name}' to capture: there are {known}")
            }
            Self::Scenario(what) => f.write_str(what),
            Self::Transport(what) => write!(f, "a flow cannot be created: {what}"),
        }
    }
}

impl Error for RunError {}
