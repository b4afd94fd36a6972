//! The making of a cell: what it extends and what it states, laid over each other.

use std::sync::Arc;

use super::axis::{Values, instead};
use super::fill::{Filling, Room, Shared};
use super::flows;
use super::hole::holes;
use super::sheet::{FILE, Sheet};
use super::template::{Instance, Reference, Template};
use crate::scenario::place::{Place, ScenarioError};
use crate::scenario::shorten::{QUOTED, shorten};
use crate::scenario::tree::Node;

/// The most layers of a cell.
const MOST_LAYERS: usize = 1_000;
/// The longest chain of cells and parts that extend each other.
const DEEPEST: usize = 32;

/// A cell before it is checked: its tree, its name and the values of its axes.
#[derive(Debug)]
pub(in crate::scenario) struct Draft<'a> {
    pub(in crate::scenario) instance: &'a Instance,
    pub(in crate::scenario) tree: Node,
    /// The values of its axes, and of those of the cells that it extends.
    values: Values,
    /// The names of what it extends, in the order in which they are laid.
    over: Vec<String>,
    shared: &'a Shared,
    bases: &'a [(String, Arc<Node>)],
    room: Room,
}

/// The layers over the bases, with the values that fill them.
struct Layers<'a> {
    all: Vec<(&'a Node, Values)>,
    over: Vec<String>,
    /// The chain of instances that extend each other, down to the current one.
    chain: Vec<&'a Instance>,
}

impl Sheet {
    /// Makes a draft of `instance`, which is one of the file's own cells.
    pub(in crate::scenario) fn draft<'a>(
        &'a self,
        instance: &'a Instance,
    ) -> Result<Draft<'a>, ScenarioError> {
        let room = Room::new();
        let made = self
            .layers(instance, &room)
            .and_then(|(layers, common, values)| {
                let mut tree = Node::empty(&instance.template.place);
                let bases = self.bases.iter().map(|(_, base)| (&**base, &values));
                let parts = common.all.iter().chain(&layers.all);
                for (node, own) in bases.chain(parts.map(|(node, own)| (*node, own))) {
                    let filling = self.filling((own, &values), &room);
                    tree.lay_over(&filling.layer(node)?)?;
                }
                let files = self.bases.split_last().map_or(&[][..], |(_, files)| files);
                let files = files.iter().map(|(name, _)| name.clone());
                let over = files.chain(common.over).chain(layers.over).collect();
                Ok((tree, values, over))
            });
        match made {
            Ok((tree, values, over)) => Ok(Draft {
                instance,
                tree,
                values,
                over,
                shared: &self.shared,
                bases: &self.bases,
                room,
            }),
            Err(error) => Err(told(error, &instance.name, &instance.values)),
        }
    }

    fn filling<'a>(&'a self, (own, all): (&'a Values, &'a Values), room: &'a Room) -> Filling<'a> {
        Filling {
            own,
            all,
            shared: &self.shared,
            room,
        }
    }

    /// Returns the layers of `instance`, those below them that all cells have, and the values of its axes.
    fn layers<'a>(
        &'a self,
        instance: &'a Instance,
        room: &Room,
    ) -> Result<(Layers<'a>, Layers<'a>, Values), ScenarioError> {
        let mut layers = Layers::of(instance);
        let template = &instance.template;
        let values = self.climb(template, &instance.values, room, &mut layers)?;
        let mut common = Layers::of(instance);
        let values = self.climb_all(&self.common, &values, room, &mut common)?;
        Ok((layers, common, values))
    }

    /// Adds what `template` extends, and then `template` itself, to `layers`. Returns the values of its axes together
    /// with those that it inherits.
    fn climb<'a>(
        &'a self,
        template: &'a Template,
        values: &Values,
        room: &Room,
        layers: &mut Layers<'a>,
    ) -> Result<Values, ScenarioError> {
        let values = self.climb_all(&template.extends, values, room, layers)?;
        if layers.all.len() >= MOST_LAYERS {
            let message =
                format!("a cell extends {MOST_LAYERS} others at most, one over the other");
            return Err(ScenarioError::at(message, &template.place));
        }
        layers.all.push((&template.node, values.clone()));
        Ok(values)
    }

    fn climb_all<'a>(
        &'a self,
        extends: &[Reference],
        values: &Values,
        room: &Room,
        layers: &mut Layers<'a>,
    ) -> Result<Values, ScenarioError> {
        let mut inherited = values.clone();
        for Reference { text, place } in extends {
            let filling = self.filling((values, values), room);
            let name = filling.text(text, place, 0)?;
            let found = self.found(&name, values, place)?;
            let is_circle = layers.chain.iter().any(|above| std::ptr::eq(*above, found));
            if is_circle || layers.chain.len() >= DEEPEST {
                let above = layers.chain.iter().map(|above| above.name.as_str());
                let chain: Vec<&str> = above.chain([name.as_str()]).collect();
                let chain = shorten(&chain.join(" extends "), 3 * QUOTED);
                let message =
                    format!("what extends what has no end, or is deeper than {DEEPEST}: {chain}");
                return Err(ScenarioError::at(message, place));
            }
            let below = with(found.values.clone(), values);
            layers.chain.push(found);
            let below = self.climb(&found.template, &below, room, layers)?;
            layers.chain.pop();
            layers.over.push(name);
            inherited = with(inherited, &below);
        }
        Ok(inherited)
    }

    /// Returns the instance `name`. The name comes from the text at `place`, filled with `values`.
    fn found<'a>(
        &'a self,
        name: &str,
        values: &Values,
        place: &Place,
    ) -> Result<&'a Instance, ScenarioError> {
        if let Some(found) = self.known.get(name) {
            return Ok(found);
        }
        let short = shorten(name, QUOTED);
        let message = if let Some(hole) = holes(name).next() {
            let axes = values.iter().map(|(axis, _)| &**axis);
            format!(
                "nothing fills {}: {} as an axis of this cell",
                hole.whole,
                instead(hole.name, axes)
            )
        } else {
            let known = self.known.keys().map(String::as_str);
            format!(
                "no cell or part is called '{short}': {}; a file's name ends with {FILE}",
                instead(name, known)
            )
        };
        Err(ScenarioError::at(message, place))
    }
}

impl<'a> Layers<'a> {
    fn of(instance: &'a Instance) -> Self {
        Self {
            all: Vec::new(),
            over: Vec::new(),
            chain: vec![instance],
        }
    }
}

impl Draft<'_> {
    /// Returns the tree so far, and the filling for further placeholders.
    pub(in crate::scenario) fn parts(&mut self) -> (&mut Node, Filling<'_>) {
        let filling = Filling {
            own: &self.values,
            all: &self.values,
            shared: self.shared,
            room: &self.room,
        };
        (&mut self.tree, filling)
    }

    /// Finishes the tree: makes the members of families of flows, and refuses placeholders that are left.
    pub(in crate::scenario) fn finish(&mut self) -> Result<(), ScenarioError> {
        flows::expand(&mut self.tree, &self.room)?;
        let (tree, filling) = self.parts();
        filling.finish(tree)
    }

    /// Adds the cell to `error`, if the cell has axes.
    pub(in crate::scenario) fn told(&self, error: ScenarioError) -> ScenarioError {
        told(error, &self.instance.name, &self.values)
    }

    /// Returns whether something overrides the value at `path` that the first file states outside its cells. `tree` was
    /// made from this draft.
    pub(in crate::scenario) fn is_base_overridden(&self, tree: &Node, path: &[&str]) -> bool {
        let mut bases = self.bases.iter();
        let first = bases.find_map(|(_, base)| base.below(path));
        let now = tree.below(path).map(|node| &node.place);
        first.is_some_and(|first| Some(&first.place) != now)
    }

    /// Returns the values of its axes, by the names of the axes.
    pub(in crate::scenario) fn axes(&self) -> Vec<(String, String)> {
        let values = self.values.iter();
        let values = values.map(|(axis, value)| (axis.to_string(), value.text()));
        values.collect()
    }

    /// Returns the name of its family as it is written, if it belongs to one.
    pub(in crate::scenario) fn family(&self) -> Option<&str> {
        let template = &*self.instance.template;
        (template.name != self.instance.name).then_some(&template.name)
    }

    /// Returns the names of what it extends, in the order in which they are laid.
    pub(in crate::scenario) fn over(&self) -> &[String] {
        &self.over
    }
}

/// Adds the cell `name` and these values of its axes to `error`, if there are any values.
fn told(error: ScenarioError, name: &str, values: &Values) -> ScenarioError {
    if values.is_empty() {
        return error;
    }
    let values = values.iter();
    let values = values.map(|(axis, value)| format!("{axis} = {}", shorten(&value.text(), QUOTED)));
    let values = shorten(&values.collect::<Vec<_>>().join(", "), 3 * QUOTED);
    error.with_note(format!("in cell '{}' ({values})", shorten(name, QUOTED)))
}

/// Returns `values` with those of `others` whose axes it lacks.
fn with(mut values: Values, others: &Values) -> Values {
    for (axis, value) in others {
        if values.iter().all(|(known, _)| known != axis) {
            values.push((Arc::clone(axis), Arc::clone(value)));
        }
    }
    values
}
