//! Short forms written out: a text in place of a table becomes the table that it stands for.

use super::super::tree::{Entry, Node, Value};
use super::form::{Form, KIND, Kinds, Shape, Short};

/// Writes out every short form in `node`, which may lack what a complete scenario has.
pub(in super::super) fn expand(node: &mut Node, form: &Form) {
    if let Shape::Kinds(kinds) = &form.shape {
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
            if let Shape::List(below) = &form.shape {
                for item in items {
                    expand(item, below);
                }
            }
        }
        _ => {}
    }
}

/// The table that a text stands for; each of its values is where the text is.
fn write_out(node: &mut Node, kinds: &Kinds) {
    let (Some(short), false) = (&kinds.short, matches!(node.value, Value::Table(_))) else {
        return;
    };
    let plain = node.clone();
    let entry = |name: &str, value: Value| Entry {
        name: name.to_owned(),
        place: plain.place.clone(),
        node: Node {
            value,
            ..plain.clone()
        },
    };
    let entries = match short {
        Short::Name => vec![entry(KIND, plain.value.clone())],
        Short::Value { kind, key } => vec![
            entry(KIND, Value::Text(kind.clone())),
            entry(key, plain.value.clone()),
        ],
    };
    node.value = Value::Table(entries);
}
