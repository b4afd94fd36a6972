//! Arguments of the command line: their texts, and the values in them.

use std::str::FromStr;
use std::sync::Arc;

use fairwire_units::Duration;
use toml::de::DeValue;

use super::place::{COMMAND_LINE, SourceText};
use super::tree::{Node, Overlay, Value};

/// The most parts of a key's dotted path on the command line. It is more than any key has, and safe for the stack.
const DEEPEST: usize = 64;

/// Returns a text of the command line as a source.
pub(super) fn command_line(text: String) -> Arc<SourceText> {
    Arc::new(SourceText {
        name: COMMAND_LINE.into(),
        text,
    })
}

/// Returns the value of an argument, and how it is laid over another one: parsed as TOML if it is TOML, and a text
/// otherwise.
pub(super) fn parse_word(text: &str) -> (Value, Overlay) {
    let source = command_line(text.to_owned());
    DeValue::parse(text)
        .ok()
        .and_then(|value| Node::convert(&value, &source, None).ok())
        .map_or_else(
            || (Value::Text(text.to_owned()), Overlay::Merge),
            |node| (node.value, node.overlay),
        )
}

/// Returns an error if the dotted path of a key is not well formed.
pub(super) fn plain_path(path: &str) -> Result<(), String> {
    if path.split('.').count() > DEEPEST {
        return Err(format!("a key's path has at most {DEEPEST} parts"));
    }
    if path.trim().split('.').any(str::is_empty) {
        return Err("a part of the key's path is empty".to_owned());
    }
    Ok(())
}

/// A duration, and how it was written, which errors quote.
#[derive(Clone, Debug)]
pub struct WrittenDuration {
    pub(super) text: String,
    pub(super) value: Duration,
}

impl From<Duration> for WrittenDuration {
    fn from(value: Duration) -> Self {
        Self {
            text: value.to_string(),
            value,
        }
    }
}

impl FromStr for WrittenDuration {
    type Err = <Duration as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value = text.parse()?;
        let text = text.to_owned();
        Ok(Self { text, value })
    }
}
