//! Errors of loading a paper.

use fairwire_scenario::ScenarioError;
use fairwire_scenario::shorten::{QUOTED, shorten};

/// Why a paper cannot be loaded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PaperError {
    /// There is no paper of this name.
    #[error(
        "there is no paper '{}': write one of {}, all, or the path of a directory with a paper.toml, as ./mine",
        shorten(.name, QUOTED),
        .known.join(", ")
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// The names of all papers.
        known: Vec<&'static str>,
    },
    /// It has no table of this name.
    #[error(
        "the paper {paper} has no table '{}': write one of {}",
        shorten(.name, QUOTED),
        .known.join(", ")
    )]
    UnknownTable {
        /// The paper.
        paper: String,
        /// The requested name.
        name: String,
        /// The names of all its tables.
        known: Vec<String>,
    },
    /// One of its files is wrong.
    #[error("{file}: {}", .message.trim_end())]
    File {
        /// The file, as `long-delay/claims.toml`.
        file: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// One of its TOML files is wrong, at a place that the error shows.
    #[error(transparent)]
    Toml(#[from] ScenarioError),
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
