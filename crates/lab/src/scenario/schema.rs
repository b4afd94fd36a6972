//! The description of the scenario format: one JSON Schema, made from the types that are read.
//!
//! Checks, `--explain`, the tables of `docs/scenario.md` and `fairwire schema` all follow from it. A setting's
//! doc comment is its meaning, its `Default` is its default, and its limits are attributes beside it:
//!
//! | attribute | meaning |
//! |---|---|
//! | `range(min = 1, max = 5)` | limits of a number |
//! | `extend("exclusiveMinimum" = 0.0)` | a number above this one |
//! | `extend("minimum_quantity" = "1 packet")` | limits of a quantity; `maximum_quantity`, `exclusive_minimum_quantity` and `exclusive_maximum_quantity` likewise |
//! | `extend("advice" = "...")` | what to say where a limit is passed |
//! | `extend("choices" = [...])` | keys of which one at most, or one at least, stands in a table |
//!
//! 1. [`Form`] is the schema, read into what the rest works on: once, and again after a kind was registered.
//! 2. [`expand`] writes short forms out, [`check`] holds a tree against it.
//! 3. [`file`] makes of it the schema of files, with cells and sources.
//! 4. [`tables`] prints it as tables.

mod choice;
mod expand;
mod file;
mod forms;
mod layers;
mod limits;
mod quantity;
mod reader;
mod renamed;
mod tables;
mod walk;

use std::sync::{Arc, PoisonError, RwLock};

use fairwire_units::registry;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub(super) use expand::expand;
pub use file::schema as file_schema;
pub(super) use forms::{Form, KIND};
pub use tables::documented;
pub(super) use walk::check;

use super::Scenario;

/// The schema of a scenario that is complete.
fn scenario() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Scenario>().to_value()
}

/// The format of a complete scenario, with all kinds that are registered now.
pub(super) fn form() -> Arc<Form> {
    /// The last one that was read, and how many kinds had been registered then.
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
