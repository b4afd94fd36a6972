//! Measuring a path between two hosts: throughput, loss, reordering, jitter and their cost.
//!
//! A client and a server exchange datagrams over DCCP, UDP or TCP. There is no second
//! connection: the parameters travel ahead of the data and the reports behind it, on the flow
//! that is measured, each repeated until it is answered. What is lost stays lost, and is
//! listed.
//!
//! - [`ClientOptions`] and [`ServerOptions`] say what to measure; [`client`] and [`server`] do
//!   it and print to a [`Console`]; [`Outcome`] is what came of it.
//! - `message` is the format on the wire, `link` the three protocols behind one set of calls,
//!   `sender` and `receiver` the two ends of a flow, `session` how they agree, `flow` who is which.

mod client;
mod console;
mod cpu;
mod defaults;
mod file;
mod flow;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod link;
mod message;
mod meter;
mod options;
mod pace;
mod ranges;
mod receiver;
mod report;
mod sender;
mod server;
mod session;
mod text;
mod ticker;

use std::fmt;

pub use client::client;
pub use console::Console;
pub use fairwire::laws::{Chosen, Law};
pub use fairwire::{PathMtuDiscovery, ServiceCode};
pub use options::{
    ClientOptions, Limit, PathMtu, Protocol, ServerOptions, default_law_name, law_names,
    parse_bit_rate, parse_byte_count, parse_law,
};
pub use ranges::Missing;
pub use report::{
    ErrorReport, FlowReport, Interval, Outcome, PathReport, ReceiverReport, Role, SenderReport,
};
pub use server::{Server, server};

/// The port of a server that was not told another: the one registered for DCCP in UDP.
pub const DEFAULT_PORT: u16 = fairwire::DCCP_UDP_PORT;

/// Why a measurement could not be made, or not to its end.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PerfError {
    /// The options contradict each other.
    Usage(String),
    /// A socket or a file on this side.
    Local(String),
    /// The other side: not there, not of our kind, busy, or gone.
    Peer(String),
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl PerfError {
    /// The kind in one word, for programs that read JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Local(_) => "local",
            Self::Peer(_) => "peer",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit status of a command that ends with this.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            _ => 1,
        }
    }
}

impl fmt::Display for PerfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Local(text) | Self::Peer(text) => f.write_str(text),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for PerfError {}

/// Builds the runtime of a measurement: one thread, so that its processor time is all there is.
fn runtime() -> Result<tokio::runtime::Runtime, PerfError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| PerfError::Local(format!("no runtime: {error}")))
}
