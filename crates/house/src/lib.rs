//! Tests of the repository itself, which use no other crate: `tests/house`.
