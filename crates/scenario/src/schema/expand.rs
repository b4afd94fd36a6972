//! Expansion of short forms: a text in place of a table becomes the table that it stands for.

use super::super::place::Place;
use super::super::tree::{Entry, Node, Value};
use super::forms::{Form, KIND, Kinds, Shape};

/// Expands every short form in `node`, which may lack keys of a complete scenario.
pub(in super::super) fn expand(node: &mut Node, form: &Form) {
    if let Shape::Kinds(kinds) = &*form.shape {
        write_out(node, kinds);
    }
    let kind = node.kind().map(str::to_owned);
    match &mut node.value {
        Value::Table(entries) => {
            for entry in entries {
                if let Some(below) = form.below(&entry.name, kind.as_deref()) {
                    expand(&mut entry.node, below);
                }
            }
        }
        Value::Array(items) => {
            if let Shape::List(below) = &*form.shape {
                for item in items {
                    expand(item, below);
                }
            }
        }
        _ => {}
    }
}

/// Writes the values of keys that take numbers as such numbers. Programs write `2.0` where an integer belongs, and an
/// axis may have a number as a text: in quotes, or as the key of a table.
pub(in super::super) fn write_numbers(node: &mut Node, form: &Form) {
    match &*form.shape {
        Shape::Integer => {
            if let Some(number) = node.integer() {
                node.value = Value::Integer(number);
            }
        }
        Shape::Number => {
            if let Some(number) = node.filled_number() {
                node.value = Value::Float(number);
            }
        }
        _ => {}
    }
    let kind = node.kind().map(str::to_owned);
    match (&mut node.value, &*form.shape) {
        (Value::Table(entries), _) => {
            for entry in entries {
                if let Some(below) = form.below(&entry.name, kind.as_deref()) {
                    write_numbers(&mut entry.node, below);
                }
            }
        }
        (Value::Array(items), Shape::List(below)) => {
            for item in items {
                write_numbers(item, below);
            }
        }
        _ => {}
    }
}

/// Replaces a short form by the table that it stands for. Each value of that table keeps the place of the text.
fn write_out(node: &mut Node, kinds: &Kinds) {
    if matches!(node.value, Value::Table(_)) {
        return;
    }
    let plain = node.clone();
    let entry = |name: &str, value: Value| Entry {
        name: name.to_owned(),
        place: plain.place.clone(),
        node: Node {
            value,
            ..plain.clone()
        },
    };
    let is_name = |text: &String| kinds.short.is_name(text);
    let entries = match (&plain.value, &kinds.short.key, kinds.all.first()) {
        (Value::Text(text), ..) if is_name(text) => vec![entry(KIND, plain.value.clone())],
        (_, Some(key), Some(first)) => {
            let mut kind = entry(KIND, Value::Text(first.name.clone()));
            kind.node.place = Place::nowhere();
            kind.node.provenance = None;
            vec![kind, entry(key, plain.value.clone())]
        }
        _ => return,
    };
    node.value = Value::Table(entries);
}
