//! The laying of overrides over the values below them.

use fairwire_units::registry::nearest;

use super::{Entry, Node, Overlay, Value};
use crate::place::{IMPLIED, Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::transport::TRANSPORTS;

/// Groups of keys of a flow that exclude each other. An override of one removes the others.
const OF_FLOW: &[&[&str]] = &[&["wire", "payload"], TRANSPORTS];

/// The same for its traffic.
const OF_TRAFFIC: &[&[&str]] = &[&["rate", "every"]];

/// The same for a link.
const OF_LINK: &[&[&str]] = &[&["rate", "trace"], &["rate_changes", "trace"]];

/// The kind of table in a scenario, as far as overrides need to know it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Level {
    Top,
    Flows,
    Flow,
    Traffic,
    Topology,
    Links,
    Link,
    /// The way back of a link, and the tables in it. It is laid over its link when all overrides are known, so what it
    /// removes may belong to the link.
    Back,
    Elsewhere,
}

impl Level {
    fn below(self, name: &str) -> Self {
        match self {
            Self::Top if name == "flows" => Self::Flows,
            Self::Flows => Self::Flow,
            Self::Flow if name == "traffic" => Self::Traffic,
            Self::Top if name == "topology" => Self::Topology,
            Self::Topology if name == "links" => Self::Links,
            Self::Topology if ["access", "bottleneck"].contains(&name) => Self::Link,
            Self::Links => Self::Link,
            Self::Link if name == "back" => Self::Back,
            Self::Back => Self::Back,
            _ => Self::Elsewhere,
        }
    }

    /// Returns the groups of keys at this level that exclude each other.
    fn alternatives(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Flow => OF_FLOW,
            Self::Traffic => OF_TRAFFIC,
            Self::Link | Self::Back => OF_LINK,
            _ => &[],
        }
    }
}

impl Node {
    /// Lays `over` over this node. Tables are merged key by key, and everything else is replaced. A table that states
    /// another `kind` replaces the one below.
    ///
    /// # Errors
    /// If `over` removes something that does not exist.
    pub(crate) fn lay_over(&mut self, over: &Self) -> Result<(), ScenarioError> {
        if over.overlay == Overlay::Remove {
            let message =
                "a whole scenario cannot be removed: 'remove' belongs into one of its tables";
            return Err(ScenarioError::at(message, &over.place));
        }
        self.lay(over, Level::Top)
    }

    /// Does the same for a part of a scenario that is at `level`.
    pub(crate) fn lay(&mut self, over: &Self, level: Level) -> Result<(), ScenarioError> {
        let merges = match (&self.value, &over.value) {
            (Value::Table(_), Value::Table(_)) => {
                // Another alternative has keys of its own.
                let is_other = self
                    .kind()
                    .zip(over.kind())
                    .is_some_and(|(old, new)| old != new);
                let merges = |node: &Self| node.overlay == Overlay::Merge;
                merges(self) && merges(over) && !is_other
            }
            _ => false,
        };
        if !merges {
            *self = over.clone();
            return self.make_plain(level);
        }
        let (Value::Table(entries), Value::Table(new)) = (&mut self.value, &over.value) else {
            return Ok(());
        };
        for entry in new {
            let groups = level.alternatives().iter();
            for group in groups.filter(|group| group.contains(&entry.name.as_str())) {
                // Keys that the override states itself are kept, so that two of a group are refused later.
                let is_other = |old: &Entry| {
                    group.contains(&old.name.as_str()) && new.iter().all(|it| it.name != old.name)
                };
                entries.retain(|old| !is_other(old));
            }
            let old = entries.iter().position(|old| old.name == entry.name);
            match (old, entry.node.overlay) {
                (Some(at), Overlay::Remove) => {
                    if entries[at].node.overlay != Overlay::Remove {
                        entries.remove(at);
                    }
                }
                (None, Overlay::Remove) if level == Level::Back => entries.push(entry.clone()),
                (None, Overlay::Remove) => return Err(not_inherited(entry, entries)),
                // A short form implies a kind. If that is the kind below, the source below is kept.
                (Some(at), _)
                    if follows(&entry.node) && same_text(&entries[at].node, &entry.node) => {}
                (Some(at), _) => entries[at]
                    .node
                    .lay(&entry.node, level.below(&entry.name))?,
                (None, _) => {
                    let mut entry = entry.clone();
                    entry.node.make_plain(level.below(&entry.name))?;
                    entries.push(entry);
                }
            }
        }
        Ok(())
    }

    /// Lets the way back of a link be without what it inherits from the link at `path`. Returns false if the path leads
    /// into no way back, or to nothing that the link states.
    pub(crate) fn leave_out_of_back(
        &mut self,
        path: &str,
        place: &Place,
    ) -> Result<bool, ScenarioError> {
        if !self.is_inherited_by_back(path) {
            return Ok(false);
        }
        let empty = Self::empty(place);
        let mut node = Self {
            overlay: Overlay::Remove,
            ..empty.clone()
        };
        for name in path.rsplit('.') {
            let entry = Entry {
                name: name.to_owned(),
                place: place.clone(),
                node,
            };
            node = Self {
                value: Value::Table(vec![entry]),
                ..empty.clone()
            };
        }
        self.lay_over(&node).map(|()| true)
    }

    /// Returns whether `path` leads to something that the way back of a link inherits from the link.
    pub(crate) fn is_inherited_by_back(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('.').collect();
        let mut level = Level::Top;
        let back = names.iter().position(|name| {
            level = level.below(name);
            level == Level::Back
        });
        back.is_some_and(|back| {
            let rest = &names[back + 1..];
            let link = self.below(&names[..back]);
            !rest.is_empty() && link.is_some_and(|link| link.below(rest).is_some())
        })
    }

    /// Turns an override into a plain value where nothing is inherited.
    fn make_plain(&mut self, level: Level) -> Result<(), ScenarioError> {
        self.overlay = Overlay::Merge;
        match &mut self.value {
            Value::Table(entries) => {
                entries
                    .iter_mut()
                    .try_for_each(|entry| match entry.node.overlay {
                        Overlay::Remove if level == Level::Back => Ok(()),
                        Overlay::Remove => Err(not_inherited(entry, &[])),
                        _ => entry.node.make_plain(level.below(&entry.name)),
                    })
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| {
                if item.overlay == Overlay::Remove {
                    let message =
                        "an item of a list cannot be removed: write the list that is to stay";
                    return Err(ScenarioError::at(message, &item.place));
                }
                item.make_plain(Level::Elsewhere)
            }),
            _ => Ok(()),
        }
    }
}

fn follows(node: &Node) -> bool {
    node.place.source.name == IMPLIED
}

fn same_text(one: &Node, other: &Node) -> bool {
    matches!((&one.value, &other.value), (Value::Text(one), Value::Text(other)) if one == other)
}

/// Returns the error for an `entry` that removes something that is not among `inherited`.
fn not_inherited(entry: &Entry, inherited: &[Entry]) -> ScenarioError {
    let name = shorten(&entry.name, QUOTED);
    let names = || inherited.iter().map(|entry| entry.name.as_str());
    let hint = nearest(&entry.name, names())
        .map(|one| format!("did you mean '{}'? ", shorten(one, QUOTED)))
        .unwrap_or_default();
    let there = match names().collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "none".to_owned(),
        some => shorten(&some, 3 * QUOTED),
    };
    let message = format!(
        "'{name}' is not inherited, so it cannot be removed: {hint}inherited keys: {there}"
    );
    ScenarioError::at(message, &entry.place)
}
