//! The simulation of a scenario: its network, its agents and meters, and the results of a run.
//!
//! [`run`] simulates one cell with one seed, in one thread and without reading a clock.

mod build;
mod built;
mod call;
mod capture;
mod crowd;
mod error;
mod gather;
mod ground;
mod host;
mod jitter;
mod link_meter;
mod link_spec;
mod run;
#[cfg(test)]
mod tests;
mod windows;
mod wlan;

pub use build::check_links;
pub use capture::Tap;
pub use error::RunError;
pub(crate) use gather::SILENT;
pub use run::{RunOptions, run};
