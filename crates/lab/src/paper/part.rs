//! Where things stand in the report.

use serde::Deserialize;

/// Where a table or a figure stands in the report.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Before the verdicts: what the paper printed.
    #[default]
    Published,
    /// After them: what it left out.
    LeftOut,
}

impl Part {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::LeftOut => "left-out",
        }
    }
}
