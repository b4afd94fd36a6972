//! The simulation of scenarios: networks, agents and meters, and the results of runs.
//!
//! 1. A [`ScenarioFile`](scenario::ScenarioFile) gives [`Cell`](scenario::Cell)s.
//! 2. [`campaign::run_cells`] runs cells with all their seeds; [`run()`] simulates one scenario with one seed.
//! 3. [`results`] holds what was measured: values by cell, seed, subject, window and metric.
//! 4. [`digests`] tells whether runs have changed.
//!
//! The same scenario and seed give the same bytes: a run uses one thread, reads no clock and takes random numbers from
//! named streams only. Seeds run in parallel.

mod build;
mod built;
mod call;
pub mod campaign;
mod capture;
pub mod digests;
mod error;
mod expected;
mod gather;
mod host;
mod jitter;
mod link_meter;
mod link_spec;
mod pcapng;
pub mod results;
mod run;
mod run_network;
mod short_flows;
mod whole_packets;
mod windows;
mod wlan;

/// The scenarios that are simulated.
pub use fairwire_scenario as scenario;

pub use build::check_links;
pub use capture::Tap;
pub use error::RunError;
pub use expected::expected;
pub use gather::NO_DELIVERY_NOTES;
pub use run::{RunOptions, run};
pub use whole_packets::whole_packets;
