//! Expansion of short forms: a text in place of a table becomes the table that it stands for.

use super::super::place::Place;
use super::super::tree::{Entry, Node, Value, whole};
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

/// Turns numbers such as `2.0`, as programs write them, into whole numbers where such a number belongs.
pub(in super::super) fn make_whole(node: &mut Node, form: &Form) {
    let kind = node.kind().map(str::to_owned);
    match (&mut node.value, &*form.shape) {
        (Value::Float(number), Shape::Integer) => {
            if let Some(number) = whole(*number) {
                node.value = Value::Integer(number);
            }
        }
        (Value::Table(entries), _) => {
            for entry in entries {
                if let Some(below) = form.below(&entry.name, kind.as_deref()) {
                    make_whole(&mut entry.node, below);
                }
            }
        }
        (Value::Array(items), Shape::List(below)) => {
            for item in items {
                make_whole(item, below);
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
