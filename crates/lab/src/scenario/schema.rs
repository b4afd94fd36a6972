//! The description of the scenario format: one JSON Schema, made from the types that are read.
//!
//! Checks, `--explain`, the tables of `docs/scenario.md` and `fairwire schema` all follow from it. A setting's
//! doc comment is its meaning, its `Default` is its default, and its limits are attributes beside it:
//!
//! | attribute | meaning |
//! |---|---|
//! | `range(min = 1, max = 5)` | limits of a number |
//! | `extend("exclusive_minimum" = 0.0)` | a number above this one |
//! | `extend("minimum_quantity" = "1 packet")` | limits of a quantity; `maximum_quantity`, `exclusive_minimum_quantity` and `exclusive_maximum_quantity` likewise |
//! | `extend("advice" = "...")` | what to say where a limit is passed |
//!
//! 1. [`Form`] is the schema, read once into what the rest works on.
//! 2. [`expand`] writes short forms out, [`check`] holds a tree against it.
//! 3. [`file`] makes of it the schema of files, with cells and sources.
//! 4. [`tables`] prints it as tables.

mod expand;
mod file;
mod form;
mod limits;
mod quantity;
mod renamed;
mod tables;
mod walk;

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

pub(super) use expand::expand;
pub use file::schema as file_schema;
pub(super) use form::Form;
pub use tables::documented;
pub(super) use walk::check;

use super::Scenario;

/// The schema of a scenario that is complete.
fn scenario() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Scenario>().to_value()
}

/// The format of a complete scenario.
pub(super) fn form() -> &'static Form {
    static FORM: LazyLock<Form> = LazyLock::new(|| Form::read(&scenario()));
    &FORM
}
