//! Plans of runs: hosts, links, connections, acts of the applications, and faults.
//!
//! A plan is a plain value. [`Plan::draw`] draws one from a seed, a file stores one, and the shrinker removes parts of
//! one. The world needs nothing else. All times are milliseconds of the network's clock.
//!
//! - [`settings`]: the configurations of endpoints and connections, as differences from the defaults.
//! - [`script`]: the acts of the applications.
//! - [`fault`]: the faults of the network and the hosts, and the acts of attackers.
//! - [`draw`](Plan::draw), [`file`](Plan::to_text), [`check`].

pub mod check;
mod draw;
mod draw_faults;
pub(crate) use draw_faults::MAX_DELAY_MS;
mod draw_options;
mod draw_rare;
mod draw_settings;
pub mod fault;
mod file;
pub mod script;
pub mod settings;
mod weather;

use serde::{Deserialize, Serialize};

use fault::{Fault, TimedIncident};
use script::{Act, Entry};
use settings::EndpointSetting;

/// How long the world continues after the last script entry, when the network has no more faults.
///
/// It covers the slowest sequence of things that a connection may still have to do. These are an idle timeout and a
/// keep-alive (at most 30 s and 15 s, the defaults), or a retransmission timer that has backed off to 64 s; a close,
/// twice 5 s and 30 s; TIMEWAIT, 240 s. The sum is below 390 s. A host's clock is at most 10 percent slow, hence 430 s.
pub const QUIET_MS: u64 = 430_000;

/// How long the network is without faults before the last part of the script begins.
///
/// It covers a retransmission timer of 64 s.
pub const RECOVERY_MS: u64 = 75_000;

/// The plan of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The seed, from which the run's random streams are derived.
    pub seed: u64,
    /// Whether packets are sent in UDP (RFC 6773) instead of directly in IP.
    pub udp: bool,
    /// Whether addresses are IPv6.
    pub ipv6: bool,
    /// When the last fault ends, in ms. From then on the network has no faults.
    pub healed_ms: u64,
    /// The hosts, which are connected through one middlebox.
    pub hosts: Vec<HostPlan>,
    /// The connections between the hosts.
    pub connections: Vec<ConnectionPlan>,
    /// The acts of the applications, in the order of time.
    pub script: Vec<Entry>,
    /// The faults that affect packets.
    pub faults: Vec<Fault>,
    /// The faults and attacks that happen once.
    pub moments: Vec<TimedIncident>,
}

/// A host and its link to the middlebox.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// The endpoint's settings that differ from the default.
    pub endpoint: Vec<EndpointSetting>,
    /// The link's rate in both directions, in kbit/s.
    pub rate_kbit_per_s: u64,
    /// The link's one-way delay, in microseconds.
    pub delay_us: u64,
    /// The most packets in the queue at either end of the link, until the network is healed.
    pub queue_packets: u32,
    /// Microseconds per second by which the host's clock is fast; negative if it is slow.
    pub clock_ppm: i64,
}

/// A connection between two hosts. It may be opened several times in succession.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionPlan {
    /// The number by which the script refers to it. Its ports are derived from it.
    pub id: u16,
    /// The host that connects.
    pub client: usize,
    /// The host that listens.
    pub server: usize,
    /// Whether the server invites the client (RFC 5596) instead of listening.
    pub invited: bool,
    /// The most connections of the listener that the application has not yet accepted.
    pub room: Option<u8>,
    /// The client's settings that differ from the default, such as `ecn=false`.
    pub client_settings: Vec<String>,
    /// The server's settings that differ from the default.
    pub server_settings: Vec<String>,
    /// The client's initial sequence number, for the first opening.
    pub client_first: Option<u64>,
    /// The server's initial sequence number, for the first opening.
    pub server_first: Option<u64>,
    /// Whether both ends encrypt it with DTLS.
    #[serde(default)]
    pub dtls: bool,
}

impl ConnectionPlan {
    /// Returns the server's DCCP port.
    pub fn port(&self) -> u16 {
        5_000 + self.id
    }

    /// Returns the client's DCCP port.
    pub fn client_port(&self) -> u16 {
        40_000 + self.id
    }
}

impl Plan {
    /// Returns the connection with this `id`.
    pub fn connection(&self, id: u16) -> Option<&ConnectionPlan> {
        self.connections.iter().find(|plan| plan.id == id)
    }

    /// Returns whether any connection is encrypted.
    pub fn has_dtls(&self) -> bool {
        self.connections.iter().any(|of| of.dtls)
    }

    /// Returns the end of the run, in ms.
    pub fn end_ms(&self) -> u64 {
        let last = self.script.iter().map(|entry| entry.at_ms).max();
        last.unwrap_or(0).max(self.healed_ms) + QUIET_MS
    }

    /// Returns the number of parts, which the shrinker reduces.
    pub fn parts(&self) -> usize {
        let hosts = self.hosts.iter().map(|host| host.endpoint.len() + 1);
        let connections = self.connections.iter();
        let connections = connections
            .map(|c| c.client_settings.len() + c.server_settings.len() + 1 + usize::from(c.dtls));
        let script = self.script.iter().map(|entry| match entry.act {
            Act::Burst { count, .. } | Act::Stream { count, .. } => 1 + count as usize,
            _ => 1,
        });
        hosts.chain(connections).chain(script).sum::<usize>()
            + self.faults.len()
            + self.moments.len()
    }
}
