//! The reading of a scenario's traces. Each trace is read once for all cells.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairwire_net::Trace;

use super::files::{Files, plain};
use super::place::{Place, ScenarioError, SourceText};
use super::shorten::{QUOTED, shorten};
use super::topology::Topology;
use super::trace::name;
use super::tree::Node;

/// The longest file of a trace, bytes.
const LONGEST_FILE: u64 = 32 << 20;

/// The traces that were read so far, each once for all cells.
pub(super) struct Traces<'a> {
    beside: &'a Files,
    /// The traces by plain path.
    known: BTreeMap<String, Arc<Trace>>,
}

impl<'a> Traces<'a> {
    /// Returns an empty set of traces, which are found by `beside`.
    pub(super) fn of(beside: &'a Files) -> Self {
        Self {
            beside,
            known: BTreeMap::new(),
        }
    }

    /// Reads the traces of `topology`, which was read from `tree`.
    pub(super) fn fill(&mut self, topology: &Topology, tree: &Node) -> Result<(), ScenarioError> {
        for (path, link) in topology.directions() {
            let Some(file) = &link.trace else {
                continue;
            };
            let whole = plain(file.path());
            if !self.known.contains_key(&whole) {
                let place = &tree.nearest(&format!("topology.{path}.trace")).place;
                let own = file.name();
                if let Some(other) = self.known.keys().find(|path| name(path) == own) {
                    let path = file.path();
                    let short = |text: &str| shorten(text, QUOTED);
                    let (path, other, own) = (short(path), short(other), short(&own));
                    let message = format!(
                        "'{path}' and '{other}' would both be called '{own}' among the results: rename one of them"
                    );
                    return Err(ScenarioError::at(message, place));
                }
                let trace = read(self.beside, file.path(), place)?;
                self.known.insert(whole.clone(), trace);
            }
            file.fill(&self.known[&whole]);
        }
        Ok(())
    }
}

/// Reads the trace at `path`, which is written at `place` and found by `beside`.
fn read(beside: &Files, path: &str, place: &Place) -> Result<Arc<Trace>, ScenarioError> {
    let (name, text) = beside.read(path, "trace", LONGEST_FILE).map_err(|error| {
        let folder = beside.folder(path);
        let path = shorten(path, QUOTED);
        let message = format!("cannot read the trace '{path}'{folder}: {error}");
        ScenarioError::at(message, place)
    })?;
    let read = text.parse::<Trace>();
    read.map(Arc::new).map_err(|error| match error.line() {
        Some(line) => {
            let lines = text.split_inclusive('\n');
            let start = lines.take(line - 1).map(str::len).sum();
            let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
            let source = Arc::new(SourceText { name, text });
            ScenarioError::at(error.to_string(), &Place::new(&source, start..end))
        }
        None => ScenarioError::at(format!("{name}: {error}"), place),
    })
}
