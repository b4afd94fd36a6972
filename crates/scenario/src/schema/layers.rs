//! A schema together with the definitions that it refers to.

use serde_json::{Map, Value};

/// Schemas that describe one value together. A keyword beside a reference overrides that of the referenced schema.
#[derive(Clone, Debug)]
pub(super) struct Layers<'a> {
    /// The schemas, the overriding one first.
    all: Vec<&'a Map<String, Value>>,
    /// The name of the last definition, if there is one.
    definition: Option<&'a str>,
}

impl<'a> Layers<'a> {
    /// Collects `schema` and the definitions of `root` that it refers to.
    pub(super) fn of(schema: &'a Value, root: &'a Value) -> Self {
        let mut layers = Self {
            all: Vec::new(),
            definition: None,
        };
        layers.push(schema, root);
        layers
    }

    fn push(&mut self, schema: &'a Value, root: &'a Value) {
        let Value::Object(here) = schema else {
            return;
        };
        self.all.push(here);
        // `Option` of a type with its own definition is that type or null.
        if let Some(Value::Array(any)) = here.get("anyOf") {
            let mut others = any.iter().filter(|one| one["type"] != "null");
            if let (Some(only), None) = (others.next(), others.next()) {
                self.push(only, root);
            }
        }
        if let Some(Value::String(reference)) = here.get("$ref") {
            self.definition = reference.rsplit('/').next();
            if let Some(target) = root.pointer(reference.trim_start_matches('#')) {
                self.push(target, root);
            }
        }
    }

    /// Returns the value of `keyword`.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.all.iter().find_map(|schema| schema.get(keyword))
    }

    /// Returns the value of `keyword` if it is a text.
    pub(super) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword).and_then(Value::as_str)
    }

    /// Returns the name of the type: its title, or the name of its definition.
    pub(super) fn name(&self) -> &'a str {
        let title = self.text("title");
        title.or(self.definition).unwrap_or_default()
    }

    /// Returns the name of the definition if no schema before it has any of these `keywords`.
    pub(super) fn only_definition(&self, keywords: &[&str]) -> Option<&'a str> {
        let (_, beside) = self.all.split_last()?;
        let is_silent = |schema: &&Map<String, Value>| {
            let mut all = keywords.iter();
            all.all(|keyword| !schema.contains_key(*keyword))
        };
        self.definition.filter(|_| beside.iter().all(is_silent))
    }
}
