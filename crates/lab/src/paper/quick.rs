//! A paper's quick form: what is shorter in it, told wherever its numbers stand.

use serde::Deserialize;

use crate::scenario::Adjust;

/// What a quick run changes beside the number of seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    /// The difference in a sentence.
    pub(super) says: String,
    /// What is set in every cell, as `--set` has it.
    pub(super) set: Vec<String>,
}

impl Quick {
    /// `adjust` with these settings; what the command line sets comes after them.
    pub(super) fn adjust(&self, adjust: &Adjust) -> Adjust {
        Adjust {
            set: self.set.iter().chain(&adjust.set).cloned().collect(),
            ..adjust.clone()
        }
    }
}

/// `how` with the difference behind it.
pub(super) fn told(how: String, is_quick: bool, says: Option<&str>) -> String {
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
