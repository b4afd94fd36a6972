//! The schema of scenario files, which `fairwire schema` prints for editors.
//!
//! A file may hold more than a scenario. A value may be a table with its source, or a text with a placeholder. Any
//! table may state the source of the values in it. `[cells.NAME]` tables are overrides, which may lack whatever the
//! base states. So the schema holds each type twice: complete, and as an override.

use serde_json::{Map, Value, json};

use super::choice::{CHOICES, Choice};
use super::reader::is_laid_over;

/// Whether a table must be complete.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Whole,
    Override,
}

impl Mode {
    /// Returns the name of the definition for this mode, where the scenario's schema has `name`.
    fn named(self, name: &str) -> String {
        match self {
            Self::Whole => name.to_owned(),
            Self::Override => format!("{name}-override"),
        }
    }
}

/// Returns the schema of a scenario file.
pub fn schema() -> Value {
    let mut scenario = super::scenario();
    let none = Map::new();
    let root = scenario.as_object_mut();
    let definitions = root.and_then(|root| root.remove("$defs"));
    let definitions = definitions.as_ref().and_then(Value::as_object);
    let rewriter = Rewriter {
        definitions: definitions.unwrap_or(&none),
    };
    let mut all = Map::new();
    for (name, definition) in rewriter.definitions {
        for mode in [Mode::Whole, Mode::Override] {
            let mut one = rewriter.rewrite(definition, mode);
            if name == "Flow" {
                members(&mut one["properties"]);
            }
            all.insert(mode.named(name), one);
        }
    }
    let mut file = rewriter.rewrite(&scenario, Mode::Override);
    for (mode, mut whole) in [
        (Mode::Whole, rewriter.rewrite(&scenario, Mode::Whole)),
        (Mode::Override, file.clone()),
    ] {
        remove(&mut whole, "$schema");
        all.insert(mode.named("Scenario"), whole);
    }
    file["title"] = "Fairwire scenario".into();
    let mut cell = file.clone();
    remove(&mut cell, "$schema");
    cell["title"] = "Cell".into();
    cell["properties"]["extends"] =
        extends("Cells and parts that are laid over the base before it, in this order.");
    cell["properties"]["axes"] =
        axes("The values of axes in this cell, if they differ from the file's.");
    all.insert("Cell".into(), cell);
    for (name, schema) in tables() {
        file["properties"][name] = schema;
    }
    // Without cells the file is one experiment, and it must be complete.
    let of_several = ["cells", "extends", "axes"].map(|key| json!({ "required": [key] }));
    file["if"] = json!({ "not": { "anyOf": of_several } });
    file["then"] = json!({ "$ref": "#/$defs/Scenario" });
    file["$defs"] = Value::Object(all);
    file
}

/// Returns the schemas of the tables that a file may hold beside the scenario.
fn tables() -> [(&'static str, Value); 6] {
    let cells = json!({ "$ref": "#/$defs/Cell" });
    [
        (
            "cells",
            json!({
                "description": "The cells: experiments that are laid over the rest of the file key by key. A name with \
                                placeholders stands for one cell for each combination of values of those axes.",
                "type": "object",
                "additionalProperties": cells,
            }),
        ),
        (
            "parts",
            json!({
                "description": "The parts that cells and files extend. A part is not run.",
                "type": "object",
                "additionalProperties": cells,
            }),
        ),
        (
            "axes",
            axes(
                "Axes: lists of values, or tables in which each value has a table of its attributes.",
            ),
        ),
        (
            "extends",
            extends(
                "Files whose base, axes, parts and cells this one takes over, and parts that are laid over the base.",
            ),
        ),
        (
            "shared",
            json!({
                "description": "Shared values, which placeholders such as {shared.name} insert.",
                "type": "object",
            }),
        ),
        (
            "groups",
            json!({
                "description": "Names of several cells, for --only.",
                "type": "object",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            }),
        ),
    ]
}

/// Adds the keys of a family of flows to the schema of a flow.
fn members(flow: &mut Value) {
    flow["count"] = json!({
        "description": "The number of flows in this family, whose name has the placeholder {n}.",
        "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 1000 },
            { "type": "string", "pattern": "\\{[A-Za-z]" },
        ],
    });
    flow["for"] = axes(
        "The axis of this family of flows: one flow for each value. The name has a placeholder with the axis's name.",
    );
}

fn extends(description: &str) -> Value {
    json!({
        "description": description,
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
    })
}

fn axes(description: &str) -> Value {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": { "anyOf": [
            { "type": "array", "minItems": 1, "items": { "type": ["string", "number", "boolean"] } },
            { "type": "object", "minProperties": 1, "additionalProperties": { "type": "object" } },
            { "type": ["string", "number", "boolean"] },
        ] },
    })
}

fn remove(value: &mut Value, key: &str) -> Option<Value> {
    value.as_object_mut()?.remove(key)
}

struct Rewriter<'a> {
    definitions: &'a Map<String, Value>,
}

impl Rewriter<'_> {
    /// Returns `schema` as it applies to files.
    fn rewrite(&self, schema: &Value, mode: Mode) -> Value {
        let Value::Object(from) = schema else {
            return schema.clone();
        };
        let mut to = Map::new();
        for (keyword, value) in from {
            let value = match (keyword.as_str(), value) {
                // TOML has no null.
                ("type", Value::Array(types)) => types.iter().find(|one| **one != "null").cloned(),
                ("$ref", Value::String(path)) => {
                    let name = path.rsplit('/').next().unwrap_or_default();
                    Some(format!("#/$defs/{}", mode.named(name)).into())
                }
                ("required", _) if mode == Mode::Override => None,
                ("properties", Value::Object(properties)) => {
                    Some(self.properties(properties, mode))
                }
                ("additionalProperties", Value::Object(_)) => {
                    to.insert("properties".into(), about(mode));
                    Some(self.sourced(value, mode))
                }
                ("items", _) => Some(self.sourced(value, mode)),
                ("oneOf" | "anyOf" | "allOf", Value::Array(all)) => {
                    let all = all.iter().filter(|one| one["type"] != "null");
                    Some(all.map(|one| self.rewrite(one, mode)).collect())
                }
                ("short_form" | "short_value" | "laid_over", _) => None,
                (CHOICES, Value::Array(choices)) => {
                    let rules = choices.iter();
                    let rules = rules.flat_map(|choice| Choice::rules(choice, mode == Mode::Whole));
                    to.insert("allOf".into(), rules.collect());
                    None
                }
                _ => Some(value.clone()),
            };
            to.extend(value.map(|value| (keyword.clone(), value)));
        }
        self.alternatives(from, &mut to, mode);
        Value::Object(to)
    }

    /// Turns the alternatives into `anyOf`, because overrides may match several, and adds the short forms.
    fn alternatives(&self, from: &Map<String, Value>, to: &mut Map<String, Value>, mode: Mode) {
        let kinds = from.get("oneOf").and_then(Value::as_array);
        let Some(kinds) = kinds.filter(|kinds| kinds.iter().any(|one| one["type"] == "object"))
        else {
            return;
        };
        let mut all = Vec::new();
        let of = |key: &str| from.get(key);
        if of("short_form") == Some(&Value::Bool(true)) {
            let names = kinds
                .iter()
                .map(|kind| &kind["properties"]["kind"]["const"]);
            all.push(json!({ "enum": names.collect::<Vec<_>>() }));
        }
        let key = of("short_value").or(of("short_form"));
        if let Some(Value::String(key)) = key {
            let properties = &self.target(&kinds[0])["properties"];
            all.push(self.rewrite(&properties[key], mode));
        }
        if let Some(Value::Array(tables)) = to.remove("oneOf") {
            all.extend(tables);
        }
        to.insert("anyOf".into(), all.into());
    }

    /// Returns the properties of a table, with those that any table may have.
    fn properties(&self, properties: &Map<String, Value>, mode: Mode) -> Value {
        let mut all = about(mode);
        for (name, property) in properties {
            all[name] = if is_laid_over(property) {
                self.sourced(&self.laid_over(property), Mode::Override)
            } else {
                self.sourced(property, mode)
            };
        }
        all
    }

    /// Returns the schema of a table that is laid over the table it is in.
    fn laid_over(&self, property: &Value) -> Value {
        let mut table = self.target(property).clone();
        table["description"] = property["description"].clone();
        if let Some(Value::Object(properties)) = table.get_mut("properties") {
            properties.retain(|_, property| !is_laid_over(property));
        }
        table
    }

    /// Returns `schema` for a place where the value may state its source.
    fn sourced(&self, schema: &Value, mode: Mode) -> Value {
        let mut plain = self.rewrite(schema, mode);
        let mut all = Map::new();
        for keyword in ["description", "default"] {
            all.extend(remove(&mut plain, keyword).map(|value| (keyword.to_owned(), value)));
        }
        let filled = json!({
            "description": "A text with a placeholder such as {name}.",
            "type": "string",
            "pattern": "\\{[A-Za-z]",
        });
        let mut properties = about(Mode::Whole);
        properties["value"] = json!({ "anyOf": [&plain, &filled] });
        let wrapped = json!({
            "type": "object",
            "properties": properties,
            "required": ["value"],
            "additionalProperties": false,
        });
        let mut any = vec![plain, wrapped, filled];
        if mode == Mode::Override {
            let mut properties = about(Mode::Whole);
            properties["remove"] = json!({ "const": true });
            any.push(json!({
                "description": "Removes the inherited value.",
                "type": "object",
                "properties": properties,
                "required": ["remove"],
                "additionalProperties": false,
            }));
        }
        all.insert("anyOf".into(), any.into());
        Value::Object(all)
    }

    /// Returns the definition that `schema` refers to, or `schema` itself.
    fn target<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(any) = schema["anyOf"].as_array()
            && any.iter().any(|one| one["type"] == "null")
            && let Some(other) = any.iter().find(|one| one["type"] != "null")
        {
            return self.target(other);
        }
        let name = schema["$ref"]
            .as_str()
            .and_then(|path| path.rsplit('/').next());
        match name.and_then(|name| self.definitions.get(name)) {
            Some(target) => self.target(target),
            None => schema,
        }
    }
}

/// Returns the properties that any table may have.
fn about(mode: Mode) -> Value {
    let mut all = json!({
        "source": {
            "description": "The source of the values.",
            "enum": ["paper", "derived", "assumed", "fitted"],
        },
        "note": { "description": "Why.", "type": "string" },
    });
    if mode == Mode::Override {
        all["replace"] = json!({
            "description": "Replaces the inherited table instead of being merged with it.",
            "const": true,
        });
    }
    all
}
