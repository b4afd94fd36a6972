//! DCCP's settings.

use fairwire_cc::{Law, default_law};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Packets};
use fairwire_wire::ServiceCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feedback::Feedback;
use crate::quantity::{MinRto, SegmentSize};

/// DCCP's parameters.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no keys of one table"
)]
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dccp {
    /// Congestion control of the data: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets).
    pub ccid: u8,
    /// Loads the other direction too, with the same traffic, under this CCID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_ccid: Option<u8>,
    /// Natively on IP, or in UDP.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// What the server offers and the client asks for (RFC 5595); `SC:fair` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceCode>,
    /// Send ECN-capable packets and answer marks?
    #[serde(default = "yes")]
    pub ecn: bool,
    /// CCID 2: send ECN nonces and hold the receiver's echoes against them (RFC 4340, section 12.2)?
    #[serde(default)]
    pub ecn_nonce: bool,
    /// CCIDs that the data changes to while the connection is open, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ccid_changes: Vec<CcidChange>,
    /// 24-bit sequence numbers (RFC 4340, section 7.6), while the Sequence Window bears them?
    #[serde(default)]
    pub short_seqnos: bool,
    /// Find out by padded Syncs what the path takes (RFC 4340, section 14.1; RFC 8899)?
    #[serde(default)]
    pub probe_path_mtu: bool,
    /// A Data Checksum on each datagram (RFC 4340, section 9.3)?
    #[serde(default)]
    pub data_checksum: bool,
    /// `CsCov` of data packets (RFC 4340, section 9.2), if the other side takes as little.
    #[serde(default)]
    pub checksum_coverage: u8,
    /// The least `CsCov` that is taken (RFC 4340, section 9.2.1).
    #[serde(default)]
    pub minimum_checksum_coverage: u8,
    /// The application that receives, and its queue.
    #[serde(default)]
    pub receive: Receive,
    /// CCID 2: how the window grows and shrinks.
    #[serde(default = "default_law")]
    pub law: Chosen<dyn Law>,
    /// CCID 2: first slow-start threshold; unlimited if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Packets>,
    /// CCID 2: first window; RFC 3390's if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Packets>,
    /// CCID 2: retransmission timeout at least.
    #[serde(default = "dccp_min_rto")]
    pub min_rto: MinRto,
    /// CCID 2: what becomes of a window that is not used; `restart` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleName>,
    /// CCID 3: the segment size of the throughput equation.
    #[serde(default = "default_segment")]
    pub segment: SegmentSize,
    /// CCID 3 and 4: packets per acknowledgement of the TCP that the equation models.
    #[serde(default = "one")]
    pub b: f64,
    /// CCID 3 and 4: that TCP's retransmission timeout, in round trips.
    #[serde(default = "default_t_rto_rtts")]
    pub t_rto_rtts: f64,
    /// CCID 3 and 4: RFC 5348, section 4.5.
    #[serde(default = "yes")]
    pub oscillation_reduction: bool,
    /// CCID 3 and 4: RFC 5348, section 5.5.
    #[serde(default = "yes")]
    pub history_discounting: bool,
    /// CCID 3 and 4: what the mean of loss intervals is divided by before eight are closed.
    #[serde(default)]
    pub loss_mean: LossMeanName,
    /// CCID 3 and 4: the rate that the interval before the first loss event stands for.
    #[serde(default)]
    pub first_interval: FirstIntervalName,
    /// CCID 3 and 4: data carries its sender's round-trip time (RFC 6323).
    #[serde(default)]
    pub send_rtt_estimate: bool,
    /// CCID 3 and 4: how often the receiver gives feedback.
    #[serde(default)]
    pub feedback: Feedback,
    /// The send queue.
    #[serde(default)]
    pub queue: SendQueue,
}

/// A change of CCID in mid-connection (RFC 4340, section 10).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CcidChange {
    /// When the sender asks for it.
    pub at: Duration,
    /// The CCID asked for.
    pub ccid: u8,
}

/// Below DCCP.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encapsulation {
    /// IP protocol 33.
    #[default]
    Native,
    /// In UDP (RFC 6773).
    Udp,
}

/// What CCID 2 does with a window that is not used.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleName {
    /// Back to the initial window after a pause (RFC 5681, section 4.1).
    Restart,
    /// Half for each timeout of it, and half way to what the application uses (RFC 2861).
    Halve,
    /// Nothing.
    Keep,
}

/// What TFRC divides its weighted sum of loss intervals by while fewer than eight are closed.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossMeanName {
    /// The weights of the intervals known (RFC 5348, section 5.4).
    #[default]
    Known,
    /// All eight weights, as ns-2 does.
    AllWeights,
}

/// The rate that the interval before the first loss event stands for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstIntervalName {
    /// The largest that was received so far (RFC 5348, section 6.3.1).
    #[default]
    LargestRate,
    /// That of the latest round trip (RFC 3448, section 6.3.1).
    LatestRate,
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
    /// What a full queue does.
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
    /// Datagrams in its queue at most.
    #[serde(default = "receive_limit")]
    pub limit: Packets,
    /// What a full queue drops.
    #[serde(default)]
    pub policy: QueuePolicy,
    /// It reads one datagram in this time; each at once if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

impl Default for Receive {
    fn default() -> Self {
        Self {
            limit: receive_limit(),
            policy: QueuePolicy::default(),
            every: None,
        }
    }
}

/// What a full queue does.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePolicy {
    /// Refuses the new datagram; a greedy source waits, a CBR source loses it.
    #[default]
    Refuse,
    /// Drops the oldest for it.
    DropOldest,
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

fn default_t_rto_rtts() -> f64 {
    Dccp::DEFAULT_T_RTO_RTTS
}

impl Dccp {
    /// What `t_rto_rtts` is where it is not written (RFC 5348, section 3.1).
    pub(super) const DEFAULT_T_RTO_RTTS: f64 = 4.0;

    /// What `segment` is where it is not written.
    pub(super) fn default_segment() -> SegmentSize {
        default_segment()
    }

    /// What `min_rto` is where it is not written.
    pub(super) fn default_min_rto() -> MinRto {
        dccp_min_rto()
    }
}

fn dccp_min_rto() -> MinRto {
    MinRto::Time(Duration::from_millis(200))
}

fn default_segment() -> SegmentSize {
    SegmentSize::Mean
}

fn receive_limit() -> Packets {
    Packets(4_096)
}

fn queue_limit() -> Packets {
    Packets(256)
}
