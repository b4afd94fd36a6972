//! The flows of a scenario: who sends what, and by which protocol.

use fairwire_cc::{Law, default_law};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Packets, Size};
use fairwire_wire::ServiceCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feedback::Feedback;
use super::quantity::{MinRto, SegmentSize};
use super::tcp::Tcp;
use super::voice::{CodecName, RTP_HEADER};
use crate::traffic::{PacketShape, TrafficModel};

/// One flow: a sender, a receiver, and what is sent between them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Is it there at all? A cell may take a flow away.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The side that its sender is on.
    #[serde(default)]
    pub from: Side,
    /// Graph: the node that sends. Wlan: the station, or wired host, that sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Graph and wlan: the one that receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// A delay that this flow alone has, each way: its sender stands behind a link of its own that has no
    /// limit of rate, so its round trip is longer by twice as much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "a delay of more than an hour is surely not meant"
    ))]
    pub extra_delay: Option<Duration>,
    /// When it starts: TCP's and UDP's first packet, DCCP's Request.
    #[serde(default)]
    pub start: Duration,
    /// When its source stops; the end of the run if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// The size of a data packet as IP packet, with a plain header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Size>,
    /// The size of its payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// The speech codec: sizes and times where `payload`, `wire` and the traffic's settings do not say
    /// them, and what a call is worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<CodecName>,
    /// Does an RTP header come before each payload?
    #[serde(default)]
    pub rtp: bool,
    /// What the application sends, and when.
    pub traffic: Chosen<dyn TrafficModel>,
    /// How much payload it sends at most; without end if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Size>,
    /// TCP and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
    /// DCCP and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dccp: Option<Dccp>,
    /// UDP: no congestion control at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Udp>,
}

/// A side of the topology.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where flows start unless they say otherwise.
    #[default]
    Left,
    /// The other one.
    Right,
}

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

/// UDP has no parameters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Udp {}

/// The protocol of a flow.
#[derive(Clone, Copy, Debug)]
pub enum Protocol<'a> {
    /// TCP.
    Tcp(&'a Tcp),
    /// DCCP.
    Dccp(&'a Dccp),
    /// UDP.
    Udp,
}

/// An IPv4 header without options, bytes.
pub const IP_HEADER: u32 = 20;
/// A TCP header without options, bytes.
pub const TCP_HEADER: u32 = 20;
/// A UDP header, bytes.
pub const UDP_HEADER: u32 = 8;
/// The head of a DCCP Data packet without options, with 48-bit sequence numbers, bytes.
pub const DATA_HEAD: u32 = 16;
/// The same with 24-bit sequence numbers.
pub const SHORT_DATA_HEAD: u32 = 12;

impl Flow {
    /// Its protocol; UDP if it names none, which a checked scenario does not.
    pub fn protocol(&self) -> Protocol<'_> {
        match (&self.tcp, &self.dccp) {
            (Some(tcp), _) => Protocol::Tcp(tcp),
            (None, Some(dccp)) => Protocol::Dccp(dccp),
            (None, None) => Protocol::Udp,
        }
    }

    /// Bytes around the payload of a plain data packet: IP, and what the protocol has.
    pub fn header_bytes(&self) -> u32 {
        IP_HEADER
            + match self.protocol() {
                Protocol::Tcp(_) => TCP_HEADER,
                Protocol::Udp => UDP_HEADER,
                Protocol::Dccp(dccp) => {
                    let head = if dccp.short_seqnos {
                        SHORT_DATA_HEAD
                    } else {
                        DATA_HEAD
                    };
                    head + match dccp.encapsulation {
                        Encapsulation::Native => 0,
                        Encapsulation::Udp => UDP_HEADER,
                    }
                }
            }
    }

    /// Bytes of RTP header in front of what the application has to say.
    pub fn rtp_bytes(&self) -> u32 {
        if self.rtp { RTP_HEADER } else { 0 }
    }

    /// Payload of one packet, bytes: what the protocol carries, an RTP header included.
    pub fn payload_bytes(&self) -> u32 {
        let media = |size: Size| size.bytes().saturating_add(u64::from(self.rtp_bytes()));
        let size = match (self.payload, self.wire, self.codec) {
            (Some(payload), _, _) => media(payload),
            (None, Some(wire), _) => wire.bytes().saturating_sub(u64::from(self.header_bytes())),
            (None, None, Some(codec)) => media(codec.frame()),
            (None, None, None) => 0,
        };
        u32::try_from(size).unwrap_or(u32::MAX)
    }

    /// Size of a plain data packet as IP packet, bytes.
    pub fn wire_bytes(&self) -> u32 {
        self.payload_bytes().saturating_add(self.header_bytes())
    }

    /// Its packets, as its traffic sees them.
    pub fn packet_shape(&self) -> PacketShape {
        PacketShape {
            rtp: self.rtp_bytes(),
            counted: self.wire.or(self.payload),
            codec_frame: self.codec.map(CodecName::every),
            ..PacketShape::new(self.payload_bytes())
        }
    }

    /// The time between two packets, where its traffic has one (but for pauses).
    pub fn interval(&self) -> Option<Duration> {
        self.traffic.interval(&self.packet_shape())
    }

    /// The packets that its application offers per second on average; `None` if it sends whatever it may.
    pub fn packets_per_second(&self) -> Option<u64> {
        self.traffic.packets_per_second(&self.packet_shape())
    }
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
