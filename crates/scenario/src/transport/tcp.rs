//! TCP: its settings, and the simulated sender and receiver.

mod build;
mod connect;
mod packet;
mod peers;
mod report;
mod settings;

pub use report::Report;
pub use settings::{Preset, Tcp};
