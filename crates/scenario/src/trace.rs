//! The trace of a link, by the path of its file.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use fairwire_net::Trace;
use fairwire_units::Rate;
use serde::{Deserialize, Serialize};

/// The extension of traces among the results; no other file there has it.
const ENDING: &str = ".trace";

/// A trace by the path of its file. A resolved scenario refers to the trace beside it, by the file name alone.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(from = "String", into = "String")]
pub struct TraceFile {
    /// The path as it is written, relative to the scenario's file.
    path: String,
    /// The contents. The cells that a [`ScenarioFile`](super::ScenarioFile) makes have them.
    trace: OnceLock<Arc<Trace>>,
}

impl From<String> for TraceFile {
    fn from(path: String) -> Self {
        let trace = OnceLock::new();
        Self { path, trace }
    }
}

impl From<TraceFile> for String {
    fn from(file: TraceFile) -> Self {
        file.name()
    }
}

impl TraceFile {
    /// Returns its name beside a resolved scenario: the file name without folders, which ends in `.trace`.
    pub fn name(&self) -> String {
        name(&self.path)
    }

    /// Returns the contents of the file; `None` in a scenario that no [`ScenarioFile`](super::ScenarioFile) made.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        self.trace.get()
    }

    /// Returns the path as it is written.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Stores the contents that were read from its file.
    pub(super) fn fill(&self, trace: &Arc<Trace>) {
        self.trace.get_or_init(|| Arc::clone(trace));
    }

    /// Returns the mean rate, zero if no contents were read.
    pub(super) fn mean_rate(&self) -> Rate {
        self.trace().map_or(Rate::ZERO, |it| it.mean_rate())
    }

    /// Returns its mean rate and its period in words.
    pub(super) fn words(&self) -> Option<String> {
        let trace = self.trace()?;
        let (rate, period) = (rounded(trace.mean_rate()), trace.period());
        Some(format!("{rate} on average, repeats after {period}"))
    }
}

/// Returns the name that the trace at `path` has beside a resolved scenario.
pub(super) fn name(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let end = if name.ends_with(ENDING) { "" } else { ENDING };
    format!("{name}{end}")
}

/// Returns `rate` rounded to three digits, because a mean rate has no short exact form.
pub(super) fn rounded(rate: Rate) -> Rate {
    let bits = rate.bits_per_s();
    let step = 10_u64.pow(bits.max(1).ilog10().saturating_sub(2));
    Rate::from_bits_per_s((bits + step / 2) / step * step)
}
