//! Choices as settings in files.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::way::Settings;
use super::{Chosen, Kind, Registered};

/// The key that names the kind.
const KIND: &str = "kind";

impl<T: ?Sized + 'static> Kind<T> {
    /// Lets it be chosen in files, with settings of type `S`. `S` should refuse unknown keys.
    #[must_use]
    pub fn settings<S>(mut self, make: fn(S) -> Arc<T>) -> Self
    where
        S: DeserializeOwned + JsonSchema + 'static,
    {
        self.settings = Some(Settings {
            read: Arc::new(move |table| {
                let settings: S = serde_json::from_value(table).map_err(|e| e.to_string())?;
                Ok(make(settings))
            }),
            schema: |generator| S::json_schema(generator),
        });
        self
    }
}

impl<T: ?Sized + Registered> Chosen<T> {
    fn read(kind: &str, settings: Map<String, Value>) -> Result<Self, String> {
        let registry = T::registry();
        let known = registry.find(kind).map_err(|error| error.to_string())?;
        let Some(way) = &known.settings else {
            if settings.is_empty() {
                return registry.choose(kind).map_err(|error| error.to_string());
            }
            return Err(format!("'{kind}' has no settings"));
        };
        Ok(Self {
            kind: known.name,
            model: (way.read)(Value::Object(settings.clone()))?,
            settings,
        })
    }
}

impl<'de, T: ?Sized + Registered> Deserialize<'de> for Chosen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, settings) = match Value::deserialize(deserializer)? {
            Value::String(kind) => (kind, Map::new()),
            Value::Object(mut table) => match table.remove(KIND) {
                Some(Value::String(kind)) => (kind, table),
                Some(_) => return Err(D::Error::custom("'kind' is a name in quotes")),
                None => return Err(D::Error::missing_field(KIND)),
            },
            other => {
                return Err(D::Error::custom(format!(
                    "a table with a 'kind' belongs here, not {other}"
                )));
            }
        };
        Self::read(&kind, settings).map_err(D::Error::custom)
    }
}

impl<T: ?Sized> Serialize for Chosen<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Map::new();
        table.insert(KIND.to_owned(), self.kind.into());
        table.extend(self.settings.clone());
        table.serialize(serializer)
    }
}

impl<T: ?Sized + Registered> JsonSchema for Chosen<T> {
    fn schema_name() -> Cow<'static, str> {
        T::registry().what.into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = T::registry().kinds();
        let all: Vec<Value> = kinds.iter().map(|kind| one(kind, generator)).collect();
        json_schema!({ "oneOf": all, "short_form": true })
    }
}

/// The table of one kind.
fn one<T: ?Sized>(kind: &Kind<T>, generator: &mut SchemaGenerator) -> Value {
    let table = kind
        .settings
        .as_ref()
        .map(|way| (way.schema)(generator).to_value());
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
