//! A kind of application with its settings.

use std::fmt;

use fairwire_net::{Stream, Streams};
use fairwire_units::{Duration, Size};

use super::source::{Arrivals, Source};

/// A kind of application with its settings, of which each flow has a source made for itself.
pub trait TrafficModel: fmt::Debug + Send + Sync + 'static {
    /// Makes the source of `flow`.
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source>;

    /// Returns how flows arrive, where this is traffic of many flows: each has a connection and a source of its own,
    /// and ends with its last byte.
    fn arrivals(&self, flow: &FlowContext<'_>) -> Option<Box<dyn Arrivals>> {
        let _ = flow;
        None
    }

    /// Returns the packets that it offers per second on average, rounded up; `None` if it sends whatever the transport
    /// takes. Nothing holds such a source back over UDP, so it is refused there.
    fn packets_per_second(&self, packet: &PacketShape) -> Option<u64>;

    /// Returns the time between two packets, where that is the same for all of them (but for pauses).
    fn interval(&self, packet: &PacketShape) -> Option<Duration> {
        let _ = packet;
        None
    }

    /// Does it offer frames, each in one packet or more that it offers at one moment? Then results count them.
    fn has_frames(&self) -> bool {
        false
    }

    /// Does it draw random numbers, so that seeds differ?
    fn is_random(&self) -> bool {
        false
    }

    /// Returns the setting that does not go with the others or with the flow's packets, and what would.
    fn problem(&self, packet: &PacketShape) -> Option<(&'static str, String)> {
        let _ = packet;
        None
    }
}

/// The packets of a flow, as its size keys make them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PacketShape {
    /// Payload of one packet at most, bytes: what the transport carries, an RTP header included.
    pub payload: u32,
    /// The RTP header in it, bytes; zero without one.
    pub rtp: u32,
    /// What a rate counts of a packet: the size that the flow states (`wire` or `payload`). `None` if only its codec
    /// says the size.
    pub counted: Option<Size>,
    /// The speech that a frame of the flow's codec holds.
    pub codec_frame: Option<Duration>,
}

impl PacketShape {
    /// Packets of `payload` bytes without RTP, which a rate counts as they are.
    pub fn new(payload: u32) -> Self {
        Self {
            payload,
            rtp: 0,
            counted: Some(Size::new(u64::from(payload))),
            codec_frame: None,
        }
    }

    /// Bytes in a packet at most that are the application's own.
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
    /// A flow called `name` in the run that has `streams`.
    pub fn new(name: &'a str, packet: PacketShape, streams: Streams) -> Self {
        Self {
            name,
            packet,
            streams,
        }
    }

    /// Returns the stream of random numbers of this flow for `what`, called `WHAT/NAME`.
    pub fn stream(&self, what: &str) -> Stream {
        self.streams.stream(&format!("{what}/{}", self.name))
    }
}
