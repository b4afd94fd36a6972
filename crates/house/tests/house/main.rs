//! The repository is as its documents say: which crate and which file may use which, the listings of public interfaces,
//! the list of conformance, and the links of the pages.

mod arrows;
mod conformance;
mod documents;
mod listing;
mod rules;
mod sources;
