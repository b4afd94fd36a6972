//! The flows of a scenario: what each sends, from where to where, and by which protocol.

use fairwire_net::Streams;
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::voice::{CodecName, RTP_HEADER};
use crate::traffic::{FlowContext, PacketShape, TrafficModel};
use crate::transport::TRANSPORTS;
use crate::transport::Transport;
use crate::transport::dccp::Dccp;
use crate::transport::header::IP_HEADER;
use crate::transport::tcp::Tcp;
use crate::transport::udp::Udp;

/// One flow: a sender, a receiver, and the traffic between them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(extend("choices" = [
    {
        "keys": ["tcp", "dccp", "udp"],
        "least": 1,
        "most": 1,
        "advice": "a flow has exactly one of the tables 'tcp', 'dccp', 'udp' ('udp = {}' will do)"
    },
    {
        "keys": ["wire", "payload"],
        "most": 1,
        "advice": "state the packet size exactly once: wire = \"500 B\" (as IP packet) or payload = \"80 B\""
    },
    {
        "keys": ["wire", "payload", "codec"],
        "least": 1,
        "advice": "state the packet size exactly once: wire = \"500 B\" (as IP packet) or payload = \"80 B\""
    }
]))]
pub struct Flow {
    /// Whether the flow takes part. A cell can switch a flow off.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The side of the sender.
    #[serde(default)]
    pub from: Side,
    /// The sender, in place of `from`: in a graph one of its nodes, in a wlan a station or one of the wired hosts
    /// `"left"` and `"right"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The receiver, if `sender` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// An additional one-way delay of this flow alone; its round-trip time grows by twice as much. It is not available
    /// in a wlan. The sender is behind a link of its own with no rate limit, which captures call `extra/FLOW`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "a delay is at most 1 h"
    ))]
    pub extra_delay: Option<Duration>,
    /// The largest random delay of each packet in the sender's host. Delays are drawn uniformly from zero up, and
    /// packets keep their order. Jitter weakens [phase effects](models/drop-tail.md) if it is as long as a packet takes
    /// on the bottleneck, and ends them if it is several times as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 s",
        "advice" = "a jitter is at most 1 s: a few times the time that the bottleneck takes to send a packet is enough"
    ))]
    pub jitter: Option<Duration>,
    /// The time at which the flow starts: TCP and UDP send the first packet, and DCCP sends its Request. The DCCP
    /// source starts when the connection is open.
    #[serde(default)]
    pub start: Duration,
    /// The time at which the source stops, if before the end of the run. A greedy TCP then sends nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// The size of a data packet as IP packet, with a plain header. `payload` or `codec` can be given instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Size>,
    /// The size of the payload of a data packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// A [speech codec](models/voice.md). It sets sizes and intervals that other keys do not set, and adds `r_factor`
    /// and `mos` to the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<CodecName>,
    /// Whether an RTP header of 12 bytes precedes each payload (RFC 5762; UDP and DCCP only). `wire` includes it.
    #[serde(default)]
    pub rtp: bool,
    /// The traffic that the application offers.
    pub traffic: Chosen<dyn TrafficModel>,
    /// The most payload that the flow sends. Without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Size>,
    /// TCP and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
    /// DCCP and its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dccp: Option<Dccp>,
    /// UDP, which has no congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Udp>,
}

/// A side of the topology.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The left side, where flows start by default.
    #[default]
    Left,
    /// The right side.
    Right,
}

impl Flow {
    /// Returns the transports that the flow names; exactly one in a checked scenario.
    pub(crate) fn transports(&self) -> impl Iterator<Item = (&'static str, &dyn Transport)> {
        let tcp = self.tcp.as_ref().map(|tcp| tcp as &dyn Transport);
        let dccp = self.dccp.as_ref().map(|dccp| dccp as &dyn Transport);
        let udp = self.udp.as_ref().map(|udp| udp as &dyn Transport);
        let named = TRANSPORTS.iter().copied().zip([tcp, dccp, udp]);
        named.filter_map(|(name, given)| Some((name, given?)))
    }

    /// Returns the flow's transport; UDP if it names none, which does not happen in a checked scenario.
    pub fn transport(&self) -> &dyn Transport {
        let named = self.transports().next();
        named.map_or(&Udp {}, |(_, transport)| transport)
    }

    /// Returns the bytes around the payload of a plain data packet: the IP header and that of the protocol.
    pub fn header_bytes(&self) -> u32 {
        IP_HEADER + self.transport().header_bytes()
    }

    /// Returns the bytes of the RTP header in front of the application's data.
    pub fn rtp_bytes(&self) -> u32 {
        if self.rtp { RTP_HEADER } else { 0 }
    }

    /// Returns the payload of one packet in bytes: what the protocol carries, including an RTP header.
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

    /// Returns the size of a plain data packet as IP packet, bytes.
    pub fn wire_bytes(&self) -> u32 {
        self.payload_bytes().saturating_add(self.header_bytes())
    }

    /// Returns the properties of its packets that its traffic needs.
    pub fn packet_shape(&self) -> PacketShape {
        PacketShape {
            rtp: self.rtp_bytes(),
            counted: self.wire.or(self.payload),
            codec_frame: self.codec.map(CodecName::every),
            ..PacketShape::new(self.payload_bytes())
        }
    }

    /// Returns the time between two packets, if its traffic has a constant one (apart from pauses).
    pub fn interval(&self) -> Option<Duration> {
        self.traffic.interval(&self.packet_shape())
    }

    /// Returns whether the departure times of its packets are random, by its jitter or by its traffic.
    pub fn is_random(&self) -> bool {
        self.jitter.is_some_and(|most| !most.is_zero()) || self.traffic.is_random()
    }

    /// Returns whether its traffic is a series of short flows, each with its own connection.
    pub(crate) fn brings_short_flows(&self) -> bool {
        let context = FlowContext::new("", self.packet_shape(), Streams::new(0));
        self.traffic.arrivals(&context).is_some()
    }

    /// Returns roughly how many packets its application offers per second while it sends; `None` if it offers as many as
    /// it may send.
    pub fn packets_per_second(&self) -> Option<u64> {
        self.traffic.packets_per_second(&self.packet_shape())
    }
}

fn yes() -> bool {
    true
}
