//! Why a run has no result.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// It was asked to stop.
    Interrupted,
    /// A capture names a link that the scenario does not have.
    UnknownLink {
        /// What was named.
        name: String,
        /// What there is.
        known: String,
    },
    /// The capture cannot even be begun.
    Capture(io::Error),
    /// The scenario cannot be built; a checked one can.
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
            Self::Transport(what) => write!(f, "a flow cannot be made so: {what}"),
        }
    }
}

impl Error for RunError {}
