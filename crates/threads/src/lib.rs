//! Models of the handles and the driver of `crates/io`, whose threads run in every order.
//!
//! This crate compiles the sources of `crates/io` themselves: the driver's loop, the waits, connections, listeners and
//! endpoints. It replaces the lock, the signal and the time. At each use of the lock and the signal, the model decides
//! which thread runs next (`shuttle`). The model moves the time. Its sockets are queues in memory, one more transport
//! of the driver. The protocol is the real one.
//!
//! `explore` runs a model under many schedules and prints the one that fails. The models are in `tests/`. In every
//! model a deadlock fails, and so does a task that is never woken, because then nothing is left that could run.

// The unit tests of these sources need real sockets, and their examples name the crate `fairwire`. Both run in
// `crates/io`, and so does their documentation. `cargo test --lib`, `cargo test --doc` and `cargo doc` would build them
// here, too.
#![cfg(not(any(test, doctest, doc)))]

mod clock;
mod explore;
mod host;
mod socket;
mod sync;
mod timer;

/// Where the sources look for DTLS.
pub mod tls {
    pub use fairwire_tls::*;
}

#[path = "../../io/src"]
mod io {
    pub(crate) mod address;
    pub(crate) mod connection;
    pub(crate) mod divert;
    pub(crate) mod driver;
    pub(crate) mod endpoint;
    pub(crate) mod error;
    pub(crate) mod event;
    pub(crate) mod handover;
    pub(crate) mod listener;
    pub(crate) mod options;
    pub(crate) mod outbox;
    pub(crate) mod race;
    pub(crate) mod received;
    pub(crate) mod security;
    pub(crate) mod sending;
    pub(crate) mod shards;
    pub(crate) mod state;
    pub(crate) mod transport;
    pub(crate) mod waiting;
    pub(crate) mod wakers;
}

// The sources use these module names in crates/io.
use io::{
    address, connection, divert, driver, endpoint, error, event, handover, listener, options,
    outbox, race, received, security, shards, state, transport, waiting, wakers,
};

pub use address::DccpAddr;
pub use connection::Connection;
pub use endpoint::Endpoint;
pub use error::{
    AcceptError, AddressKind, BindError, ConnectError, ConnectionClosed, DtlsRefusal, FateError,
    HandshakeError, SendError, TryRecvError, TrySendError,
};
pub use event::ConnectionEvent;
pub use explore::explore;
pub use fairwire_proto::{CloseReason, Config, DamagedData, EndpointConfig, StartError};
pub use fairwire_wire::ServiceCode;
pub use host::{Host, PORT, Pair, SERVICE, Watch, host};
pub use listener::{Incoming, Listener};
pub use options::{ConnectOptions, ListenOptions, SendOptions};
pub use received::{Received, ReceivedId, ReceivedInto};
pub use security::Security;
pub use socket::Network;
