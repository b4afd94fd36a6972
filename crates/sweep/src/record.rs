//! A finished run, and what it was computed with.

use std::sync::Arc;

use fairwire_sim::campaign;
use serde::{Deserialize, Serialize};

/// The hash of the sources that compute results, as 16 hexadecimal digits. Runs of other sources are other runs.
pub const SOURCES: &str = env!("FAIRWIRE_SOURCES");

/// A finished run, and what it was computed with.
pub type Recorded = campaign::Recorded<Arc<Origin>>;

/// Where and when runs were computed, and by which version.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Origin {
    /// The version of Fairwire.
    pub version: String,
    /// The hash of the sources that compute results ([`SOURCES`]).
    pub sources: String,
    /// The name of the host.
    pub host: String,
    /// The date as `2026-01-31`, in UTC.
    pub date: String,
}

impl Origin {
    /// Returns the origin of runs that this program computes.
    pub fn here(host: &str, date: &str) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: SOURCES.to_owned(),
            host: host.to_owned(),
            date: date.to_owned(),
        }
    }

    /// Returns whether its runs are those that this program would compute.
    pub fn is_current(&self) -> bool {
        self.sources == SOURCES
    }
}
