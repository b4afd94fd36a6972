//! The conversion of settings in a file to a model.

use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// A function that makes a model from a table of settings.
type Read<T> = dyn Fn(Value) -> Result<Made<T>, String> + Send + Sync;

/// A model and all of its settings, defaults included.
pub(super) type Made<T> = (Arc<T>, Map<String, Value>);

/// How to make a model from settings, and the schema of the settings.
pub(super) struct Settings<T: ?Sized> {
    pub(super) read: Arc<Read<T>>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
}

impl<T: ?Sized> Clone for Settings<T> {
    fn clone(&self) -> Self {
        Self {
            read: Arc::clone(&self.read),
            schema: self.schema,
        }
    }
}
