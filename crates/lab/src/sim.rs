//! The simulation of a scenario: its network, its agents and meters, and the results of a run.
//!
//! [`run`] simulates one cell with one seed, in one thread and without reading a clock.

mod build;
mod built;
mod call;
mod capture;
mod error;
mod gather;
mod host;
mod jitter;
mod link_meter;
mod link_spec;
mod pcapng;
mod run;
mod run_network;
mod short_flows;
#[cfg(test)]
mod tests;
mod whole_packets;
mod windows;
mod wlan;

pub use build::check_links;
pub use capture::Tap;
pub use error::RunError;
pub(crate) use gather::NO_DELIVERY_NOTES;
pub use run::{RunOptions, run};
pub use whole_packets::whole_packets;
