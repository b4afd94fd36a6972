//! TCP: its settings, and the simulated sender and receiver.

mod build;
mod connect;
mod packet;
mod peers;
mod report;
mod settings;

#[cfg(test)]
pub(super) use packet::TcpPacket;
pub use settings::{Preset, Tcp};
