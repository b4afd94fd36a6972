//! The explanation of a scenario: every value, its source, and its meaning.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::file::Cell;
use super::place::SourceText;
use super::preset;
use super::schema;
use super::tree::{Node, Value};

/// One line of an explanation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Explained {
    /// The dotted path of the value.
    pub path: String,
    /// The value, as TOML.
    pub value: String,
    /// The source: `paper`, `derived`, `assumed` or `fitted`; `stated` in a file without sources; `preset`, `law`
    /// (the congestion control of a TCP sets it), or `default`.
    pub source: &'static str,
    /// The note of the source, if there is one.
    pub note: Option<String>,
    /// The meaning of the value.
    pub meaning: String,
    /// Whether the value changes anything. A value that only another CCID reads does not, nor does any value of a flow
    /// that takes no part.
    pub has_effect: bool,
}

impl Explained {
    /// Returns whether the file or the command line states the value.
    pub fn is_stated(&self) -> bool {
        !["default", "preset", "law"].contains(&self.source)
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = format!("{} = {}", self.path, self.value);
        write!(f, "{said:<52} {:<8} {}", self.source, self.meaning)?;
        if !self.has_effect {
            f.write_str(" (no effect here)")?;
        }
        if let Some(note) = &self.note {
            write!(f, " [{note}]")?;
        }
        Ok(())
    }
}

/// Returns every value of `cell`, in the order of the format. Of a link's way back it returns the values that differ.
pub fn explain(cell: &Cell) -> Vec<Explained> {
    explained(cell, &|_| true)
}

/// Returns the values of `cell` that have a [source](Cell::provenance), as [`explain`] does, in less time.
pub fn explain_sourced(cell: &Cell) -> Vec<Explained> {
    explained(cell, &|path| cell.provenance.contains_key(path))
}

/// Returns the values at the paths that are `wanted`.
fn explained(cell: &Cell, wanted: &dyn Fn(&str) -> bool) -> Vec<Explained> {
    let mut lines = Vec::new();
    let source = Arc::new(SourceText {
        name: "resolved".into(),
        text: toml::to_string(&cell.scenario).unwrap_or_default(),
    });
    if let Ok(tree) = Node::parse(&source) {
        let form = schema::form();
        tree.leaves("", &mut |path, node| {
            if !wanted(path) {
                return;
            }
            // A list of tables has no text of its own, because its tables are at the end of the document.
            let value = match &node.value {
                Value::Array(_) => node.inline(),
                _ => source.text[node.place.span.clone()].to_owned(),
            };
            // A sentence of several lines in the sources.
            let mut meaning = meaning(&tree, path, &form).replace('\n', " ");
            if let Some(words) = of_trace(cell, path) {
                let _ = write!(meaning, " ({words})");
            }
            if let Some(words) = cell.computed.get(path) {
                let _ = write!(meaning, " ({words})");
            }
            lines.push(Explained {
                meaning,
                ..line(cell, path, value)
            });
        });
    }
    let is_inherited = |line: &Explained| {
        let there = line.path.replacen(".back.", ".", 1);
        !line.is_stated()
            && there != line.path
            && lines
                .iter()
                .any(|one| (&one.path, &one.value) == (&there, &line.value))
    };
    let inherited: Vec<bool> = lines.iter().map(is_inherited).collect();
    let mut inherited = inherited.into_iter();
    lines.retain(|_| inherited.next() == Some(false));
    lines
}

/// Returns a summary of the trace at `path`, if there is one.
fn of_trace(cell: &Cell, path: &str) -> Option<String> {
    let path = path.strip_prefix("topology.")?.strip_suffix(".trace")?;
    let mut all = cell.scenario.topology.directions().into_iter();
    let (_, link) = all.find(|(known, _)| known == path)?;
    link.trace.as_ref()?.words()
}

/// Returns the meaning of the value at `path` of `tree`.
fn meaning<'a>(tree: &Node, path: &str, form: &'a schema::Form) -> &'a str {
    let (above, key) = path.rsplit_once('.').unwrap_or(("", path));
    let mut form = form;
    let mut node = tree;
    for name in above.split('.').filter(|name| !name.is_empty()) {
        let Some(below) = form.below(name, node.kind()) else {
            return "";
        };
        form = below;
        node = node.nearest(name);
    }
    let own = form
        .below(key, node.kind())
        .map(schema::Form::short_meaning);
    own.or_else(|| form.kind_meaning(node.kind()?))
        .unwrap_or_default()
}

fn line(cell: &Cell, path: &str, value: String) -> Explained {
    let known = cell.provenance.get(path);
    let is_stated = cell.stated.iter().any(|stated| stated == path);
    let law = law_that_sets(cell, path);
    Explained {
        path: path.to_owned(),
        value,
        source: match known {
            Some(known) => known.source.word(),
            None if is_stated => "stated",
            None if is_of_preset(cell, path) => "preset",
            None if law.is_some() => "law",
            None => "default",
        },
        note: match (known, is_stated || is_of_preset(cell, path), law) {
            (Some(known), ..) => known.note.clone(),
            (None, false, Some(law)) => {
                Some(format!("the congestion control sets it: law = \"{law}\""))
            }
            _ => None,
        },
        meaning: String::new(),
        has_effect: has_effect(cell, path),
    }
}

/// Returns whether the value at `path` changes anything in its flow.
fn has_effect(cell: &Cell, path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    let ["flows", name, of_flow @ ..] = &parts[..] else {
        return true;
    };
    let Some(flow) = cell.scenario.flows.get(name) else {
        return true;
    };
    match of_flow {
        ["enabled"] => true,
        _ if !flow.enabled => false,
        // In a graph or a wlan a flow has a sender, not a side.
        ["from"] => flow.sender.is_none(),
        [table, key @ ..] if !key.is_empty() => {
            let mut transports = flow.transports();
            let transport = transports.find(|(name, _)| name == table);
            transport.is_none_or(|(_, transport)| transport.reads(&key.join(".")))
        }
        _ => true,
    }
}

/// Returns the law of the TCP flow, if it sets the value.
fn law_that_sets<'a>(cell: &'a Cell, path: &str) -> Option<&'a str> {
    let parts: Vec<&str> = path.split('.').collect();
    let ["flows", flow, "tcp", key @ ..] = &parts[..] else {
        return None;
    };
    let tcp = cell.scenario.flows.get(flow)?.tcp.as_ref()?;
    let law = tcp.law.kind();
    preset::is_of_law(law, key).then_some(law)
}

/// Returns whether the flow's preset sets the value.
fn is_of_preset(cell: &Cell, path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    let ["flows", flow, table, key @ ..] = &parts[..] else {
        return false;
    };
    let Some(flow) = cell.scenario.flows.get(flow) else {
        return false;
    };
    match (*table, &flow.tcp, &flow.dccp, key) {
        ("tcp", Some(tcp), _, [_, ..]) => preset::is_of_preset(tcp, key),
        ("dccp", _, Some(dccp), key) => preset::is_of_stack(dccp, &key.join(".")),
        _ => false,
    }
}
