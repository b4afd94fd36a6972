//! The trait of traffic models, and what they know of a flow.

use std::fmt;

use fairwire_net::{Stream, Streams};
use fairwire_units::{Duration, Size};

use super::source::{Arrivals, Source};

/// A kind of application with its settings. It makes a source for each flow.
pub trait TrafficModel: fmt::Debug + Send + Sync + 'static {
    /// Makes the source of `flow`.
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source>;

    /// Returns the arrivals of short flows, if the traffic consists of such. Each short flow has its own connection and
    /// source, and ends with its last byte.
    fn arrivals(&self, flow: &FlowContext<'_>) -> Option<Box<dyn Arrivals>> {
        let _ = flow;
        None
    }

    /// Returns roughly how many packets it offers per second while it sends; `None` if it sends as much as the transport
    /// accepts. Such a source is refused over UDP, which has no congestion control.
    fn packets_per_second(&self, packet: &PacketShape) -> Option<u64>;

    /// Returns the time between two packets, if it is the same for all of them (apart from pauses).
    fn interval(&self, packet: &PacketShape) -> Option<Duration> {
        let _ = packet;
        None
    }

    /// Returns whether it offers frames, whose packets it offers at one moment. Results then count frames.
    fn has_frames(&self) -> bool {
        false
    }

    /// Returns whether it draws random numbers, so that runs with different seeds differ.
    fn is_random(&self) -> bool {
        false
    }

    /// Returns the first setting that conflicts with others or with the flow's packets, with a message.
    fn problem(&self, packet: &PacketShape) -> Option<(&'static str, String)> {
        let _ = packet;
        None
    }
}

/// The packets of a flow, as its size keys define them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PacketShape {
    /// The most payload of one packet, bytes: what the transport carries, including an RTP header.
    pub payload: u32,
    /// The RTP header in the payload, bytes; zero without RTP.
    pub rtp: u32,
    /// The size of a packet that a rate counts: the one that the flow states (`wire` or `payload`). `None` if only its
    /// codec determines the size.
    pub counted: Option<Size>,
    /// The length of the speech in a frame of the flow's codec.
    pub codec_frame: Option<Duration>,
}

impl PacketShape {
    /// Returns packets of `payload` bytes without RTP. A rate counts their payload.
    pub fn new(payload: u32) -> Self {
        Self {
            payload,
            rtp: 0,
            counted: Some(Size::new(u64::from(payload))),
            codec_frame: None,
        }
    }

    /// Returns the most bytes of the application's own data in a packet.
    pub fn media(&self) -> u32 {
        self.payload.saturating_sub(self.rtp)
    }
}

/// The flow for which a source is made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FlowContext<'a> {
    /// Its name; that of its way back ends in `/back`.
    pub name: &'a str,
    /// Its packets.
    pub packet: PacketShape,
    streams: Streams,
}

impl<'a> FlowContext<'a> {
    /// Returns the context of a flow called `name`, in the run with these `streams`.
    pub fn new(name: &'a str, packet: PacketShape, streams: Streams) -> Self {
        Self {
            name,
            packet,
            streams,
        }
    }

    /// Returns the random stream of this flow for `what`, which is called `WHAT/NAME`.
    pub fn stream(&self, what: &str) -> Stream {
        self.streams.stream(&format!("{what}/{}", self.name))
    }
}
