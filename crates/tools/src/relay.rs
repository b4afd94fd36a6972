//! Carries the datagrams of any UDP program through DCCP.
//!
//! Two relays stand between a program and its peer. The one near the program listens on a UDP port and makes a
//! connection for each address that sends to it; the far one has a UDP socket for each connection. A DCCP datagram is a
//! UDP datagram, without a header of its own.
//!
//! - [`Options`] say what to carry, and [`Relay`] does it. [`Summary`] holds the counters: each datagram that is not
//!   delivered is counted under a [`Reason`].
//! - `client` and `server` are the two sides, `session` is one client of the near side, `uplink` sends through one
//!   connection and counts, `dial` makes a connection, `metrics` shows the counters, `recurrence` finds a relay that
//!   reaches itself.

mod client;
mod counters;
mod dial;
mod lines;
mod metrics;
mod options;
mod recurrence;
mod report;
mod server;
mod session;
mod socket;
mod uplink;

use std::net::SocketAddr;

use crate::perf::{Console, PerfError};
use crate::signals::Signals;

pub use counters::{Reason, Totals, Traffic};
pub use options::{CLEAR_SERVICE, Options, SERVICE, Side, parse_listen, parse_time};
pub use report::Summary;

/// Relays until Ctrl-C, SIGTERM or SIGHUP, and prints to `console`. Returns the exit status.
pub fn relay(options: &Options, console: &mut Console) -> u8 {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ended = built
        .map_err(|error| PerfError::Local(format!("no runtime: {error}")))
        .and_then(|runtime| {
            runtime.block_on(async {
                let mut signals = Signals::new().map_err(|error| {
                    PerfError::Local(format!("no handlers of signals: {error}"))
                })?;
                let relay = tokio::select! {
                    relay = Relay::bind(options.clone()) => relay?,
                    () = signals.stop() => return Ok(0),
                };
                Ok(relay.run(console, signals.stop()).await.exit_code())
            })
        });
    ended.unwrap_or_else(|error| {
        console.refuse(&error);
        error.exit_code()
    })
}

/// A relay whose sockets are bound.
#[derive(Debug)]
pub struct Relay(Bound);

#[derive(Debug)]
enum Bound {
    Client(client::Client),
    Server(server::Server),
}

impl Relay {
    /// Binds the sockets. A client also connects once, so that a peer that is not a relay, or not the right one, is an
    /// error at once. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`PerfError::Usage`] if the options contradict each other, or if the relay would reach itself;
    /// [`PerfError::Local`] if a port is in use; [`PerfError::Peer`] if the peer is not such a relay. A peer that does
    /// not answer is no error.
    pub async fn bind(options: Options) -> Result<Self, PerfError> {
        options.check()?;
        Ok(Self(match options.side {
            Side::Client => Bound::Client(client::Client::bind(options).await?),
            Side::Server => Bound::Server(server::Server::bind(options).await?),
        }))
    }

    /// Returns the address that it listens on: UDP at a client, DCCP in UDP at a server.
    pub fn local_addr(&self) -> SocketAddr {
        match &self.0 {
            Bound::Client(client) => client.local_addr(),
            Bound::Server(server) => server.local_addr(),
        }
    }

    /// Returns the address at which the counters can be read.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        match &self.0 {
            Bound::Client(client) => client.metrics_addr(),
            Bound::Server(server) => server.metrics_addr(),
        }
    }

    /// Relays until `stop` is over, then closes every connection, and prints the summary.
    pub async fn run(self, console: &mut Console, stop: impl Future<Output = ()>) -> Summary {
        let summary = match self.0 {
            Bound::Client(client) => client.run(console, stop).await,
            Bound::Server(server) => server.run(console, stop).await,
        };
        console.results(&summary.text(), &summary);
        summary
    }
}
