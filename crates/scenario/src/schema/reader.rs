//! The reader of schemas into [`Form`]s. It reads each definition once; all places that refer to it share its shape.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::choice::Choice;
use super::forms::{Form, KIND, Key, Kind, Kinds, Shape, Short};
use super::layers::Layers;
use super::limits::Limits;

/// The keywords that determine a shape.
const OF_SHAPE: &[&str] = &[
    "additionalProperties",
    "const",
    "enum",
    "format",
    "items",
    "oneOf",
    "properties",
    "required",
    "short_form",
    "short_value",
    "type",
];

/// Reads `root`, a schema with its definitions.
pub(super) fn read(root: &Value) -> Form {
    let mut reader = Reader {
        root,
        known: BTreeMap::new(),
    };
    reader.form_of(root)
}

/// Returns whether the property is a table that is laid over the table it is in.
pub(super) fn is_laid_over(property: &Value) -> bool {
    property["laid_over"] == true
}

struct Reader<'a> {
    root: &'a Value,
    /// The shapes of the definitions that were read so far.
    known: BTreeMap<&'a str, Arc<Shape>>,
}

impl<'a> Reader<'a> {
    fn form_of(&mut self, schema: &'a Value) -> Form {
        let layers = Layers::of(schema, self.root);
        let shape = self.shared(&layers);
        with_shape(&layers, shape)
    }

    /// Returns the shape of a value. The shape of a definition is read once.
    fn shared(&mut self, schema: &Layers<'a>) -> Arc<Shape> {
        let Some(definition) = schema.only_definition(OF_SHAPE) else {
            return Arc::new(self.shape(schema));
        };
        if let Some(known) = self.known.get(definition) {
            return Arc::clone(known);
        }
        let shape = Arc::new(self.shape(schema));
        self.known.insert(definition, Arc::clone(&shape));
        shape
    }

    fn shape(&mut self, schema: &Layers<'a>) -> Shape {
        if let Some(kinds) = self.kinds(schema) {
            return Shape::Kinds(kinds);
        }
        if let Some(words) = words(schema) {
            return Shape::Words(words);
        }
        let kind = match schema.get("type") {
            Some(Value::Array(types)) => types.iter().find(|one| **one != "null"),
            other => other,
        };
        match kind.and_then(Value::as_str) {
            Some("boolean") => Shape::Bool,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("array") => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                Shape::List(Box::new(self.form_of(items)))
            }
            Some("object") => match schema.get("additionalProperties") {
                Some(of @ Value::Object(_)) => Shape::Named(Box::new(self.form_of(of))),
                _ => Shape::Table(self.keys(schema)),
            },
            _ => Shape::Text(schema.text("format").map(str::to_owned)),
        }
    }

    fn kinds(&mut self, schema: &Layers<'a>) -> Option<Kinds> {
        let Some(Value::Array(all)) = schema.get("oneOf") else {
            return None;
        };
        let mut kinds = Vec::new();
        for one in all.iter().filter(|one| one["type"] == "object") {
            let one = Layers::of(one, self.root);
            let tag = one.get("properties")?.get(KIND)?;
            kinds.push(Kind {
                name: tag.get("const")?.as_str()?.to_owned(),
                meaning: one.text("description").unwrap_or_default().to_owned(),
                keys: self.keys(&one),
            });
        }
        (!kinds.is_empty()).then_some(Kinds {
            all: kinds,
            short: short(schema),
        })
    }

    /// Returns the keys of a table: the required ones in the order of its type, then the others by name.
    fn keys(&mut self, schema: &Layers<'a>) -> Vec<Key> {
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return Vec::new();
        };
        let needed: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut keys = Vec::with_capacity(properties.len());
        for (name, property) in needed
            .iter()
            .filter_map(|name| properties.get_key_value(*name))
        {
            keys.push(self.key(name, property, true));
        }
        for (name, property) in properties {
            if !needed.contains(&name.as_str()) {
                keys.push(self.key(name, property, false));
            }
        }
        keys.retain(|key| key.name != KIND || !is_one_word(&key.form));
        keys
    }

    fn key(&mut self, name: &str, property: &'a Value, is_required: bool) -> Key {
        let form = if is_laid_over(property) {
            self.laid_over(property)
        } else {
            self.form_of(property)
        };
        Key {
            name: name.to_owned(),
            is_required,
            form,
        }
    }

    /// Returns the form of a table that is laid over its parent. It may hold the keys of the parent. None of them is
    /// required, and none is itself laid over.
    fn laid_over(&mut self, property: &'a Value) -> Form {
        let layers = Layers::of(property, self.root);
        let properties = layers.get("properties").and_then(Value::as_object);
        let keys = properties.map(|properties| {
            let others = properties.iter().filter(|(_, one)| !is_laid_over(one));
            let keys = others.map(|(name, one)| self.key(name, one, false));
            keys.collect()
        });
        let shape = Shape::Table(keys.unwrap_or_default());
        with_shape(&layers, Arc::new(shape))
    }
}

fn with_shape(schema: &Layers<'_>, shape: Arc<Shape>) -> Form {
    let default = schema.get("default").filter(|it| !it.is_null());
    Form {
        name: schema.name().to_owned(),
        meaning: schema.text("description").unwrap_or_default().to_owned(),
        default: default.cloned(),
        limits: Limits::of(schema),
        choices: Choice::all(schema),
        shape,
    }
}

fn short(schema: &Layers<'_>) -> Short {
    let key = schema.text("short_value").or(schema.text("short_form"));
    Short {
        name: schema.get("short_form") == Some(&Value::Bool(true)),
        key: key.map(str::to_owned),
    }
}

/// Returns whether this is the tag of an alternative.
fn is_one_word(form: &Form) -> bool {
    matches!(&*form.shape, Shape::Words(words) if words.len() == 1)
}

fn words(schema: &Layers<'_>) -> Option<Vec<(String, String)>> {
    let word = |value: &Value, meaning: &Value| {
        let meaning = meaning.as_str().unwrap_or_default();
        Some((value.as_str()?.to_owned(), meaning.to_owned()))
    };
    if let Some(only) = schema.get("const") {
        return word(only, &Value::Null).map(|word| vec![word]);
    }
    if let Some(Value::Array(all)) = schema.get("enum") {
        return Some(
            all.iter()
                .filter_map(|one| word(one, &Value::Null))
                .collect(),
        );
    }
    let Some(Value::Array(all)) = schema.get("oneOf") else {
        return None;
    };
    let mut words = Vec::new();
    for one in all {
        match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
            (Some(only), _) => words.extend(word(only, &one["description"])),
            (None, Some(several)) => {
                words.extend(several.iter().filter_map(|one| word(one, &Value::Null)));
            }
            (None, None) if one["type"] == "null" => {}
            (None, None) => return None,
        }
    }
    Some(words)
}
