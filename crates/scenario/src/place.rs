//! Places in source texts, and errors that point at them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use fairwire_units::registry::nearest;
use serde::de::{Expected, Unexpected};

use super::expected::{plain, within_range, wrong_type};
use super::shorten::{QUOTED, shorten};

/// The name of the source of values that follow from others.
pub(crate) const IMPLIED: &str = "what follows from the scenario";

/// A text that was read: a scenario file or an argument of the command line.
#[derive(Debug, Eq, PartialEq)]
pub struct SourceText {
    /// The name in messages: a path, or "command line" for what stands there.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A part of a [`SourceText`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    pub(crate) source: Arc<SourceText>,
    pub(crate) span: Range<usize>,
    /// The place of the placeholder that the text here fills.
    used: Option<Arc<Place>>,
}

impl Place {
    /// Returns the place of `span` in `source`.
    pub fn new(source: &Arc<SourceText>, span: Range<usize>) -> Self {
        Self {
            source: Arc::clone(source),
            span,
            used: None,
        }
    }

    /// Returns this place, marked as the value that fills the placeholder at `place`.
    pub(super) fn used_at(&self, place: &Self) -> Self {
        Self {
            used: Some(Arc::new(place.clone())),
            ..self.clone()
        }
    }

    /// Returns whether the value here fills a placeholder.
    pub(super) fn is_filling(&self) -> bool {
        self.used.is_some()
    }

    /// Returns `file:line:column`.
    pub(super) fn words(&self) -> String {
        let (line, column, _) = self.line();
        format!("{}:{line}:{column}", escaped(self.source.name.clone()))
    }

    /// Returns the path that a `--set path.to.key=value` sets, if the place is in one.
    pub(super) fn path_set(&self) -> Option<&str> {
        let option = self.source.text.strip_prefix(SET)?;
        let (path, _) = option.split_once('=')?;
        (self.source.name == COMMAND_LINE).then_some(path.trim())
    }

    /// Returns the place of a value that follows from the scenario and is in no text.
    pub(crate) fn nowhere() -> Self {
        let source = Arc::new(SourceText {
            name: IMPLIED.into(),
            text: String::new(),
        });
        Self::new(&source, 0..0)
    }

    /// Returns the line and column (both from 1, columns in characters), and the text of the line.
    fn line(&self) -> (usize, usize, &str) {
        let text = self.source.text.as_str();
        let start = floor_boundary(text, self.span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let number = text[..start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        (number, column, text[line_start..line_end].trim_end())
    }

    /// Returns the number of characters that the span covers on its first line, at least one.
    fn width(&self) -> usize {
        let text = self.source.text.as_str();
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end).max(start);
        let first = text[start..end].lines().next().unwrap_or("");
        first.chars().count().max(1)
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The reason why a scenario cannot be run: what is wrong, where it is written, and what to write instead.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct ScenarioError {
    message: String,
    place: Option<Place>,
    /// Further notes: the cell of a family in which the error is, or the place of a duplicate.
    notes: Vec<String>,
}

/// The name of [`SourceText`]s from the command line. Their text is an option with its value, or a value.
pub(crate) const COMMAND_LINE: &str = "command line";

/// The option that changes a key.
pub(super) const SET: &str = "--set ";

impl ScenarioError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: escaped(message.into()),
            place: None,
            notes: Vec::new(),
        }
    }

    /// Returns an error with this message about `place`.
    pub fn at(message: impl Into<String>, place: &Place) -> Self {
        Self {
            place: Some(place.clone()),
            ..Self::new(message)
        }
    }

    /// Returns this error, pointing at `place` unless it already has a place.
    pub(crate) fn or_at(mut self, place: &Place) -> Self {
        if self.place.is_none() {
            // `--set topology.links.typo.delay=5ms` makes a new link that lacks all other keys.
            let is_set = place.source.name == COMMAND_LINE && place.source.text.starts_with(SET);
            if is_set && self.message.contains(MISSING) {
                self.message += CHECK_NAME;
            }
            self.place = Some(place.clone());
        }
        self
    }

    /// Returns the place that it points at.
    pub(super) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Returns whether it says that a key is missing at `place`.
    pub(super) fn is_missing_at(&self, place: &Place) -> bool {
        self.place.as_ref() == Some(place) && self.message.contains(MISSING)
    }

    /// Returns this error with `words` before its message.
    pub(super) fn prefixed(mut self, words: &str) -> Self {
        let message = self.message.replace(CHECK_NAME, "");
        self.message = escaped(format!("{words}: {message}"));
        self
    }

    /// Returns this error with a `note` below it.
    pub(super) fn with_note(mut self, note: String) -> Self {
        self.notes.push(escaped(note));
        self
    }

    /// Returns this error as a bug of Fairwire: the scenario has passed all checks of the format.
    pub(super) fn into_bug(mut self) -> Self {
        self.message = format!(
            "this follows the scenario format but cannot be read, which is a bug in Fairwire: {}",
            self.message
        );
        self
    }

    /// Returns what is wrong and what to write instead, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the argument that the error is in, if it is in one and not in a file: an option with its value, or the
    /// value alone.
    pub fn argument(&self) -> Option<&str> {
        let source = &self.place.as_ref()?.source;
        (source.name == COMMAND_LINE).then_some(source.text.as_str())
    }

    /// Returns what else a reader should know: the cell of a family in which the error is, or the place of a duplicate.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the line and column, from 1, if the error has a place.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        let (line, column, _) = self.place.as_ref()?.line();
        Some((line, column))
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(place) = &self.place else {
            f.write_str(&self.message)?;
            let mut notes = self.notes.iter();
            return notes.try_for_each(|note| write!(f, " ({note})"));
        };
        let (line, column, text) = place.line();
        // An option of the command line needs no line number.
        let from_file = place.source.name != COMMAND_LINE;
        let number = if from_file {
            line.to_string()
        } else {
            " ".to_owned()
        };
        let margin = " ".repeat(number.len());
        // Each character stays one character, so that the marks below stay aligned.
        let visible = |c: char| match c {
            '\t' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        };
        let text: String = text.chars().map(visible).collect();
        let (text, before) = around(&text, column - 1);
        let indent = " ".repeat(before);
        let room = (text.chars().count() + 1).saturating_sub(before).max(1);
        let marks = "^".repeat(place.width().min(room));
        writeln!(f, "{}", self.message)?;
        write!(f, "{margin}--> {}", escaped(place.source.name.clone()))?;
        if from_file {
            write!(f, ":{line}:{column}")?;
        }
        writeln!(f)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {text}")?;
        write!(f, "{margin} | {indent}{marks}")?;
        let mut user = place.used.as_deref();
        while let Some(place) = user {
            write!(f, "\n{margin} = used at {}", place.words())?;
            user = place.used.as_deref();
        }
        let mut notes = self.notes.iter();
        notes.try_for_each(|note| write!(f, "\n{margin} = {note}"))
    }
}

/// Returns `text` with control characters escaped, except ends of lines: what is quoted from files and arguments must
/// not control the terminal.
pub fn escaped(text: String) -> String {
    let obeyed = |c: char| c.is_control() && c != '\n';
    // The first byte of U+0080 to U+00BF is 0xC2. Results are long and have none of these.
    let may_be = |byte: u8| (byte < b' ' && byte != b'\n') || byte == 0x7F || byte == 0xC2;
    if !text.bytes().any(may_be) || !text.contains(obeyed) {
        return text;
    }
    text.chars().fold(String::new(), |mut all, c| {
        if obeyed(c) {
            all.extend(c.escape_debug());
        } else {
            all.push(c);
        }
        all
    })
}

/// Returns at most [`QUOTED`] characters of a line around its character number `at`, and the new position of `at`.
fn around(line: &str, at: usize) -> (String, usize) {
    let count = line.chars().count();
    if count <= QUOTED {
        return (line.to_owned(), at);
    }
    let first = at.saturating_sub(QUOTED / 2).min(count - QUOTED);
    let part: String = line.chars().skip(first).take(QUOTED).collect();
    let (before, after) = (
        if first > 0 { "... " } else { "" },
        if first + QUOTED < count { " ..." } else { "" },
    );
    let text = format!("{before}{part}{after}");
    (text, at - first + before.len())
}

/// The hint about a key that is missing in a table that `--set` makes.
const CHECK_NAME: &str = " (this setting creates the table: check its name)";

/// The end of the message about a missing key.
pub(super) const MISSING: &str = "is missing here";

/// The longest message from serde, in characters. Such a message may quote a long value.
const MESSAGE: usize = 400;

impl serde::de::Error for ScenarioError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(shorten(&message.to_string(), MESSAGE))
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(wrong_type(&plain(wanted, found), found))
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(wrong_type(&within_range(wanted, found), found))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("'{field}' {MISSING}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let (field, hint) = unknown(field, expected);
        let keys = expected.join(", ");
        Self::new(format!("unknown key '{field}': {hint}allowed keys: {keys}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let (variant, hint) = unknown(variant, expected);
        let words = expected.join(", ");
        Self::new(format!(
            "unknown value '{variant}': {hint}write one of {words}"
        ))
    }
}

/// Returns an unknown word, shortened, and a hint at the nearest of the `expected` ones.
fn unknown(word: &str, expected: &[&str]) -> (String, String) {
    let hint = nearest(word, expected.iter().copied())
        .map(|one| format!("did you mean '{one}'? "))
        .unwrap_or_default();
    (shorten(word, QUOTED), hint)
}
