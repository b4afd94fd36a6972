//! The making of a cell: what it extends and what it states, laid over each other.

use std::sync::Arc;

use super::axis::Values;
use super::fill::{Budget, Filling, Shared};
use super::flows;
use super::placeholder::placeholders;
use super::sheet::{FILE, Sheet};
use super::template::{Instance, Reference, Template};
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::schema;
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Node, Value};

/// The most layers of a cell.
const MOST_LAYERS: usize = 1_000;
/// The longest chain of cells and parts that extend each other.
const DEEPEST: usize = 32;

/// A cell before it is checked: its tree, its name and the values of its axes.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) tree: Node,
    /// The values of its axes, and of those of the cells that it extends.
    values: Values,
    /// The names of what it extends, in the order in which they are laid.
    extends: Vec<String>,
    shared: &'a Shared,
    bases: &'a [(String, Arc<Node>)],
    budget: Budget,
}

/// The layers over the bases, with the values that fill them.
struct Layers<'a> {
    all: Vec<(&'a Node, Values)>,
    extends: Vec<String>,
    /// The chain of instances that extend each other, down to the current one.
    chain: Vec<&'a Instance>,
}

impl Sheet {
    /// Makes a draft of `instance`, which is one of the file's own cells.
    pub(crate) fn draft<'a>(&'a self, instance: &'a Instance) -> Result<Draft<'a>, ScenarioError> {
        let budget = Budget::new();
        let made = self
            .layers(instance, &budget)
            .and_then(|(layers, common, values)| {
                let mut tree = Node::empty(&instance.template.place);
                let bases = self.bases.iter().map(|(_, base)| (&**base, &values));
                let parts = common.all.iter().chain(&layers.all);
                for (node, own) in bases.chain(parts.map(|(node, own)| (*node, own))) {
                    let filling = self.filling((own, &values), &budget);
                    tree.lay_over(&filling.layer(node)?)?;
                }
                let files = self.bases.split_last().map_or(&[][..], |(_, files)| files);
                let files = files.iter().map(|(name, _)| name.clone());
                let extends = files.chain(common.extends).chain(layers.extends).collect();
                Ok((tree, values, extends))
            });
        match made {
            Ok((tree, values, extends)) => Ok(Draft {
                instance,
                tree,
                values,
                extends,
                shared: &self.shared,
                bases: &self.bases,
                budget,
            }),
            Err(error) => Err(in_cell(error, &instance.name, &instance.values)),
        }
    }

    fn filling<'a>(
        &'a self,
        (own, all): (&'a Values, &'a Values),
        budget: &'a Budget,
    ) -> Filling<'a> {
        Filling {
            own,
            all,
            shared: &self.shared,
            budget,
        }
    }

    /// Returns the layers of `instance`, those below them that all cells have, and the values of its axes.
    fn layers<'a>(
        &'a self,
        instance: &'a Instance,
        budget: &Budget,
    ) -> Result<(Layers<'a>, Layers<'a>, Values), ScenarioError> {
        let mut layers = Layers::of(instance);
        let template = &instance.template;
        let values = self.collect_layers(template, &instance.values, budget, &mut layers)?;
        let mut common = Layers::of(instance);
        let values = self.collect_all(&self.common, &values, budget, &mut common)?;
        Ok((layers, common, values))
    }

    /// Adds what `template` extends, and then `template` itself, to `layers`. Returns the values of its axes together
    /// with those that it inherits.
    fn collect_layers<'a>(
        &'a self,
        template: &'a Template,
        values: &Values,
        budget: &Budget,
        layers: &mut Layers<'a>,
    ) -> Result<Values, ScenarioError> {
        let values = self.collect_all(&template.extends, values, budget, layers)?;
        if layers.all.len() >= MOST_LAYERS {
            let message = format!("a cell extends at most {MOST_LAYERS} others in all");
            return Err(ScenarioError::at(message, &template.place));
        }
        layers.all.push((&template.node, values.clone()));
        Ok(values)
    }

    fn collect_all<'a>(
        &'a self,
        extends: &[Reference],
        values: &Values,
        budget: &Budget,
        layers: &mut Layers<'a>,
    ) -> Result<Values, ScenarioError> {
        let mut inherited = values.clone();
        for Reference { text, place } in extends {
            let filling = self.filling((values, values), budget);
            let name = filling.text(text, place, 0)?;
            let found = self.resolve(&name, values, place)?;
            let is_circle = layers.chain.iter().any(|above| std::ptr::eq(*above, found));
            if is_circle || layers.chain.len() >= DEEPEST {
                let above = layers.chain.iter().map(|above| above.name.as_str());
                let chain: Vec<&str> = above.chain([name.as_str()]).collect();
                let chain = shorten(&chain.join(" extends "), 3 * QUOTED);
                let message = format!(
                    "these extend each other in a circle, or more than {DEEPEST} deep: {chain}"
                );
                return Err(ScenarioError::at(message, place));
            }
            let below = with(found.values.clone(), values);
            layers.chain.push(found);
            let below = self.collect_layers(&found.template, &below, budget, layers)?;
            layers.chain.pop();
            layers.extends.push(name);
            inherited = with(inherited, &below);
        }
        Ok(inherited)
    }

    /// Returns the instance `name`. The name comes from the text at `place`, filled with `values`.
    fn resolve<'a>(
        &'a self,
        name: &str,
        values: &Values,
        place: &Place,
    ) -> Result<&'a Instance, ScenarioError> {
        if let Some(found) = self.known.get(name) {
            return Ok(found);
        }
        let short = shorten(name, QUOTED);
        let message = if let Some(placeholder) = placeholders(name).next() {
            let axes = values.iter().map(|(axis, _)| &**axis);
            format!(
                "nothing fills {}: this cell has no such axis: {}",
                placeholder.whole,
                name_hint(placeholder.name, axes)
            )
        } else {
            let known = self.known.keys().map(String::as_str);
            format!(
                "no cell or part is called '{short}': {}; a file's name ends with {FILE}",
                name_hint(name, known)
            )
        };
        Err(ScenarioError::at(message, place))
    }
}

impl<'a> Layers<'a> {
    fn of(instance: &'a Instance) -> Self {
        Self {
            all: Vec::new(),
            extends: Vec::new(),
            chain: vec![instance],
        }
    }
}

impl Draft<'_> {
    /// Returns the tree so far, and the filling for further placeholders.
    pub(crate) fn parts(&mut self) -> (&mut Node, Filling<'_>) {
        let filling = Filling {
            own: &self.values,
            all: &self.values,
            shared: self.shared,
            budget: &self.budget,
        };
        (&mut self.tree, filling)
    }

    /// Finishes the tree: makes the members of families of flows, refuses placeholders that are left, and writes numbers
    /// as such.
    pub(crate) fn finish(&mut self) -> Result<(), ScenarioError> {
        flows::expand(&mut self.tree, &self.budget)?;
        let (tree, filling) = self.parts();
        filling.finish(tree)?;
        schema::write_numbers(tree, &schema::form());
        Ok(())
    }

    /// Adds the cell to `error`, if the cell has axes.
    pub(crate) fn in_cell(&self, error: ScenarioError) -> ScenarioError {
        in_cell(error, &self.instance.name, &self.values)
    }

    /// Returns whether something overrides the value at `path` that the first file states outside its cells. `tree` was
    /// made from this draft.
    pub(crate) fn is_base_overridden(&self, tree: &Node, path: &[&str]) -> bool {
        let mut bases = self.bases.iter();
        let first = bases.find_map(|(_, base)| base.below(path));
        let now = tree.below(path).map(|node| &node.place);
        first.is_some_and(|first| Some(&first.place) != now)
    }

    /// Returns `error` in other words if a key is missing in a flow of `tree` that no file states outside its cells: its
    /// name is probably misspelt.
    pub(crate) fn name_new_flow(&self, error: ScenarioError, tree: &Node) -> ScenarioError {
        let flows = |node: &'_ Node| -> Vec<Entry> {
            match node.below(&["flows"]).map(|flows| &flows.value) {
                Some(Value::Table(flows)) => flows.clone(),
                _ => Vec::new(),
            }
        };
        let stated: Vec<Entry> = self
            .bases
            .iter()
            .flat_map(|(_, base)| flows(base))
            .collect();
        let is_stated = |flow: &Entry| stated.iter().any(|known| known.place == flow.place);
        let (old, new): (Vec<Entry>, Vec<Entry>) = flows(tree).into_iter().partition(is_stated);
        let is_at = |flow: &&Entry| {
            error.is_missing_at(&flow.place) || error.is_missing_at(&flow.node.place)
        };
        match new.iter().find(is_at) {
            Some(flow) if !old.is_empty() => {
                let known = old.iter().map(|flow| flow.name.as_str());
                error.prefixed(&format!(
                    "no flow is called '{}': {}; this makes a new flow, which must be complete",
                    shorten(&flow.name, QUOTED),
                    name_hint(&flow.name, known)
                ))
            }
            _ => error,
        }
    }

    /// Returns the values of its axes, by the names of the axes.
    pub(crate) fn axes(&self) -> Vec<(String, String)> {
        let values = self.values.iter();
        let values = values.map(|(axis, value)| (axis.to_string(), value.text()));
        values.collect()
    }

    /// Returns the name of its family as it is written, if it belongs to one.
    pub(crate) fn family(&self) -> Option<&str> {
        let template = &*self.instance.template;
        (template.name != self.instance.name).then_some(&template.name)
    }

    /// Returns the names of what it extends, in the order in which they are laid.
    pub(crate) fn extends(&self) -> &[String] {
        &self.extends
    }
}

/// Adds the cell `name` and these values of its axes to `error`, if there are any values.
fn in_cell(error: ScenarioError, name: &str, values: &Values) -> ScenarioError {
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
