//! Reading, writing and describing choices in files.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::conversion::{Made, Settings};
use super::{Chosen, Kind, Registered};

/// The key for the name of the kind.
const KIND: &str = "kind";

impl<T: ?Sized + 'static> Kind<T> {
    /// Lets the kind be chosen in files, with settings of type `S`, which should refuse unknown keys.
    #[must_use]
    pub fn settings<S>(mut self, make: fn(S) -> Arc<T>) -> Self
    where
        S: DeserializeOwned + JsonSchema + Serialize + 'static,
    {
        self.settings = Some(Settings {
            read: Arc::new(move |table| {
                let settings: S = serde_json::from_value(table).map_err(|e| e.to_string())?;
                // Defaults are written to files as well.
                let all = match serde_json::to_value(&settings) {
                    Ok(Value::Object(all)) => all,
                    _ => Map::new(),
                };
                Ok((make(settings), all))
            }),
            schema: |generator| S::json_schema(generator),
        });
        self
    }
}

impl<T: ?Sized> Chosen<T> {
    /// Wraps a model that the caller made from `settings`, which are kept for writing to files.
    pub fn with_settings(kind: &'static str, model: Arc<T>, settings: &impl Serialize) -> Self {
        let settings = match serde_json::to_value(settings) {
            Ok(Value::Object(all)) => all,
            _ => Map::new(),
        };
        Self {
            kind,
            model,
            settings,
        }
    }
}

impl<T: ?Sized> Kind<T> {
    /// Makes the model with default settings; `None` if this kind has no settings in files.
    pub(super) fn of_defaults(&self) -> Option<Result<Made<T>, String>> {
        let conversion = self.settings.as_ref()?;
        Some((conversion.read)(Value::Object(Map::new())))
    }
}

impl<T: ?Sized + Registered> Chosen<T> {
    fn read(kind: &str, settings: Map<String, Value>) -> Result<Self, String> {
        let registry = T::registry();
        let known = registry.find(kind).map_err(|error| error.to_string())?;
        let Some(conversion) = &known.settings else {
            if settings.is_empty() {
                return registry.choose(kind).map_err(|error| error.to_string());
            }
            return Err(format!("'{kind}' has no settings"));
        };
        let (model, settings) = (conversion.read)(Value::Object(settings))?;
        if let Some(problem) = model.problem() {
            return Err(problem);
        }
        Ok(Self {
            kind: known.name,
            model,
            settings,
        })
    }

    /// Returns the kind and the table for a bare value. A text that begins with a letter is the name of a kind.
    fn expand_bare_value(value: Value) -> Result<(String, Map<String, Value>), String> {
        let registry = T::registry();
        let kinds = registry.kinds();
        match (value, registry.short, kinds.first()) {
            (Value::String(kind), None, _) => Ok((kind, Map::new())),
            (Value::String(kind), ..) if is_name(&kind) => Ok((kind, Map::new())),
            (value @ (Value::String(_) | Value::Number(_)), Some(key), Some(first)) => {
                let table = Map::from_iter([(key.to_owned(), value)]);
                Ok((first.name.to_owned(), table))
            }
            (other, ..) => Err(format!("expected a table with a 'kind', found {other}")),
        }
    }
}

/// Returns whether a bare text is the name of a kind. The text of a quantity begins with a digit.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
}

impl<'de, T: ?Sized + Registered> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, settings) = match Value::deserialize(deserializer)? {
            Value::Object(mut table) => match table.remove(KIND) {
                Some(Value::String(kind)) => (kind, table),
                Some(_) => return Err(D::Error::custom("'kind' must be a name in quotes")),
                None => return Err(D::Error::missing_field(KIND)),
            },
            bare => Self::expand_bare_value(bare).map_err(D::Error::custom)?,
        };
        Self::read(&kind, settings).map_err(D::Error::custom)
    }
}

impl<T: ?Sized> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_map(Some(self.settings.len() + 1))?;
        table.serialize_entry(KIND, self.kind)?;
        for (key, value) in &self.settings {
            table.serialize_entry(key, value)?;
        }
        table.end()
    }
}

impl<T: ?Sized + Registered> JsonSchema for Chosen<T> {
    fn schema_name() -> Cow<'static, str> {
        // References in the schema use this name.
        T::registry().what.replace(' ', "-").into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = T::registry().kinds();
        let all: Vec<Value> = kinds.iter().map(|kind| one(kind, generator)).collect();
        let mut schema =
            json_schema!({ "title": T::registry().what, "oneOf": all, "short_form": true });
        if let Some(key) = T::registry().short {
            schema.insert("short_value".to_owned(), key.into());
        }
        schema
    }
}

/// Returns the schema of the table for one kind.
fn one<T: ?Sized>(kind: &Kind<T>, generator: &mut SchemaGenerator) -> Value {
    let table = kind
        .settings
        .as_ref()
        .map(|conversion| (conversion.schema)(generator).to_value());
    let mut table = match table {
        Some(Value::Object(table)) => table,
        _ => Map::new(),
    };
    table.insert("type".to_owned(), "object".into());
    table.insert("description".to_owned(), kind.meaning.into());
    table.insert("additionalProperties".to_owned(), false.into());
    let properties = table
        .entry("properties")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(properties) = properties {
        let tag = serde_json::json!({ "const": kind.name, "type": "string" });
        properties.insert(KIND.to_owned(), tag);
    }
    let required = table
        .entry("required")
        .or_insert_with(|| Vec::<Value>::new().into());
    if let Value::Array(required) = required {
        required.insert(0, KIND.into());
    }
    table.into()
}
