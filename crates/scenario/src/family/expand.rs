//! Expansion of families in files beside scenarios.
//!
//! 1. A text in a list with a placeholder that has no value yet stands for all values of that axis.
//! 2. A table in a list with `for` is repeated for each value. If it has `items`, those items are repeated instead.
//! 3. A table with `extends` is laid over the parts that it names, key by key.
//! 4. All other placeholders are filled in as in scenarios. `{groups.NAME}` is the list of a group's cells.

use super::axis::{Axis, Values, find};
use super::families::Families;
use super::fill::{Budget, Filling, check_depth, inherit_source};
use super::placeholder::{Placeholder, only, placeholders};
use super::template::{product, references};
use crate::hint::name_hint;
use crate::place::{Place, ScenarioError};
use crate::shorten::{QUOTED, shorten};
use crate::tree::{Entry, Node, Overlay, Value};

/// The key of the axes by which a table is repeated.
const FOR: &str = "for";

/// The key of a list of items that are repeated.
const ITEMS: &str = "items";

/// The name of the table of groups in placeholders.
const GROUPS: &str = "groups";

/// The longest chain of parts that extend parts.
const DEEPEST: usize = 32;

impl Families {
    /// Returns `file` with all families expanded.
    ///
    /// # Errors
    /// If a name is not known, if parts extend each other in a circle, or if the result is too large.
    pub fn written_out(&self, file: &Node) -> Result<Node, ScenarioError> {
        let spread = Expander {
            families: self,
            budget: Budget::new(),
        };
        spread.value(file, &Values::new(), 0)
    }
}

struct Expander<'a> {
    families: &'a Families,
    budget: Budget,
}

impl Expander<'_> {
    fn value(&self, node: &Node, values: &Values, depth: usize) -> Result<Node, ScenarioError> {
        let value = match &node.value {
            Value::Text(text) => return self.text(text, node, values, depth),
            Value::Array(items) => Value::Array(self.items(items, values, depth)?),
            Value::Table(_) => return self.table(node, values, depth),
            _ => return Ok(node.clone()),
        };
        Ok(Node {
            value,
            ..Node::empty(&node.place)
        })
    }

    fn text(
        &self,
        text: &str,
        node: &Node,
        values: &Values,
        depth: usize,
    ) -> Result<Node, ScenarioError> {
        if let Some(found) = self.resolve(text, node)? {
            check_depth(depth, &node.place)?;
            return self.value(&found, values, depth + 1);
        }
        let filling = Filling {
            own: values,
            all: values,
            shared: &self.families.shared,
            budget: &self.budget,
        };
        let mut node = filling.filled(node)?;
        filling.finish(&mut node)?;
        Ok(node)
    }

    /// Returns the shared value or group if `text`, the text of `node`, is a placeholder for one.
    fn resolve(&self, text: &str, node: &Node) -> Result<Option<Node>, ScenarioError> {
        let Some(Placeholder {
            name,
            attribute: Some(attribute),
            ..
        }) = only(text)
        else {
            return Ok(None);
        };
        let mut found = if name == GROUPS {
            let group = self.families.groups.get(attribute).ok_or_else(|| {
                let known = self.families.groups.keys().map(String::as_str);
                let message = format!(
                    "no group is called '{}': {}",
                    shorten(attribute, QUOTED),
                    name_hint(attribute, known)
                );
                ScenarioError::at(message, &node.place)
            })?;
            let cell = |cell: &String| Node {
                value: Value::Text(cell.clone()),
                ..Node::empty(&node.place)
            };
            Node {
                value: Value::Array(group.iter().map(cell).collect()),
                ..Node::empty(&node.place)
            }
        } else if let (super::axis::SHARED, Some(found)) =
            (name, self.families.shared.get(attribute))
        {
            found.clone()
        } else {
            return Ok(None);
        };
        self.budget.take(&found)?;
        inherit_source(&mut found, node);
        Ok(Some(found))
    }

    fn items(
        &self,
        items: &[Node],
        values: &Values,
        depth: usize,
    ) -> Result<Vec<Node>, ScenarioError> {
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Value::Text(text) => self.texts(text, item, values, depth, &mut all)?,
                Value::Table(entries) if entries.iter().any(|entry| entry.name == FOR) => {
                    self.repeat(item, values, depth, &mut all)?;
                }
                _ => all.push(self.value(item, values, depth)?),
            }
        }
        Ok(all)
    }

    /// Adds a text in a list once for each combination of values of those of its axes that have no value yet.
    fn texts(
        &self,
        text: &str,
        item: &Node,
        values: &Values,
        depth: usize,
        all: &mut Vec<Node>,
    ) -> Result<(), ScenarioError> {
        let mut free: Vec<Axis> = Vec::new();
        for placeholder in placeholders(text) {
            let is_fixed = [super::axis::SHARED, GROUPS].contains(&placeholder.name)
                || find(values, placeholder.name).is_some()
                || free.iter().any(|axis| *axis.name == *placeholder.name);
            if !is_fixed {
                free.push(self.families.axis(placeholder.name, &item.place)?.clone());
            }
        }
        for more in product(&free) {
            self.budget.take(item)?;
            let node = self.value(item, &with(values, more), depth)?;
            match node.value {
                // A list in place of an item adds all its items.
                Value::Array(more) => all.extend(more),
                _ => all.push(node),
            }
        }
        Ok(())
    }

    /// Adds a table with `for`, or the `items` in it, once for each combination of values.
    fn repeat(
        &self,
        item: &Node,
        values: &Values,
        depth: usize,
        all: &mut Vec<Node>,
    ) -> Result<(), ScenarioError> {
        let mut table = item.clone();
        let axes = match table.take(FOR) {
            Some(wanted) => self.wanted(&wanted, values, depth)?,
            None => Vec::new(),
        };
        let items = table.take(ITEMS);
        if let (Some(_), Value::Table(entries)) = (&items, &table.value)
            && let Some(other) = entries.first()
        {
            let message = format!(
                "'{}' is beside '{ITEMS}', where only '{FOR}' is allowed: write it into each of the '{ITEMS}'",
                shorten(&other.name, QUOTED)
            );
            return Err(ScenarioError::at(message, &other.place));
        }
        for more in product(&axes) {
            let values = with(values, more);
            match &items {
                None => {
                    self.budget.take(&table)?;
                    all.push(self.table(&table, &values, depth)?);
                }
                Some(Node {
                    value: Value::Array(items),
                    ..
                }) => {
                    items.iter().try_for_each(|item| self.budget.take(item))?;
                    all.extend(self.items(items, &values, depth)?);
                }
                Some(other) => {
                    let message = format!("'{ITEMS}' is a list of what is repeated");
                    return Err(ScenarioError::at(message, &other.place));
                }
            }
        }
        Ok(())
    }

    /// Returns the axes that a `for` names: one axis, a list of axes, or a table that states their values.
    fn wanted(
        &self,
        node: &Node,
        values: &Values,
        depth: usize,
    ) -> Result<Vec<Axis>, ScenarioError> {
        let mut axes: Vec<Axis> = Vec::new();
        let mut add = |axis: Axis, place: &Place| {
            let is_bound = |name: &str| axes.iter().any(|known| *known.name == *name);
            if is_bound(&axis.name) || find(values, &axis.name).is_some() {
                let message = format!("'{}' has a value here already", axis.name);
                return Err(ScenarioError::at(message, place));
            }
            axes.push(axis);
            Ok(())
        };
        let known = |node: &Node| {
            let Value::Text(name) = &node.value else {
                let message = "'for' is the name of an axis, a list of names, or a table as in for.queue = [10, 20]";
                return Err(ScenarioError::at(message, &node.place));
            };
            self.families.axis(name, &node.place).cloned()
        };
        match &node.value {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| add(known(item)?, &item.place))?,
            Value::Table(entries) => {
                for entry in entries {
                    let entry = Entry {
                        node: self.value(&entry.node, values, depth)?,
                        ..entry.clone()
                    };
                    let axis = Axis::read(&entry, self.families.known(&entry.name))?;
                    add(axis, &entry.place)?;
                }
            }
            _ => add(known(node)?, &node.place)?,
        }
        Ok(axes)
    }

    fn table(&self, node: &Node, values: &Values, depth: usize) -> Result<Node, ScenarioError> {
        let whole = self.extended(node.clone(), values, 0)?;
        let Value::Table(entries) = whole.value else {
            return Ok(whole);
        };
        let entry = |entry: Entry| {
            let node = self.value(&entry.node, values, depth)?;
            Ok(Entry { node, ..entry })
        };
        let entries = entries.into_iter().map(entry);
        Ok(Node {
            value: Value::Table(entries.collect::<Result<_, ScenarioError>>()?),
            ..Node::empty(&node.place)
        })
    }

    /// Returns `node` laid over the parts that it extends.
    fn extended(
        &self,
        mut node: Node,
        values: &Values,
        depth: usize,
    ) -> Result<Node, ScenarioError> {
        let extends = references(node.take("extends"))?;
        let mut below = Node::empty(&node.place);
        for reference in extends {
            let place = &reference.place;
            let named = Node {
                value: Value::Text(reference.text),
                ..Node::empty(place)
            };
            let Value::Text(name) = self.value(&named, values, 0)?.value else {
                return Err(ScenarioError::at(
                    "the name of a part must be a text",
                    place,
                ));
            };
            let part = self.families.parts.get(&name).ok_or_else(|| {
                let known = self.families.parts.keys().map(String::as_str);
                let message = format!(
                    "no part is called '{}': {}",
                    shorten(&name, QUOTED),
                    name_hint(&name, known)
                );
                ScenarioError::at(message, place)
            })?;
            if depth >= DEEPEST {
                let message = format!(
                    "parts extend each other in a circle, or more than {DEEPEST} deep, at '{}'",
                    shorten(&name, QUOTED)
                );
                return Err(ScenarioError::at(message, place));
            }
            self.budget.take(part)?;
            let mut part = self.extended(part.clone(), values, depth + 1)?;
            inherit_source(&mut part, &node);
            below.merge(part);
        }
        below.merge(node);
        Ok(below)
    }
}

impl Node {
    /// Lays `over` over this node: tables are merged key by key, and other values are replaced.
    pub fn merge(&mut self, over: Self) {
        match (&mut self.value, over.value) {
            (Value::Table(entries), Value::Table(new)) => {
                for entry in new {
                    match entries.iter_mut().find(|old| old.name == entry.name) {
                        Some(old) => old.node.merge(entry.node),
                        None => entries.push(entry),
                    }
                }
                self.place = over.place;
            }
            (_, value) => {
                *self = Self {
                    value,
                    place: over.place,
                    provenance: over.provenance,
                    overlay: Overlay::Merge,
                }
            }
        }
    }
}

/// Returns `more` followed by `values`.
fn with(values: &Values, mut more: Values) -> Values {
    more.extend(values.iter().cloned());
    more
}
