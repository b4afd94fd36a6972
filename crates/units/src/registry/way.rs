//! The way from settings in a file to a model.

use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

/// Makes a model from a table of settings.
type Read<T> = dyn Fn(Value) -> Result<Arc<T>, String> + Send + Sync;

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
