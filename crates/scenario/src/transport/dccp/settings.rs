//! DCCP's settings.

use std::borrow::Cow;

use fairwire_proto::ccids::{ccid_profiles, list_ccids};
use fairwire_proto::{Config, Encapsulation, QueuePolicy, ReceiveQueuePolicy};
use fairwire_units::{Duration, Packets};
use fairwire_wire::{Ccid, ServiceCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Error, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::security::Encryption;
use super::sending::Sending;

/// The parameters of DCCP.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(extend("additionalProperties" = false))]
pub struct Dccp {
    /// The [stack to imitate](models/dccp.md), or a [profile](which-control.md). It sets the values that the file does
    /// not state. Without a preset the defaults follow the current RFCs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Stack>,
    /// The CCID of the data: {ccids}. CCID 4 sends at most 100 packets a second.
    #[schemars(transform = one_of_ccids)]
    pub ccid: u8,
    /// The CCID of traffic in the other direction. With it, the receiver sends the same kind of traffic back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = one_of_ccids)]
    pub back_ccid: Option<u8>,
    /// The encapsulation: directly in IP, or in UDP.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// The encryption: none, or DTLS 1.3 (RFC 5238). With DTLS, the source starts when the DTLS handshake is
    /// complete, each datagram is 22 bytes longer on the wire, and `wire` includes them.
    #[serde(default)]
    pub security: Encryption,
    /// The Service Code that the server offers and the client asks for, as `"SC:name"`, `"SC=number"` or `"SC=xhex"`
    /// (RFC 5595). The default is `SC:fair`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCode>,
    /// The interval of the clock of each host. Timers fire only at its ticks, so packets that CCID 3 paces leave in
    /// bursts. The first tick is random (`tick/FLOW/SIDE`). Without it timers fire at any time. Set `ccid3.granularity`
    /// to the same time, or bursts are spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "maximum_quantity" = "1 s",
        "advice" = "a clock ticks at least once a second"
    ))]
    pub tick: Option<Duration>,
    /// The changes of the data's CCID while the connection is open, in order: `[{ at = "10 s", ccid = 3 }]`. The notes
    /// of the results say when each takes effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ccid_changes: Vec<CcidChange>,
    /// Whether to probe the path MTU with padded Syncs (RFC 4340, section 14.1; RFC 8899). Probing starts from the
    /// packet's size, at least 1,500 bytes, and goes down. Datagrams are shortened to the size found, and the notes
    /// list each size.
    #[serde(default)]
    pub probe_path_mtu: bool,
    /// Whether each datagram has a Data Checksum (RFC 4340, section 9.3): a CRC-32c in an option of 8 bytes, which the
    /// receiver verifies.
    #[serde(default)]
    pub data_checksum: bool,
    /// The receiving application and its queue.
    #[serde(default)]
    pub receive: Receive,
    /// The send queue.
    #[serde(default)]
    pub queue: SendQueue,
    /// How datagrams are sent: with a deadline, in groups, by priority.
    #[serde(default, skip_serializing_if = "Sending::is_plain")]
    pub send: Sending,
    /// The settings of both connections. Their keys are keys of this table, except those that the simulation fixes.
    #[serde(flatten, serialize_with = "KeysOfFlow::serialize")]
    #[schemars(with = "KeysOfFlow")]
    pub config: Config,
}

/// The settings of a connection that are no keys of a flow.
const FIXED: [&str; 22] = [
    // A flow states them in another way.
    "send_ccids",
    "receive_ccids",
    "send_queue",
    "receive_queue_packets",
    "receive_queue_policy",
    "path_mtu",
    "path_mtu_discovery",
    "data_checksum",
    "resend",
    // Every run has them as `config` sets them.
    "ccid_change_interval",
    "check_feedback",
    "keep_alive",
    "drain_timeout",
    "receive_queue_bytes",
    // No scenario has needed another value than the default.
    "close_timeout",
    "connect_timeout",
    "damaged_data",
    "idle_timeout",
    "max_sequence_window",
    "messages",
    "report_fates",
    "slow_receiver_percent",
];

/// The settings of a connection that are keys of a flow.
struct KeysOfFlow;

impl KeysOfFlow {
    fn serialize<S: Serializer>(config: &Config, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serde_json::to_value(config).map_err(S::Error::custom)?;
        if let Some(all) = all.as_object_mut() {
            leave_out_fixed(all);
        }
        all.serialize(serializer)
    }
}

impl JsonSchema for KeysOfFlow {
    fn schema_name() -> Cow<'static, str> {
        "KeysOfFlow".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Config::json_schema(generator);
        let keys = schema.get_mut("properties");
        if let Some(keys) = keys.and_then(Value::as_object_mut) {
            leave_out_fixed(keys);
        }
        schema
    }
}

fn leave_out_fixed(all: &mut Map<String, Value>) {
    all.retain(|key, _| !FIXED.contains(&key.as_str()));
}

/// A DCCP implementation that exists elsewhere, or a profile of our own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Stack {
    /// The current RFCs: all defaults.
    #[serde(rename = "rfc")]
    Rfc,
    /// Fairwire's profile for few or small datagrams, the default of its sockets.
    #[serde(rename = "interactive")]
    Interactive,
    /// Fairwire's profile for media whose encoder follows the rate.
    #[serde(rename = "live")]
    Live,
    /// Fairwire's profile for as much as the path carries.
    #[serde(rename = "bulk")]
    Bulk,
    /// The DCCP module in ns-2.35.
    #[serde(rename = "ns2-module")]
    Ns2Module,
    /// Linux 2.6.20.
    #[serde(rename = "linux-2.6.20")]
    Linux2620,
    /// Linux 2.6.25.
    #[serde(rename = "linux-2.6.25")]
    Linux2625,
    /// Linux 6.1.
    #[serde(rename = "linux-6.1")]
    Linux61,
}

impl Stack {
    /// Returns the word for it in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Interactive => "interactive",
            Self::Live => "live",
            Self::Bulk => "bulk",
            Self::Ns2Module => "ns2-module",
            Self::Linux2620 => "linux-2.6.20",
            Self::Linux2625 => "linux-2.6.25",
            Self::Linux61 => "linux-6.1",
        }
    }

    /// Returns the CCIDs that it implements; `None` for those of the RFCs, which are all of ours.
    pub const fn ccids(self) -> Option<&'static [Ccid]> {
        match self {
            Self::Rfc | Self::Interactive | Self::Live | Self::Bulk => None,
            Self::Ns2Module | Self::Linux2620 | Self::Linux2625 | Self::Linux61 => {
                Some(&[Ccid::TCP_LIKE, Ccid::TFRC])
            }
        }
    }
}

/// Writes into the schema of a CCID which ones there are.
fn one_of_ccids(schema: &mut Schema) {
    let numbers = || ccid_profiles().map(|profile| profile.ccid().number());
    let all = list_ccids("or", |_| true);
    if let Some(Value::String(meaning)) = schema.get_mut("description") {
        *meaning = meaning.replace("{ccids}", &all);
    }
    schema.insert("minimum".to_owned(), numbers().min().into());
    schema.insert("maximum".to_owned(), numbers().max().into());
    schema.insert("advice".to_owned(), is_one_of_ccids().into());
}

/// Returns what is wrong with a number that is no CCID here.
pub(super) fn is_one_of_ccids() -> String {
    format!("the CCID is {}", list_ccids("or", |_| true))
}

/// A change of CCID during a connection (RFC 4340, section 10).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CcidChange {
    /// The time at which the sender asks for the change.
    pub at: Duration,
    /// The new CCID.
    #[schemars(transform = one_of_ccids)]
    pub ccid: u8,
}

/// The send queue.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SendQueue {
    /// The most datagrams in the queue.
    #[serde(default = "queue_limit")]
    pub limit: Packets,
    /// The age at which a waiting datagram is dropped. Without it none is dropped for its age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<Duration>,
    /// What a full queue does with a new datagram. If it refuses, a greedy source waits, and a CBR source loses the
    /// datagram.
    #[serde(default)]
    pub policy: QueuePolicy,
}

impl Default for SendQueue {
    fn default() -> Self {
        Self {
            limit: queue_limit(),
            age: None,
            policy: QueuePolicy::default(),
        }
    }
}

/// The receiving application and its queue.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// The most datagrams in the receive queue. From three quarters of it on, the sender is told not to speed up (Slow
    /// Receiver). Drops are reported, so that the sender slows down (Data Dropped).
    #[serde(default = "receive_limit")]
    pub limit: Packets,
    /// Which datagram a full queue drops.
    #[serde(default)]
    pub policy: ReceiveQueuePolicy,
    /// The time in which the application reads one datagram. Without it each is read at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

impl Default for Receive {
    fn default() -> Self {
        Self {
            limit: receive_limit(),
            policy: ReceiveQueuePolicy::default(),
            every: None,
        }
    }
}

fn receive_limit() -> Packets {
    Packets(4_096)
}

fn queue_limit() -> Packets {
    Packets(256)
}
