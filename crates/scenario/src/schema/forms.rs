//! The forms that checks and documents use: the schema as [`super::reader`] reads it.

use std::sync::Arc;

use serde_json::Value;

use super::choice::Choice;
use super::limits::Limits;

/// The description of the values that are allowed in one place.
#[derive(Clone, Debug)]
pub(in super::super) struct Form {
    /// The name of its type, if the type has one.
    pub(in super::super) name: String,
    /// Its meaning, as paragraphs of plain text.
    pub(in super::super) meaning: String,
    /// The default value, if there is one.
    pub(in super::super) default: Option<Value>,
    pub(in super::super) limits: Limits,
    /// Groups of keys of a table that exclude or need each other.
    pub(in super::super) choices: Vec<Choice>,
    /// The shape, shared by all places of one type.
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
    /// A text; a quantity also has a format.
    Text(Option<String>),
    /// One of several words, each with its meaning.
    Words(Vec<(String, String)>),
    /// A list.
    List(Box<Form>),
    /// Tables or values under names that the author chooses.
    Named(Box<Form>),
    /// A table of known keys.
    Table(Vec<Key>),
    /// One of several tables, which their `kind` tells apart.
    Kinds(Kinds),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub(in super::super) struct Key {
    pub(in super::super) name: String,
    pub(in super::super) is_required: bool,
    pub(in super::super) form: Form,
}

/// Alternatives that their `kind` tells apart.
#[derive(Clone, Debug)]
pub(in super::super) struct Kinds {
    pub(in super::super) all: Vec<Kind>,
    /// The short forms, which may replace a table.
    pub(in super::super) short: Short,
}

/// One alternative.
#[derive(Clone, Debug)]
pub(in super::super) struct Kind {
    pub(in super::super) name: String,
    pub(in super::super) meaning: String,
    pub(in super::super) keys: Vec<Key>,
}

/// The forms that may replace a table of alternatives.
#[derive(Clone, Debug)]
pub(in super::super) struct Short {
    /// Whether the name of a `kind` may replace the table.
    pub(in super::super) name: bool,
    /// The key of the first kind that a bare value sets.
    pub(in super::super) key: Option<String>,
}

impl Short {
    /// Returns whether `text` is the name of a kind. If a bare value is also allowed, a text that does not begin with a
    /// letter is that value.
    pub(in super::super) fn is_name(&self, text: &str) -> bool {
        let letter = |first: char| first.is_ascii_alphabetic();
        self.name && (self.key.is_none() || text.starts_with(letter))
    }
}

/// The key that tells alternatives apart.
pub(in super::super) const KIND: &str = "kind";

impl Form {
    /// Returns the form of `key` in this table. Of alternatives it looks in `kind`, or else in the first that has the
    /// key.
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

    /// Returns the first sentence of the meaning of the alternative `kind`.
    pub(in super::super) fn kind_meaning(&self, kind: &str) -> Option<&str> {
        let Shape::Kinds(kinds) = &*self.shape else {
            return None;
        };
        let kind = kinds.all.iter().find(|one| one.name == kind)?;
        Some(first_sentence(&kind.meaning))
    }

    /// Returns the first sentence of its meaning with a small first letter, to follow a colon.
    pub(in super::super) fn meaning_after_colon(&self) -> String {
        let meaning = self.short_meaning();
        let mut letters = meaning.chars();
        let first = letters.next().map(|first| first.to_ascii_lowercase());
        first.into_iter().chain(letters).collect()
    }

    /// Returns the first sentence of its meaning.
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
