//! The flows of a scenario: who sends what, and by which protocol.

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

/// One flow: a sender, a receiver, and what is sent between them.
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
        "advice": "say how large packets are, once: wire = \"500 B\" (as IP packet) or payload = \"80 B\""
    },
    {
        "keys": ["wire", "payload", "codec"],
        "least": 1,
        "advice": "say how large packets are, once: wire = \"500 B\" (as IP packet) or payload = \"80 B\""
    }
]))]
pub struct Flow {
    /// Is it there at all? A cell may take a flow away.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The side that its sender is on.
    #[serde(default)]
    pub from: Side,
    /// In place of `from`, who sends: in a graph one of its nodes, in a wlan a station or one of the wired hosts
    /// `"left"` and `"right"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Who receives, where `sender` says who sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// A delay that this flow alone has, each way, so that its round trip is longer by twice as much; not in a wlan.
    /// Its sender stands behind a link of its own without a limit of rate, which captures call `extra/FLOW`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "a delay of more than an hour is surely not meant"
    ))]
    pub extra_delay: Option<Duration>,
    /// Its sender's host takes from nothing to this time for each packet that it sends, drawn uniformly; packets keep
    /// their order. As long as the bottleneck takes for a packet weakens [phase effects](models/drop-tail.md), and
    /// several times as long ends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 s",
        "advice" = "a jitter of more than a second is surely not meant: some times what the bottleneck takes to send a packet is enough"
    ))]
    pub jitter: Option<Duration>,
    /// When it starts: TCP's and UDP's first packet, or DCCP's Request, whose source starts when the connection is
    /// open.
    #[serde(default)]
    pub start: Duration,
    /// When its source stops, if before the end of the run; a greedy TCP falls silent at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// The size of a data packet as IP packet, with a plain header. In place of it `payload` or `codec` may stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Size>,
    /// The size of its payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// A [speech codec](models/voice.md). It gives sizes and times where the keys around do not, and `r_factor` and
    /// `mos` in the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<CodecName>,
    /// Does an RTP header of 12 bytes come before each payload (RFC 5762; UDP and DCCP)? `wire` includes it.
    #[serde(default)]
    pub rtp: bool,
    /// What the application sends, and when: [by its kind](#traffic).
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

impl Flow {
    /// The transports that it names: one, if it was checked.
    pub(crate) fn transports(&self) -> impl Iterator<Item = (&'static str, &dyn Transport)> {
        let tcp = self.tcp.as_ref().map(|tcp| tcp as &dyn Transport);
        let dccp = self.dccp.as_ref().map(|dccp| dccp as &dyn Transport);
        let udp = self.udp.as_ref().map(|udp| udp as &dyn Transport);
        let named = TRANSPORTS.iter().copied().zip([tcp, dccp, udp]);
        named.filter_map(|(name, given)| Some((name, given?)))
    }

    /// Its transport; UDP if it names none, which a checked scenario does not.
    pub(crate) fn transport(&self) -> &dyn Transport {
        let named = self.transports().next();
        named.map_or(&Udp {}, |(_, transport)| transport)
    }

    /// Bytes around the payload of a plain data packet: IP, and what the protocol has.
    pub fn header_bytes(&self) -> u32 {
        IP_HEADER + self.transport().header_bytes()
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

    /// Does chance decide when its packets leave: by its jitter, or by its traffic?
    pub fn is_random(&self) -> bool {
        self.jitter.is_some_and(|most| !most.is_zero()) || self.traffic.is_random()
    }

    /// Does its traffic come as flows of finite size, each with a connection of its own?
    pub(crate) fn brings_short_flows(&self) -> bool {
        let context = FlowContext::new("", self.packet_shape(), Streams::new(0));
        self.traffic.arrivals(&context).is_some()
    }

    /// The packets that its application offers per second on average; `None` if it sends whatever it may.
    pub fn packets_per_second(&self) -> Option<u64> {
        self.traffic.packets_per_second(&self.packet_shape())
    }
}

fn yes() -> bool {
    true
}
