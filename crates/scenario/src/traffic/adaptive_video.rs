//! Video of an encoder that adapts its bitrate to the transport: the statistical model of RFC 8593, section 5
//! (docs/models/adaptive-video.md).

mod encoder;
mod settings;

use std::sync::Arc;

use fairwire_units::registry::Kind;

use self::encoder::Encoder;
use super::model::{FlowContext, PacketShape, TrafficModel};
use super::pace;
use super::source::Source;

pub use self::settings::{AdaptiveVideo, Pause};

impl TrafficModel for AdaptiveVideo {
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        Box::new(Encoder::new(self, flow.packet, flow.stream("video")))
    }

    /// Assumes the highest bitrate.
    fn packets_per_second(&self, packet: &PacketShape) -> Option<u64> {
        let (rate, frames) = (self.max_rate, self.frames_per_second);
        Some(pace::packets_per_second_of_frames(rate, frames, packet))
    }

    fn has_frames(&self) -> bool {
        true
    }

    fn is_random(&self) -> bool {
        self.interval_scale > 0.0 || self.size_scale > 0.0
    }

    fn problem(&self, packet: &PacketShape) -> Option<(&'static str, String)> {
        if packet.codec_frame.is_some() {
            let message =
                "a speech codec makes no video: take 'codec' away, and write the largest packet";
            return Some(("kind", message.to_owned()));
        }
        self.contradiction()
    }
}

/// Returns the kind for the registry.
pub(super) fn kind() -> Kind<dyn TrafficModel> {
    let meaning = "Frames of an encoder that adapts its bitrate to the transport (RFC 8593).";
    let kind: Kind<dyn TrafficModel> = Kind::new("adaptive-video", meaning);
    kind.settings(|settings: AdaptiveVideo| Arc::new(settings))
}
