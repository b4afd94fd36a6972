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

#[cfg(test)]
mod tests {
    use fairwire_net::Streams;
    use fairwire_units::{Duration, Instant};

    use super::super::model::{FlowContext, PacketShape, TrafficModel};
    use super::super::source::{Offer, When};
    use super::TalkSpurts;

    /// With mean spurts of 1.004 s and mean pauses of 1.587 s (ITU-T P.59) there is talk for 38.75 % of the time.
    /// Within a spurt frames are 20 ms apart, and the last one is sent in full.
    #[test]
    fn talk_has_its_share() {
        let every = Duration::from_millis(20);
        let spurts = TalkSpurts {
            every: Some(every),
            ..TalkSpurts::default()
        };
        let flow = FlowContext::new("voice", PacketShape::new(172), Streams::new(1));
        let mut talk = spurts.build(&flow);
        talk.begin(Instant::START);
        let (mut frames, mut spurts, mut last) = (0u32, 1u32, Instant::START);
        let end = Instant::START + Duration::from_secs(20_000);
        while let Some(Offer {
            when: When::At(at),
            bytes,
            ..
        }) = talk.next()
        {
            if at >= end {
                break;
            }
            talk.advance();
            assert_eq!(bytes, 172);
            frames += 1;
            if at > last + every {
                spurts += 1;
            }
            last = at;
        }
        // A spurt of length t has 1 + floor(t / 20 ms) frames: 1 / (1 - exp(-0.02 / 1.004)) = 50.7 on average, which
        // last 1.014 s. The pause counts from the end of the talk, so the rest of the last frame shortens it. Spurts
        // come each 2.591 s, except after pauses that are shorter than that rest, 0.03 %.
        let each = 20_000.0 / f64::from(spurts);
        // Four standard errors: 4 * sqrt(1.004^2 + 1.587^2) / sqrt(7719) = 0.086.
        assert!((each - 2.591).abs() < 0.086, "{each}");
        let length = f64::from(frames) / f64::from(spurts);
        // 4 * 50.2 / sqrt(7719) = 2.3.
        assert!((length - 50.7).abs() < 2.3, "{length}");
    }
}
