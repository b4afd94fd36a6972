//! Video: frames of varying sizes at a constant frame rate, in groups of pictures (docs/models/video.md).

use std::sync::Arc;

use fairwire_net::Stream;
use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Instant, Percent, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{FlowContext, PacketShape, TrafficModel};
use super::pace;
use super::source::{Offer, Source, When};

/// Video: frames at a constant frame rate. The first frame of each group of pictures is an I frame, which is larger.
/// Sizes are log-normal around the mean of their kind of frame, drawn from `video/FLOW`. A frame takes as few packets
/// as possible, all offered at one moment.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// The mean rate of the video: frames only, without RTP or lower headers.
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 bit/s",
        "advice" = "a video needs a rate above zero"
    ))]
    pub rate: Rate,
    /// The number of frames per second.
    #[serde(default = "twenty_five")]
    #[schemars(
        range(min = 0.1, max = 1000.0),
        extend("advice" = "the frame rate is 0.1 to 1000 frames per second")
    )]
    pub frames_per_second: f64,
    /// The number of frames in a group of pictures: an I frame and the frames up to the next one.
    #[serde(default = "twelve")]
    #[schemars(
        range(min = 1, max = 10_000),
        extend("advice" = "a group of pictures has 1 to 10000 frames; the first is its I frame")
    )]
    pub group: u32,
    /// The mean size of an I frame, relative to that of the other frames of its group.
    #[serde(default = "four")]
    #[schemars(
        range(min = 1.0, max = 1000.0),
        extend("advice" = "an I frame is 1 to 1000 times as large as the other frames")
    )]
    pub i_ratio: f64,
    /// The standard deviation of a frame's size, relative to the mean of its kind.
    #[serde(default = "thirty_percent")]
    pub variation: Percent,
}

/// The largest mean size of I frames, bytes: a frame is offered at one moment and takes memory.
const LARGEST_MEAN: f64 = 100e6;

fn twenty_five() -> f64 {
    25.0
}

fn twelve() -> u32 {
    12
}

fn four() -> f64 {
    4.0
}

fn thirty_percent() -> Percent {
    Percent::of(0.3)
}

impl Video {
    /// Returns the time from one frame to the next.
    fn every(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.frames_per_second)
    }

    /// Returns the mean size of a frame other than an I frame, bytes: a group has the size of `i_ratio + group - 1` of
    /// them.
    fn mean_bytes(&self) -> f64 {
        let group = f64::from(self.group);
        let frame = self.rate.bytes_per_s() / self.frames_per_second;
        frame * group / (self.i_ratio + group - 1.0)
    }
}

impl TrafficModel for Video {
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        let cv = self.variation.fraction();
        Box::new(VideoSource {
            mean: self.mean_bytes(),
            i_ratio: self.i_ratio,
            group: self.group,
            every: self.every(),
            spread: libm::log1p(cv * cv).sqrt(),
            stream: flow.stream("video"),
            packet: flow.packet,
            at: Instant::START,
            number: 0,
            place: 0,
            left: 0,
        })
    }

    fn packets_per_second(&self, packet: &PacketShape) -> Option<u64> {
        let packets = pace::packets_per_second_of_frames(self.rate, self.frames_per_second, packet);
        Some(packets)
    }

    fn has_frames(&self) -> bool {
        true
    }

    fn is_random(&self) -> bool {
        self.variation > Percent::NONE
    }

    fn problem(&self, packet: &PacketShape) -> Option<(&'static str, String)> {
        if packet.codec_frame.is_some() {
            let message =
                "a speech codec makes no video: take 'codec' away, and write the largest packet";
            return Some(("kind", message.to_owned()));
        }
        let mean = self.mean_bytes() * self.i_ratio;
        (mean > LARGEST_MEAN).then(|| {
            let message = format!(
                "an I frame would have {:.0} MB on average, and {:.0} MB are the most: take a lower rate, or more frames \
                 per second",
                mean / 1e6,
                LARGEST_MEAN / 1e6
            );
            ("rate", message)
        })
    }
}

/// Returns the kind for the registry.
pub(super) fn kind() -> Kind<dyn TrafficModel> {
    let meaning = "Frames of varying sizes at a constant rate, in groups of pictures.";
    let kind: Kind<dyn TrafficModel> = Kind::new("video", meaning);
    kind.settings(|settings: Video| Arc::new(settings))
}

/// A source that sends frame after frame, each split into packets.
#[derive(Clone, Debug)]
struct VideoSource {
    /// The mean size of a frame other than an I frame, bytes.
    mean: f64,
    i_ratio: f64,
    group: u32,
    every: Duration,
    /// The standard deviation of the logarithm of a size.
    spread: f64,
    stream: Stream,
    packet: PacketShape,
    /// The time of the current frame.
    at: Instant,
    /// The number of the frame.
    number: u64,
    /// The place of the frame in its group; an I frame has place 0.
    place: u32,
    /// The bytes of the frame that are still to be offered; at least one once it has begun.
    left: u64,
}

impl VideoSource {
    /// Draws the size of the frame: `m exp(s Z - s^2 / 2)`, whose mean is `m`.
    fn draw(&mut self) {
        let mean = if self.place == 0 {
            self.mean * self.i_ratio
        } else {
            self.mean
        };
        let exponent = self.spread * self.stream.normal() - self.spread * self.spread / 2.0;
        let bytes = mean * libm::exp(exponent);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are above zero, and the cast saturates"
        )]
        let bytes = (bytes + 0.5) as u64;
        self.left = bytes.max(1);
    }
}

impl Source for VideoSource {
    fn begin(&mut self, at: Instant) {
        self.at = at;
        self.draw();
    }

    fn next(&self) -> Option<Offer> {
        let media = self.packet.media();
        let bytes = u32::try_from(self.left).map_or(media, |left| left.min(media));
        Some(Offer {
            frame: Some(self.number),
            // Without its I frame a group of pictures cannot be shown.
            priority: i8::from(self.place == 0),
            ..Offer::new(When::At(self.at), bytes + self.packet.rtp)
        })
    }

    fn advance(&mut self) {
        let media = self.packet.media().max(1);
        self.left = self.left.saturating_sub(u64::from(media));
        if self.left == 0 {
            self.at += self.every;
            self.number += 1;
            self.place = (self.place + 1) % self.group.max(1);
            self.draw();
        }
    }
}
