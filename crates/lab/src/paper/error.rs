//! Why a paper cannot be loaded.

use std::error::Error;
use std::fmt;

use crate::scenario::ScenarioError;
use crate::scenario::shorten::{QUOTED, shorten};

/// Why a paper cannot be loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum PaperError {
    /// There is no paper of this name.
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// One of its files is wrong.
    File {
        /// The file, as `long-delay/claims.toml`.
        file: String,
        /// What is wrong and what would do.
        message: String,
    },
    /// One of its scenarios is wrong.
    Scenario(ScenarioError),
}

impl PaperError {
    pub(super) fn file(file: &str, message: impl Into<String>) -> Self {
        Self::File {
            file: file.to_owned(),
            message: message.into(),
        }
    }
}

impl fmt::Display for PaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, known } => {
                let (name, known) = (shorten(name, QUOTED), known.join(", "));
                write!(f, "there is no paper '{name}': write one of {known}")
            }
            Self::File { file, message } => write!(f, "{file}: {}", message.trim_end()),
            Self::Scenario(error) => error.fmt(f),
        }
    }
}

impl Error for PaperError {}

impl From<ScenarioError> for PaperError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}
