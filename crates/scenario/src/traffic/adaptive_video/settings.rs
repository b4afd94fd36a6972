//! The settings of adaptive video. The names of the parameters in RFC 8593 are in brackets.

use fairwire_cc::EncoderConfig;
use fairwire_units::{Duration, Percent, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Video of an encoder that follows the rate that the transport reports. Frames vary in size and interval, drawn from
/// `video/FLOW`. A frame takes as few packets as possible, all offered at one moment.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveVideo {
    /// The mean number of frames per second (FPS).
    #[schemars(
        range(min = 0.1, max = 1000.0),
        extend("advice" = "the frame rate is 0.1 to 1000 frames per second")
    )]
    pub frames_per_second: f64,
    /// The lowest bitrate of the encoder (`R_min`): frames only, without RTP or lower headers.
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 bit/s",
        "advice" = "a video needs a rate above zero"
    ))]
    pub min_rate: Rate,
    /// The highest bitrate of the encoder (`R_max`).
    pub max_rate: Rate,
    /// The bitrate until the transport reports a rate. The default is `min_rate` (RFC 8867, section 4.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_rate: Option<Rate>,
    /// How long a new target takes to change the bitrate (responsiveness in RFC 8867, section 3). The change is made at
    /// the next frame.
    pub lag: Duration,
    /// For how long after a change of its bitrate the encoder ignores new targets (`tau_v`). This is no lag: the first
    /// new target is followed at once.
    pub reaction: Duration,
    /// A change by more than this part of the bitrate begins a burst (RFC 8593, section 7).
    pub burst_above: Percent,
    /// The number of frames of a burst (`K_d`): an I frame, and smaller frames that make up for its size. With 1 there
    /// are no bursts.
    #[schemars(
        range(min = 1, max = 10_000),
        extend("advice" = "a burst has 1 to 10000 frames; the first is its I frame")
    )]
    pub burst_frames: u32,
    /// The size of the I frame of a burst (`K_B`). It is smaller if the other frames could not make up for it, and not
    /// smaller than an average frame.
    pub burst_size: Size,
    /// The scale of the Laplace distribution of frame intervals, relative to their mean (`SCALE_t`).
    #[schemars(
        range(min = 0.0, max = 1.0),
        extend("advice" = "the scale of a deviation is 0 (none) to 1")
    )]
    pub interval_scale: f64,
    /// The scale of the Laplace distribution of frame sizes, relative to their mean (`SCALE_B`).
    #[schemars(
        range(min = 0.0, max = 1.0),
        extend("advice" = "the scale of a deviation is 0 (none) to 1")
    )]
    pub size_scale: f64,
    /// The part of the reported rate that stays free, for uneven frames and for the headers of RTP and DTLS.
    pub headroom: Percent,
    /// By which part of itself the target rises at most in a second.
    pub rise: Percent,
    /// How long data may wait in the send queue before the target falls ([rates](rates.md)).
    pub queue_allowance: Duration,
    /// How soon a queue that stands longer is to be short again.
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "advice" = "a queue needs time to become short: write it as \"500 ms\""
    ))]
    pub drain_within: Duration,
    /// The times at which the video pauses, in order. It goes on with an I frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Pause>,
}

/// A pause of a video.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The beginning of the pause, from the beginning of the run.
    pub from: Duration,
    /// The end of the pause.
    pub to: Duration,
}

/// The example values of RFC 8593, figure 2, and the rules of `EncoderTarget`.
impl Default for AdaptiveVideo {
    fn default() -> Self {
        let target = EncoderConfig::default();
        Self {
            frames_per_second: 30.0,
            min_rate: Rate::from_bits_per_s(150_000),
            max_rate: Rate::from_bits_per_s(1_500_000),
            start_rate: None,
            lag: Duration::ZERO,
            reaction: Duration::from_millis(200),
            burst_above: Percent::of(0.1),
            burst_frames: 8,
            burst_size: Size::new(13_500),
            interval_scale: 0.15,
            size_scale: 0.15,
            headroom: target.headroom,
            rise: target.rise_per_s,
            queue_allowance: target.queue_allowance.into(),
            drain_within: target.drain_within.into(),
            pauses: Vec::new(),
        }
    }
}

/// The largest mean size of a frame, bytes: a frame is offered at one moment and takes memory.
const LARGEST_MEAN: f64 = 10e6;
/// The largest size of the I frame of a burst, bytes, as for I frames of `video`.
const LARGEST_INTRA: f64 = 100e6;
/// The least size of the frames that make up for an I frame, relative to the mean. RFC 8593 names none; this is that of
/// its reference implementation (section 8).
pub(super) const SMALLEST: f64 = 0.2;

impl AdaptiveVideo {
    /// Returns the first bitrate.
    pub(super) fn start_rate(&self) -> Rate {
        self.start_rate.unwrap_or(self.min_rate)
    }

    /// Returns the mean time from one frame to the next.
    pub(super) fn interval(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.frames_per_second)
    }

    /// Returns the number of frames of a burst; zero if there are no bursts.
    pub(super) fn burst_length(&self) -> u32 {
        if self.burst_frames > 1 {
            self.burst_frames
        } else {
            0
        }
    }

    /// Returns the size of the I frame of a burst, bytes, where an average frame has `mean`. If it were larger, the
    /// other frames could not make up for it. It is not smaller than they are.
    pub(super) fn intra_bytes(&self, mean: f64) -> f64 {
        let frames = f64::from(self.burst_frames);
        let most = mean * (frames - SMALLEST * (frames - 1.0));
        most.min(self.burst_size.bytes() as f64).max(mean)
    }

    /// Returns the settings of what it follows.
    pub(super) fn target(&self) -> EncoderConfig {
        let mut config = EncoderConfig::default();
        config.min = self.min_rate;
        config.max = self.max_rate;
        config.start = self.start_rate();
        config.headroom = self.headroom;
        config.rise_per_s = self.rise;
        config.queue_allowance = self.queue_allowance.into();
        config.drain_within = self.drain_within.into();
        config
    }

    /// Returns the first setting that contradicts another one, with a message.
    pub(super) fn contradiction(&self) -> Option<(&'static str, String)> {
        let (min, max, start) = (self.min_rate, self.max_rate, self.start_rate());
        if max < min {
            let message = format!(
                "max_rate is {max}, which is less than min_rate, {min}: write at least {min}"
            );
            return Some(("max_rate", message));
        }
        if start < min || start > max {
            let message = format!(
                "start_rate is {start}: write a rate from min_rate, {min}, to max_rate, {max}"
            );
            return Some(("start_rate", message));
        }
        let mean = max.bytes_per_s() / self.frames_per_second;
        if mean > LARGEST_MEAN {
            let message = format!(
                "a frame would have {:.0} MB on average, and {:.0} MB are the most: take a lower rate, or more frames \
                 per second",
                mean / 1e6,
                LARGEST_MEAN / 1e6
            );
            return Some(("max_rate", message));
        }
        let intra = self.intra_bytes(mean);
        if intra > LARGEST_INTRA {
            let message = format!(
                "the I frame of a burst would have {:.0} MB, and {:.0} MB are the most: take a smaller burst_size",
                intra / 1e6,
                LARGEST_INTRA / 1e6
            );
            return Some(("burst_size", message));
        }
        self.pause_problem().map(|message| ("pauses", message))
    }

    fn pause_problem(&self) -> Option<String> {
        let mut end = Duration::ZERO;
        for Pause { from, to } in &self.pauses {
            if from >= to || *from < end {
                return Some(format!(
                    "the pauses must be in the order of their times, and each must end after it begins: this one is \
                     from {from} to {to}"
                ));
            }
            end = *to;
        }
        None
    }
}
