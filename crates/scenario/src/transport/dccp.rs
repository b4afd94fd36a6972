//! DCCP: its settings, and endpoints of `fairwire-proto` with the applications above them.

mod check;
mod config;
mod connect;
mod packet;
mod peer;
mod security;
mod sending;
mod settings;

pub use security::Encryption;
pub use sending::Sending;
pub use settings::{CcidChange, Dccp, Receive, SendQueue, Stack};
