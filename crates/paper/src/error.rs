//! Errors of loading a paper.

use std::error::Error;
use std::fmt;

use fairwire_scenario::ScenarioError;
use fairwire_scenario::shorten::{QUOTED, shorten};

/// Why a paper cannot be loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum PaperError {
    /// There is no paper of this name.
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all papers.
        known: Vec<&'static str>,
    },
    /// It has no table of this name.
    UnknownTable {
        /// The paper.
        paper: String,
        /// The requested name.
        name: String,
        /// The names of all its tables.
        known: Vec<String>,
    },
    /// One of its files is wrong.
    File {
        /// The file, as `long-delay/claims.toml`.
        file: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// One of its TOML files is wrong, at a place that the error shows.
    Toml(ScenarioError),
}

impl PaperError {
    /// Returns whether the command line is wrong rather than a paper.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::UnknownTable { .. })
    }

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
                write!(
                    f,
                    "there is no paper '{name}': write one of {known}, all, or the path of a directory with \
                     a paper.toml, as ./mine"
                )
            }
            Self::UnknownTable { paper, name, known } => {
                let (name, known) = (shorten(name, QUOTED), known.join(", "));
                write!(
                    f,
                    "the paper {paper} has no table '{name}': write one of {known}"
                )
            }
            Self::File { file, message } => write!(f, "{file}: {}", message.trim_end()),
            Self::Toml(error) => error.fmt(f),
        }
    }
}

impl Error for PaperError {}

impl From<ScenarioError> for PaperError {
    fn from(error: ScenarioError) -> Self {
        Self::Toml(error)
    }
}
