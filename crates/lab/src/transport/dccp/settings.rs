//! DCCP's settings.

use fairwire_proto::{Ccid2Config, Ccid3Config, Encapsulation, QueuePolicy, ReceiveQueuePolicy};
use fairwire_units::{Duration, Packets};
use fairwire_wire::ServiceCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// DCCP's parameters.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no keys of one table"
)]
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dccp {
    /// Which stack it imitates ([what each has and leaves out](models/dccp.md)). It gives the values of what is not
    /// written. What an RFC of today asks for if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Stack>,
    /// Congestion control of the data: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets, at most 100 a second).
    #[schemars(
        range(min = 2, max = 4),
        extend(
            "advice" = "there are CCID 2 (TCP-like), CCID 3 (TFRC) and CCID 4 (TFRC for small packets)"
        )
    )]
    pub ccid: u8,
    /// Loads the other direction too, with the same traffic, under this CCID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        range(min = 2, max = 4),
        extend(
            "advice" = "there are CCID 2 (TCP-like), CCID 3 (TFRC) and CCID 4 (TFRC for small packets)"
        )
    )]
    pub back_ccid: Option<u8>,
    /// Natively on IP, or in UDP.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// What the server offers and the client asks for, as `"SC:name"`, `"SC=number"` or `"SC=xhex"` (RFC 5595);
    /// `SC:fair` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCode>,
    /// The clock of either host: its timers go off at multiples of this time alone, from a first one that is drawn
    /// (`tick/FLOW/SIDE`), so that what CCID 3 paces leaves in bursts. At any moment if it does not say. Write the same
    /// time as `ccid3.granularity`, or bursts are spread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "maximum_quantity" = "1 s",
        "advice" = "a clock ticks at least once a second"
    ))]
    pub tick: Option<Duration>,
    /// Send ECN-capable packets and answer marks?
    #[serde(default = "yes")]
    pub ecn: bool,
    /// CCID 2: send ECN nonces, and hold the receiver's echoes against them (RFC 4340, section 12.2)? Data leaves as
    /// ECT(0) or ECT(1) at random (from `secret/FLOW/SIDE`); a receiver whose echoes are wrong slows its sender down
    /// and is reset at last (section 12.3).
    #[serde(default)]
    pub ecn_nonce: bool,
    /// CCIDs that the data changes to while the connection is open, in order: `[{ at = "10 s", ccid = 3 }]`. The
    /// notes of the results tell from when on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ccid_changes: Vec<CcidChange>,
    /// 24-bit sequence numbers in heads of 12 bytes (RFC 4340, section 7.6), while the Sequence Window bears them?
    /// Above 1,024 packets it does not.
    #[serde(default)]
    pub short_seqnos: bool,
    /// Find out by padded Syncs what the path takes (RFC 4340, section 14.1; RFC 8899)? From 1,500 bytes or the
    /// packet's size down; datagrams are shortened to it, and each size found is noted.
    #[serde(default)]
    pub probe_path_mtu: bool,
    /// A Data Checksum on each datagram (RFC 4340, section 9.3)? It is a CRC-32c of 8 bytes, which the receiver
    /// checks.
    #[serde(default)]
    pub data_checksum: bool,
    /// `CsCov` of data packets (RFC 4340, section 9.2), if the other side takes as little: 0 covers everything, n the
    /// first 4(n - 1) bytes.
    #[serde(default)]
    #[schemars(
        range(max = 15),
        extend("advice" = "checksum coverage is 0 for everything, or 1 to 15")
    )]
    pub checksum_coverage: u8,
    /// The least `CsCov` that either side takes (RFC 4340, section 9.2.1); 0 takes complete coverage only.
    #[serde(default)]
    #[schemars(
        range(max = 15),
        extend("advice" = "checksum coverage is 0 for everything, or 1 to 15")
    )]
    pub minimum_checksum_coverage: u8,
    /// The application that receives, and its queue.
    #[serde(default)]
    pub receive: Receive,
    /// CCID 2's parameters.
    #[serde(default)]
    pub ccid2: Ccid2Config,
    /// CCID 3's parameters, and CCID 4's.
    #[serde(default)]
    pub ccid3: Ccid3Config,
    /// CCID 3 and 4: data carries its sender's round-trip time, so that receivers need not guess it (RFC 6323).
    #[serde(default)]
    pub send_rtt_estimate: bool,
    /// The send queue.
    #[serde(default)]
    pub queue: SendQueue,
}

/// A DCCP that was run elsewhere.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Stack {
    /// What the RFCs of today ask for: nothing but defaults.
    #[serde(rename = "rfc")]
    Rfc,
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
    /// The word for it in files.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Ns2Module => "ns2-module",
            Self::Linux2620 => "linux-2.6.20",
            Self::Linux2625 => "linux-2.6.25",
            Self::Linux61 => "linux-6.1",
        }
    }
}

/// A change of CCID in mid-connection (RFC 4340, section 10).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CcidChange {
    /// When the sender asks for it.
    pub at: Duration,
    /// The CCID asked for.
    #[schemars(
        range(min = 2, max = 4),
        extend(
            "advice" = "there are CCID 2 (TCP-like), CCID 3 (TFRC) and CCID 4 (TFRC for small packets)"
        )
    )]
    pub ccid: u8,
}

/// The sender's queue.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SendQueue {
    /// Datagrams at most.
    #[serde(default = "queue_limit")]
    pub limit: Packets,
    /// A datagram that waited longer is dropped; never if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<Duration>,
    /// What a full queue does. A greedy source waits where it refuses, a CBR source loses the datagram.
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

/// The receiving application.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// Datagrams in its queue at most. From three quarters on the sender is told not to speed up, and to slow down
    /// by what is dropped.
    #[serde(default = "receive_limit")]
    pub limit: Packets,
    /// What a full queue drops.
    #[serde(default)]
    pub policy: ReceiveQueuePolicy,
    /// It reads one datagram in this time; each at once if it does not say.
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

fn yes() -> bool {
    true
}

fn receive_limit() -> Packets {
    Packets(4_096)
}

fn queue_limit() -> Packets {
    Packets(256)
}
