//! A run on paper: hosts, links, connections, what the applications do, what goes wrong and when.
//!
//! A plan is a plain value. [`Plan::draw`] draws one from a seed, a file holds one, the shrinker takes parts
//! of it away; the world needs nothing else. All moments are milliseconds of the network's time.
//!
//! - [`settings`]: how endpoints and connections are configured, as differences from the defaults.
//! - [`script`]: what applications do.
//! - [`fault`]: what the network, the hosts and attackers do.
//! - [`draw`](Plan::draw), [`file`](Plan::to_text), [`check`].

pub mod check;
mod draw;
mod draw_faults;
pub(crate) use draw_faults::HOLD_MS;
mod draw_rare;
mod draw_settings;
pub mod fault;
mod file;
pub mod script;
pub mod settings;
mod weather;

use serde::{Deserialize, Serialize};

use fault::{Fault, Moment};
use script::{Act, Entry};
use settings::{EndpointSetting, Setting};

/// How long the world waits after the last entry of the script, once the network is perfect.
///
/// The slowest things that a connection may then still be busy with, one after the other: an idle timeout
/// and a keep-alive (at most 30 s and 15 s, the defaults), or a retransmission timer that has backed off to its
/// 64 s; a close, twice 5 s and 30 s; TIMEWAIT, 240 s. They come to less than 390 s; a host's clock
/// loses at most 10 percent, hence 430 s.
pub const QUIET_MS: u64 = 430_000;

/// How long the network is perfect before the script's last part begins: connections get over a
/// retransmission timer of 64 s.
pub const RECOVERY_MS: u64 = 75_000;

/// Everything that a run needs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Names the run's random streams.
    pub seed: u64,
    /// Do the packets travel in UDP (RFC 6773), instead of directly in IP?
    pub udp: bool,
    /// Are the addresses of IPv6?
    pub ipv6: bool,
    /// When the last fault ends and the network is perfect.
    pub healed_ms: u64,
    /// The hosts, around one middlebox.
    pub hosts: Vec<HostPlan>,
    /// What the hosts have to do with each other.
    pub connections: Vec<ConnectionPlan>,
    /// What the applications do, in the order of time.
    pub script: Vec<Entry>,
    /// What happens to packets.
    pub faults: Vec<Fault>,
    /// What happens once.
    pub moments: Vec<Moment>,
}

/// A host and its link to the middlebox.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// How its endpoint differs from the default.
    pub endpoint: Vec<EndpointSetting>,
    /// The link's rate in both directions, kbit/s.
    pub rate_kbit_per_s: u64,
    /// Its delay one way, microseconds.
    pub delay_us: u64,
    /// Packets that may wait at either end of it, until the network is perfect.
    pub queue_packets: u32,
    /// Millionths of a second that its clock gains in each second.
    pub clock_ppm: i64,
}

/// A connection: who, where and how. It may be opened several times, one after the other.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionPlan {
    /// What the script calls it; also makes its ports.
    pub id: u16,
    /// The host that connects.
    pub client: usize,
    /// The host that listens.
    pub server: usize,
    /// Does the server invite the client (RFC 5596), instead of listening?
    pub invited: bool,
    /// The listener's places for connections that the application has not taken over.
    pub room: Option<u8>,
    /// How the client's configuration differs from the default.
    pub client_settings: Vec<Setting>,
    /// How the server's configuration differs from the default.
    pub server_settings: Vec<Setting>,
    /// The client's first sequence number, the first time.
    pub client_first: Option<u64>,
    /// The server's first sequence number, the first time.
    pub server_first: Option<u64>,
}

impl ConnectionPlan {
    /// The server's DCCP port.
    pub fn port(&self) -> u16 {
        5_000 + self.id
    }

    /// The client's DCCP port.
    pub fn client_port(&self) -> u16 {
        40_000 + self.id
    }
}

impl Plan {
    /// The connection that the script calls `id`.
    pub fn connection(&self, id: u16) -> Option<&ConnectionPlan> {
        self.connections.iter().find(|plan| plan.id == id)
    }

    /// When the run is over.
    pub fn end_ms(&self) -> u64 {
        let last = self.script.iter().map(|entry| entry.at_ms).max();
        last.unwrap_or(0).max(self.healed_ms) + QUIET_MS
    }

    /// How many parts it has; what the shrinker makes less.
    pub fn parts(&self) -> usize {
        let hosts = self.hosts.iter().map(|host| host.endpoint.len() + 1);
        let connections = self.connections.iter();
        let connections =
            connections.map(|c| c.client_settings.len() + c.server_settings.len() + 1);
        let script = self.script.iter().map(|entry| match entry.act {
            Act::Burst { count, .. } | Act::Stream { count, .. } => 1 + count as usize,
            _ => 1,
        });
        hosts.chain(connections).chain(script).sum::<usize>()
            + self.faults.len()
            + self.moments.len()
    }
}
