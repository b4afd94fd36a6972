//! The description of the scenario format: one JSON Schema, generated from the types that are read.
//!
//! Checks, `--explain`, the tables of `docs/scenario` and `fairwire schema` all use this schema. A setting's meaning
//! is its doc comment, its default is its `Default`, and its limits are attributes beside it:
//!
//! | attribute | meaning |
//! |---|---|
//! | `range(min = 1, max = 5)` | limits of a number |
//! | `extend("exclusiveMinimum" = 0.0)` | a number must be above this one |
//! | `extend("minimum_quantity" = "1 packet")` | limits of a quantity; `maximum_quantity`, `exclusive_minimum_quantity` and `exclusive_maximum_quantity` likewise |
//! | `extend("advice" = "...")` | the error message for a value outside its limits |
//! | `extend("choices" = [...])` | keys of which a table may hold at most one, or must hold at least one |
//!
//! 1. [`Form`] is the schema in the shape that the other modules use. It is read once, and again after a kind was
//!    registered.
//! 2. [`expand()`] writes short forms out, and [`check`] checks a tree against the form.
//! 3. [`mod@file`] turns the schema into that of files, with cells and sources.
//! 4. [`tables`] prints it as tables, in pages whose lines and links [`prose`] makes.

mod choice;
mod expand;
mod file;
mod forms;
mod layers;
mod limits;
mod prose;
mod quantity;
mod reader;
mod renamed;
mod tables;
mod walk;

use std::sync::{Arc, PoisonError, RwLock};

use fairwire_units::registry;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub(super) use expand::{expand, write_numbers};
pub use file::schema as file_schema;
pub(super) use forms::{Form, KIND};
pub use tables::documented;
pub(super) use walk::check;

use super::Scenario;

/// Returns the schema of a complete scenario.
fn scenario() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Scenario>().to_value()
}

/// Returns the format of a complete scenario, with all kinds that are registered now.
pub(super) fn form() -> Arc<Form> {
    /// The most recently read form, and the number of kinds that were registered when it was read.
    static LAST: RwLock<Option<(usize, Arc<Form>)>> = RwLock::new(None);
    let registered = registry::registered();
    let last = LAST.read().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((then, form)) = last
        && then == registered
    {
        return form;
    }
    let form = Arc::new(reader::read(&scenario()));
    let mut last = LAST.write().unwrap_or_else(PoisonError::into_inner);
    *last = Some((registered, Arc::clone(&form)));
    form
}
