//! What a file has in a place, and what belongs there, in words.

use serde::de::{Expected, Unexpected};

use super::shorten::{QUOTED, shorten};

/// Returns the message that a value of another type belongs here.
pub(super) fn wrong_type(expected: &str, found: Unexpected<'_>) -> String {
    format!("expected {expected}, found {}", words(found))
}

/// Returns what serde expects. It has the names of Rust's types, unless the type that is read has words of its own.
pub(super) fn plain(expected: &dyn Expected, found: Unexpected<'_>) -> String {
    let expected = expected.to_string();
    let is_whole = |digits: &str| digits == "size" || digits.parse::<u8>().is_ok();
    let is_text = matches!(found, Unexpected::Str(_));
    match expected.as_str() {
        "f32" | "f64" if is_text => "a number without quotes".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list in brackets".to_owned(),
        "a map" => "a table".to_owned(),
        name if name.starts_with("struct ") => "a table".to_owned(),
        name if name.strip_prefix(['i', 'u']).is_some_and(is_whole) => "a whole number".to_owned(),
        _ => expected,
    }
}

/// Returns what serde expects in place of a value of the right type that is out of range.
pub(super) fn within_range(expected: &dyn Expected, found: Unexpected<'_>) -> String {
    let expected = plain(expected, found);
    match found {
        Unexpected::Signed(..=-1) if expected == "a whole number" => {
            format!("{expected} of at least 0")
        }
        Unexpected::Signed(_) | Unexpected::Unsigned(_) if expected == "a whole number" => {
            "a smaller whole number".to_owned()
        }
        _ => expected,
    }
}

fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => format!("the whole number {number}"),
        Unexpected::Signed(number) => format!("the whole number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Str(text) => format!("the text \"{}\"", shorten(text, QUOTED)),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}
