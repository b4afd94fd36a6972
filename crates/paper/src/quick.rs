//! A paper's quick form: its shorter runs, and the note about them in reports.

use serde::Deserialize;

use fairwire_scenario::Adjust;

/// What a quick run changes besides the number of seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    /// The difference in a sentence.
    pub(super) says: String,
    /// The settings of every cell, in the form of `--set`.
    pub(super) set: Vec<String>,
}

impl Quick {
    /// Returns `adjust` with these settings before its own, so that the command line overrides them.
    pub(super) fn adjust(&self, adjust: &Adjust) -> Adjust {
        Adjust {
            set: self.set.iter().chain(&adjust.set).cloned().collect(),
            ..adjust.clone()
        }
    }
}

/// Returns `how` followed by the difference of a quick run from a full run.
pub(super) fn with_quick_note(how: String, is_quick: bool, says: Option<&str>) -> String {
    match (is_quick, says) {
        (false, _) => how,
        (true, None) => format!("{how} This is the quick form: a full run takes more seeds."),
        (true, Some(says)) => {
            format!(
                "{how} This is the quick form: a full run takes more seeds, and longer runs. {says}"
            )
        }
    }
}
