//! The dotted path of the key that an error is about.

use super::place::{COMMAND_LINE, Place, ScenarioError};
use super::tree::{Node, Value};

impl ScenarioError {
    /// Returns the dotted path of the key, such as `flows.video.dccp.ccid`, if the error has a place in a table. An error
    /// about the file as a whole, which lacks a table, has none.
    pub fn key(&self) -> Option<String> {
        let place = self.place()?;
        if place.source.name == COMMAND_LINE {
            return place.path_set().map(str::to_owned);
        }
        if place.span.is_empty() {
            return None;
        }
        let tree = Node::parse_plain(&place.source).ok()?;
        let mut found = None;
        search(&tree, "", place, &mut found);
        found.map(|(_, path)| path)
    }
}

/// Keeps the path below `node` with the shortest text in which `place` begins.
fn search(node: &Node, path: &str, place: &Place, found: &mut Option<(usize, String)>) {
    for (path, at, child) in children(node, path) {
        for at in at.into_iter().chain([&child.place]) {
            let is_shorter = found.as_ref().is_none_or(|it| at.span.len() < it.0);
            if at.span.contains(&place.span.start) && is_shorter {
                *found = Some((at.span.len(), path.clone()));
            }
        }
        search(child, &path, place, found);
    }
}

/// Returns the nodes in `node`, each with its path and the place of its key.
fn children<'a>(node: &'a Node, path: &str) -> Vec<(String, Option<&'a Place>, &'a Node)> {
    let named = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match &node.value {
        Value::Table(entries) => entries
            .iter()
            .map(|it| (named(&it.name), Some(&it.place), &it.node))
            .collect(),
        Value::Array(items) => (items.iter().enumerate())
            .map(|(i, item)| (format!("{path}[{i}]"), None, item))
            .collect(),
        _ => Vec::new(),
    }
}
