//! The repository is as its documents say: which crate and which file may use which, the listings of public interfaces,
//! the list of conformance, the links of the pages, and the size of the demo.

mod arrows;
mod conformance;
mod demo;
mod documents;
mod listing;
mod packages;
mod plants;
mod rules;
mod sources;
