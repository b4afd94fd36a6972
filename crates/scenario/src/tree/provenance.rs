//! Sources of values, as files state them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::place::{Place, ScenarioError, SourceText};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The paper states it.
    Paper,
    /// It follows from what the paper states.
    Derived,
    /// The paper is silent, and this is the most likely value.
    Assumed,
    /// Chosen to meet a published result; no claim about that result is then *reproduced*.
    Fitted,
}

impl Source {
    const ALL: [Self; 4] = [Self::Paper, Self::Derived, Self::Assumed, Self::Fitted];

    /// Returns the word for it in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
            Self::Fitted => "fitted",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Where a value comes from, and why.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Provenance {
    /// The source.
    pub source: Source,
    /// The reason, if one is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Returns the provenance that `source` and `note` of a table state. A note alone is added to the inherited source.
pub(super) fn provenance(
    table: &DeTable<'_>,
    text: &Arc<SourceText>,
    inherited: Option<&Provenance>,
) -> Result<Option<Provenance>, ScenarioError> {
    let note = table
        .get("note")
        .map(|note| words(note, text))
        .transpose()?;
    let Some(source) = table.get("source") else {
        let explained = note.and_then(|note| {
            inherited.map(|above| Provenance {
                source: above.source,
                note: Some(note),
            })
        });
        return Ok(explained);
    };
    let word = source.get_ref().as_str().unwrap_or_default();
    let Some(source) = Source::ALL.into_iter().find(|known| known.word() == word) else {
        let message = "a source is one of \"paper\", \"derived\", \"assumed\", \"fitted\"";
        return Err(ScenarioError::at(message, &Place::new(text, source.span())));
    };
    Ok(Some(Provenance { source, note }))
}

fn words(note: &Spanned<DeValue<'_>>, text: &Arc<SourceText>) -> Result<String, ScenarioError> {
    let place = Place::new(text, note.span());
    let words = note.get_ref().as_str().map(str::to_owned);
    words.ok_or_else(|| ScenarioError::at("a note is a text in quotes", &place))
}
