//! Alternating talk and silence: one side of the artificial conversation of ITU-T P.59.

use std::sync::Arc;

use fairwire_net::Stream;
use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{FlowContext, PacketShape, TrafficModel};
use super::pace;
use super::source::{Offer, Source, When};

/// One side of a conversation: talk spurts and pauses that alternate, with exponential lengths.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TalkSpurts {
    /// The rate during talk, counted in the size that the flow states (`wire` or `payload`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The interval between packets of a spurt, in place of `rate`. With neither, it is that of the codec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// The mean length of a talk spurt (ITU-T P.59).
    #[serde(default = "talk")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "advice" = "the mean of a talk spurt is above 0 s: write it as \"1 s\""
    ))]
    pub talk: Duration,
    /// The mean length of a pause (ITU-T P.59).
    #[serde(default = "pause")]
    pub pause: Duration,
}

impl Default for TalkSpurts {
    fn default() -> Self {
        Self {
            rate: None,
            every: None,
            talk: talk(),
            pause: pause(),
        }
    }
}

fn talk() -> Duration {
    Duration::from_millis(1_004)
}

fn pause() -> Duration {
    Duration::from_millis(1_587)
}

impl TrafficModel for TalkSpurts {
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        Box::new(TalkSource {
            spurts: *self,
            stream: flow.stream("talk"),
            interval: self.interval(&flow.packet).unwrap_or(Duration::MAX),
            bytes: flow.packet.payload,
            at: Instant::START,
            until: Instant::START,
        })
    }

    fn packets_per_second(&self, packet: &PacketShape) -> Option<u64> {
        Some(self.interval(packet).map_or(0, pace::packets_per_second))
    }

    fn interval(&self, packet: &PacketShape) -> Option<Duration> {
        pace::interval(self.rate, self.every, packet)
    }

    fn is_random(&self) -> bool {
        true
    }

    fn problem(&self, packet: &PacketShape) -> Option<(&'static str, String)> {
        pace::problem(self.rate, self.every, packet)
    }
}

/// Returns the kind for the registry.
pub(super) fn kind() -> Kind<dyn TrafficModel> {
    let meaning = "One packet at a constant interval during talk spurts, and none in the pauses.";
    let kind: Kind<dyn TrafficModel> = Kind::new("talk-spurts", meaning);
    kind.settings(|settings: TalkSpurts| Arc::new(settings))
}

/// A source that sends a frame at a constant interval during talk. Spurts and pauses are exponential and independent.
/// The first spurt begins with the source.
#[derive(Clone, Debug)]
struct TalkSource {
    spurts: TalkSpurts,
    stream: Stream,
    interval: Duration,
    bytes: u32,
    /// The time of the next frame.
    at: Instant,
    /// The end of the spurt.
    until: Instant,
}

impl Source for TalkSource {
    /// Begins a spurt.
    fn begin(&mut self, at: Instant) {
        self.at = at;
        self.until = at + self.stream.exponential(self.spurts.talk);
    }

    fn next(&self) -> Option<Offer> {
        Some(Offer::new(When::At(self.at), self.bytes))
    }

    /// Goes on to the frame one interval later if the spurt lasts until then, or else to the first frame of the next
    /// spurt.
    fn advance(&mut self) {
        let due = self.at + self.interval;
        if due < self.until {
            self.at = due;
            return;
        }
        // A frame begins with its spurt, and the last frame is sent in full.
        let pause = self.stream.exponential(self.spurts.pause);
        self.begin(due.max(self.until + pause));
    }
}
