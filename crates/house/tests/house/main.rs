//! The repository is as its documents say: which crate and which file may use which, the listings of public interfaces,
//! and the table of conformance.

mod arrows;
mod conformance;
mod listing;
mod rules;
mod sources;
