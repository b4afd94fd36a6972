//! The format of scenarios is as its schema and its documents say.

mod docs;
mod schema;
