//! The parts of a report that tables and figures belong to.

use serde::Deserialize;

/// The part of the report in which a table or a figure stands.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Before the verdicts: results that the paper printed.
    #[default]
    Published,
    /// After the verdicts: results that the paper left out.
    LeftOut,
}

impl Part {
    /// Returns its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::LeftOut => "left-out",
        }
    }
}
