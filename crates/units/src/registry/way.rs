//! The way from settings in a file to a model.

use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// Makes a model from a table of settings.
type Read<T> = dyn Fn(Value) -> Result<Made<T>, String> + Send + Sync;

/// A model and all of its settings.
pub(super) type Made<T> = (Arc<T>, Map<String, Value>);

/// How settings become a model, and what they are.
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
