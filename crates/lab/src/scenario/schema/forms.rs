//! What the checks and the documents work on: the schema as [`super::reader`] reads it.

use std::sync::Arc;

use serde_json::Value;

use super::choice::Choice;
use super::limits::Limits;

/// What may stand in one place.
#[derive(Clone, Debug)]
pub(in super::super) struct Form {
    /// The name of its type, where that has one of its own.
    pub(in super::super) name: String,
    /// What it means: paragraphs of plain text.
    pub(in super::super) meaning: String,
    /// What it is where nothing is written.
    pub(in super::super) default: Option<Value>,
    pub(in super::super) limits: Limits,
    /// Which of a table's keys go together.
    pub(in super::super) choices: Vec<Choice>,
    /// Shared by all places of one type.
    pub(in super::super) shape: Arc<Shape>,
}

/// The shape of a value.
#[derive(Clone, Debug)]
pub(in super::super) enum Shape {
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text, of a format if it is a quantity.
    Text(Option<String>),
    /// One of some words, each with its meaning.
    Words(Vec<(String, String)>),
    /// A list.
    List(Box<Form>),
    /// Tables or values under names of the author's choice.
    Named(Box<Form>),
    /// A table of known keys.
    Table(Vec<Key>),
    /// One of some tables, told apart by their `kind`.
    Kinds(Kinds),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub(in super::super) struct Key {
    pub(in super::super) name: String,
    pub(in super::super) is_required: bool,
    pub(in super::super) form: Form,
}

/// Alternatives that are told apart by their `kind`.
#[derive(Clone, Debug)]
pub(in super::super) struct Kinds {
    pub(in super::super) all: Vec<Kind>,
    /// What stands in place of a table.
    pub(in super::super) short: Short,
}

/// One alternative.
#[derive(Clone, Debug)]
pub(in super::super) struct Kind {
    pub(in super::super) name: String,
    pub(in super::super) meaning: String,
    pub(in super::super) keys: Vec<Key>,
}

/// What may stand in place of a table of alternatives.
#[derive(Clone, Debug)]
pub(in super::super) struct Short {
    /// A text may be the `kind`.
    pub(in super::super) name: bool,
    /// A value stands for the first kind, with this key of that value.
    pub(in super::super) key: Option<String>,
}

impl Short {
    /// Is `text` the name of a kind? Where it may be a value, too, that begins with a digit.
    pub(in super::super) fn is_name(&self, text: &str) -> bool {
        let letter = |first: char| first.is_ascii_alphabetic();
        self.name && (self.key.is_none() || text.starts_with(letter))
    }
}

/// The key that tells alternatives apart.
pub(in super::super) const KIND: &str = "kind";

impl Form {
    /// The form of `key` in the table that this is; of alternatives, in those of `kind` or else in any.
    pub(in super::super) fn below(&self, key: &str, kind: Option<&str>) -> Option<&Self> {
        match &*self.shape {
            Shape::Table(keys) => find(keys, key),
            Shape::Named(form) | Shape::List(form) => Some(form),
            Shape::Kinds(kinds) => {
                let of = |kind: &'_ Kind| kind.keys.iter().any(|known| known.name == key);
                let known = kinds.all.iter().find(|one| Some(one.name.as_str()) == kind);
                let table = known.or_else(|| kinds.all.iter().find(|one| of(one)))?;
                find(&table.keys, key)
            }
            _ => None,
        }
    }

    /// What the alternative called `kind` is.
    pub(in super::super) fn kind_meaning(&self, kind: &str) -> Option<&str> {
        let Shape::Kinds(kinds) = &*self.shape else {
            return None;
        };
        let kind = kinds.all.iter().find(|one| one.name == kind)?;
        Some(first_sentence(&kind.meaning))
    }

    /// What it means, in a few words that follow a colon.
    pub(in super::super) fn what_it_is(&self) -> String {
        let meaning = self.short_meaning();
        let mut letters = meaning.chars();
        let first = letters.next().map(|first| first.to_ascii_lowercase());
        first.into_iter().chain(letters).collect()
    }

    /// The first sentence of its meaning.
    pub(in super::super) fn short_meaning(&self) -> &str {
        first_sentence(&self.meaning)
    }
}

fn first_sentence(text: &str) -> &str {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches('.')
}

fn find<'a>(keys: &'a [Key], name: &str) -> Option<&'a Form> {
    let key = keys.iter().find(|key| key.name == name);
    key.map(|key| &key.form)
}
