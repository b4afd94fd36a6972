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

#[cfg(test)]
mod tests {
    use fairwire_net::Streams;
    use fairwire_units::{Duration, Instant, Percent, Rate};

    use super::super::model::{FlowContext, PacketShape, TrafficModel};
    use super::super::source::When;
    use super::Video;

    /// Returns the sizes of the first `frames` frames, and checks that every packet of a frame but the last is full.
    fn sizes(video: Video, mut packet: PacketShape, rtp: u32, frames: usize) -> Vec<f64> {
        packet.rtp = rtp;
        let flow = FlowContext::new("clip", packet, Streams::new(1));
        let mut source = video.build(&flow);
        source.begin(Instant::START);
        let mut sizes: Vec<f64> = Vec::new();
        let mut current = None;
        let mut was_full = true;
        loop {
            let offer = source.next().expect("video goes on");
            let When::At(at) = offer.when else {
                panic!("frames have moments");
            };
            if current == Some(at) {
                assert!(was_full, "only the last packet of a frame is shorter");
                *sizes.last_mut().expect("begun") += f64::from(offer.bytes - rtp);
            } else {
                if sizes.len() == frames {
                    return sizes;
                }
                assert!(current.is_none_or(|before: Instant| at == before + video.every()));
                current = Some(at);
                sizes.push(f64::from(offer.bytes - rtp));
            }
            assert!(offer.bytes <= packet.payload);
            was_full = offer.bytes == packet.payload;
            source.advance();
        }
    }

    fn video() -> Video {
        Video {
            rate: Rate::from_bits_per_s(1_000_000),
            frames_per_second: 25.0,
            group: 10,
            i_ratio: 3.0,
            variation: Percent::of(0.4),
        }
    }

    /// The stream has the stated rate. I frames have the stated ratio, and each kind of frame the stated variation.
    #[test]
    fn frames_have_their_means_and_spreads() {
        let all = sizes(video(), PacketShape::new(1_000), 12, 50_000);
        // 1 Mbit/s in 25 frames a second are 5000 bytes. 10 of them equal 3 + 9 of the others: 4166.7 bytes, and I
        // frames 12500.
        for (place, mean, what) in [
            (0, 12_500.0, "I"),
            (1, 4_166.7, "second"),
            (9, 4_166.7, "last"),
        ] {
            let of_place: Vec<f64> = all.iter().skip(place).step_by(10).copied().collect();
            let count = of_place.len() as f64;
            let found = of_place.iter().sum::<f64>() / count;
            let spread = of_place
                .iter()
                .map(|size| (size - found) * (size - found))
                .sum::<f64>();
            let spread = (spread / (count - 1.0)).sqrt() / found;
            // Four standard errors of 5000 frames: 4 * 0.4 / sqrt(5000) = 2.3 %.
            assert!((found / mean - 1.0).abs() < 0.023, "{what}: {found}");
            // Skewness 1.26 and kurtosis 5.97 give the ratio the variance 0.4^2 (4.97 / 4 + 0.4^2 - 0.4 * 1.26) / 5000:
            // four standard errors are 0.021.
            assert!((spread - 0.4).abs() < 0.022, "{what}: {spread}");
        }
    }

    /// Without variation every frame has the mean size of its kind, and nothing is random.
    #[test]
    fn frames_without_variation_are_alike() {
        let even = Video {
            variation: Percent::NONE,
            ..video()
        };
        assert!(!even.is_random() && video().is_random());
        let all = sizes(even, PacketShape::new(1_000), 0, 21);
        assert_eq!(all[..3], [12_500.0, 4_167.0, 4_167.0]);
        assert_eq!(all[10], 12_500.0);
        assert_eq!(all[20], 12_500.0);
        assert_eq!(even.every(), Duration::from_millis(40));
    }

    /// The estimate for the size of a run is not less than the offered packets.
    #[test]
    fn packets_per_second_are_enough() {
        let video = Video {
            variation: Percent::NONE,
            ..video()
        };
        let packet = PacketShape::new(1_000);
        // In a group of 0.4 s: 13 packets of the I frame, 5 of each of the nine others.
        let offered = f64::from(13 + 9 * 5) / 0.4;
        let reckoned = video.packets_per_second(&packet).expect("it has a rate") as f64;
        assert!(
            offered <= reckoned && reckoned <= 1.1 * offered,
            "{offered} {reckoned}"
        );
    }
}
