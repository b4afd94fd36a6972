//! Scenarios, runs and results: experiments as data.
//!
//! 1. A [`ScenarioFile`](scenario::ScenarioFile) gives [`Cell`](scenario::Cell)s.
//! 2. [`campaign::run_cells`] runs cells with all their seeds; [`sim::run`] runs one scenario with one seed.
//! 3. [`results`] holds what was measured: values by cell, seed, subject, window and metric.
//! 4. [`traffic`] is what applications send; a program can add its own models.
//! 5. A [`paper`] compares results with published numbers; a [`report`] shows the comparison as a page.
//!
//! The modules are layers: `traffic`, `quantity`, `transport`, `scenario`, `results`, `sim`, `digests`, `campaign`,
//! `paper`, `report`. Each uses only those before it.
//!
//! The same scenario and seed give the same bytes: a run uses one thread, reads no clock and takes random numbers from
//! named streams only. Seeds run in parallel.

pub mod campaign;
pub mod digests;
pub mod paper;
mod quantity;
pub mod report;
pub mod results;
pub mod scenario;
pub mod sim;
pub mod traffic;
mod transport;

/// Returns a number of things in words, as the reports do.
pub use fairwire_measure::counted;
/// The quantities that this crate's interface uses.
pub use fairwire_units as units;
