//! Scenarios, runs and results: experiments as data.
//!
//! 1. A [`ScenarioFile`](scenario::ScenarioFile) gives [`Cell`](scenario::Cell)s.
//! 2. [`campaign::run_cells`] runs them with all their seeds; [`sim::run`] runs one with one.
//! 3. [`results`] says what comes out: values by cell, seed, subject, window and metric.
//! 4. What applications send is [`traffic`], to which a program can add kinds of its own.
//! 5. A [`paper`] puts results beside what was printed; a [`report`] shows that as a page.
//!
//! These modules are floors: `traffic`, `quantity`, `transport`, `scenario`, `results`, `sim`, `digests`, `campaign`, `paper`, `report`. Each takes names from
//! those before it only.
//!
//! Same scenario, same seed, same bytes: a run uses no thread, reads no clock and draws from
//! named random streams alone. Seeds run side by side.

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

/// The quantities in which this crate's interface speaks.
pub use fairwire_units as units;
