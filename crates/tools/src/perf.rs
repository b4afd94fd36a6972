//! Measures a path between two hosts: throughput, loss, reordering, jitter and processor time.
//!
//! A client and a server exchange datagrams over DCCP, UDP or TCP. There is no second connection. On the measured flow
//! itself, the parameters are sent before the data and the reports after it. Each is repeated until it is answered.
//! Lost data is not sent again; it is listed.
//!
//! - [`ClientOptions`] and [`ServerOptions`] say what to measure. [`client()`] and [`server()`] do it and print to a
//!   [`Console`]. [`Outcome`] holds the results.
//! - `message` is the format on the wire, `link` gives the three protocols one set of calls, `sender` and `receiver`
//!   are the two ends of a flow, `session` is the agreement between them, and `flow` runs one end of a flow.

mod client;
mod console;
mod cpu;
mod defaults;
mod dtls;
mod file;
mod flow;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod link;
mod local;
mod message;
mod meter;
mod number;
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

use crate::signals::Signals;

pub use client::client;
pub use console::Console;
pub use dtls::Dtls;
pub use fairwire::laws::{Chosen, Law};
pub use fairwire::tls::Fingerprint;
pub use fairwire::{Profile, ServiceCode};
pub(crate) use link::refused_by_dtls;
pub use local::Local;
pub use number::{parse_bit_rate, parse_byte_count, parse_seconds};
pub use options::{
    ClientOptions, Limit, Protocol, ServerOptions, ccid_names, law_names, parse_law, parse_profile,
    settings,
};
pub use ranges::Missing;
pub use report::{
    ErrorReport, FlowReport, Interval, Outcome, PathReport, ReceiverReport, Role, SenderReport,
};
pub use server::{Server, server};

/// The default port of a server: the one registered for DCCP in UDP.
pub const DEFAULT_PORT: u16 = fairwire::DCCP_UDP_PORT;

/// Why a measurement, or a relay, failed or ended early.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PerfError {
    /// The options contradict each other, or one is invalid.
    #[error("{0}")]
    Usage(String),
    /// An error on this side: a socket or a file.
    #[error("{0}")]
    Local(String),
    /// An error of the other side: it is missing, not of our kind, busy, or gone.
    #[error("{0}")]
    Peer(String),
    /// The user pressed Ctrl-C, or a signal asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl PerfError {
    /// Returns the kind of the error in one word, for programs that read JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Local(_) => "local",
            Self::Peer(_) => "peer",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the exit status of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            _ => 1,
        }
    }
}

/// Builds the runtime of a measurement, with one thread, whose processor time is that of the measurement.
fn runtime() -> Result<tokio::runtime::Runtime, PerfError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| PerfError::Local(format!("no runtime: {error}")))
}

/// Installs the handlers of the signals that end a measurement.
fn signals() -> Result<Signals, PerfError> {
    Signals::new().map_err(|error| PerfError::Local(format!("no handlers of signals: {error}")))
}
