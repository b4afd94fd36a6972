//! What the command line gives: texts of arguments, and the values in them.

use std::sync::Arc;

use toml::de::DeValue;

use super::place::{COMMAND_LINE, SourceText};
use super::tree::{Node, Value};

/// The parts of a key's path on the command line: far more than any key has, far fewer than a stack holds.
const DEEPEST: usize = 64;

/// A text of the command line.
pub(super) fn command_line(text: String) -> Arc<SourceText> {
    Arc::new(SourceText {
        name: COMMAND_LINE.into(),
        text,
    })
}

/// What an argument gives: TOML where it is TOML, a text otherwise.
pub(super) fn parse_word(text: &str) -> Value {
    let source = command_line(text.to_owned());
    DeValue::parse(text)
        .ok()
        .and_then(|value| Node::convert(&value, &source, None).ok())
        .map_or_else(|| Value::Text(text.to_owned()), |node| node.value)
}

/// What is wrong with the dotted path of a key, if anything.
pub(super) fn plain_path(path: &str) -> Result<(), String> {
    if path.split('.').count() > DEEPEST {
        return Err(format!("a key's path has at most {DEEPEST} parts"));
    }
    if path.trim().split('.').any(str::is_empty) {
        return Err("a part of the key's path is empty".to_owned());
    }
    Ok(())
}
