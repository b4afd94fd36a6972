//! The running encoder: which frames it makes, and when.

use std::collections::VecDeque;

use fairwire_cc::{EncoderInput, EncoderTarget};
use fairwire_net::Stream;
use fairwire_units::{Duration, Instant};

use super::super::model::PacketShape;
use super::super::source::{Offer, Source, When};
use super::settings::{AdaptiveVideo, SMALLEST};

/// The largest deviation from the mean, as a part of it, so that the mean is kept and intervals do not vanish.
const LARGEST_DEVIATION: f64 = 0.99;
/// A source that sends frame after frame, each split into packets.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    of: AdaptiveVideo,
    packet: PacketShape,
    stream: Stream,
    target: EncoderTarget,
    /// The targets on their way to the encoder, bits per second, and when they take effect.
    requests: VecDeque<(Instant, f64)>,
    /// The last target that took effect, bits per second.
    wanted: f64,
    /// The bitrate of the encoder (`R_v`), bits per second.
    rate: f64,
    /// The time until which it ignores new targets.
    ignores_until: Instant,
    /// The frames of the burst that are left, the current one included; zero outside of bursts.
    burst_left: u32,
    /// The size of the burst's I frame, bytes.
    burst_bytes: f64,
    /// By which part of the mean the size of the current frame deviates from it, outside of bursts.
    deviation: f64,
    /// The time of the current frame.
    at: Instant,
    /// The number of the frame.
    number: u64,
    /// The bytes of the frame that are still to be offered, at least one.
    left: u64,
}

impl Encoder {
    pub(super) fn new(of: &AdaptiveVideo, packet: PacketShape, stream: Stream) -> Self {
        let rate = of.start_rate().bits_per_s() as f64;
        Self {
            of: of.clone(),
            packet,
            stream,
            target: EncoderTarget::new(of.target()),
            requests: VecDeque::new(),
            wanted: rate,
            rate,
            ignores_until: Instant::START,
            burst_left: of.burst_length(),
            burst_bytes: 0.0,
            deviation: 0.0,
            at: Instant::START,
            number: 0,
            left: 1,
        }
    }

    /// Draws a deviation from a Laplace distribution with this scale: an exponential magnitude with a random sign.
    fn laplace(&mut self, scale: f64) -> f64 {
        // 1 - u is in (0, 1], where the logarithm is finite.
        let magnitude = -scale * libm::log(1.0 - self.stream.uniform());
        let magnitude = magnitude.min(LARGEST_DEVIATION);
        if self.stream.bool(0.5) {
            magnitude
        } else {
            -magnitude
        }
    }

    /// Draws what is random in the frame that begins at `at`.
    fn begin_frame(&mut self, at: Instant) {
        self.at = at;
        self.deviation = self.laplace(self.of.size_scale);
        self.encode();
    }

    /// Computes the size of the frame from the bitrate (RFC 8593, sections 5.2 and 5.3).
    fn encode(&mut self) {
        let mean = self.rate / 8.0 / self.of.frames_per_second;
        let frames = f64::from(self.of.burst_frames);
        let bytes = match self.burst_left {
            0 => mean * (1.0 + self.deviation),
            left if left == self.of.burst_frames => {
                self.burst_bytes = self.of.intra_bytes(mean);
                self.burst_bytes
            }
            _ => {
                let share = (frames * mean - self.burst_bytes) / (frames - 1.0);
                share.max(SMALLEST * mean)
            }
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are not below zero, and the cast saturates"
        )]
        let bytes = (bytes + 0.5) as u64;
        self.left = bytes.max(1);
    }

    /// Begins a burst, unless one goes on: its smaller frames are still to make up for its I frame.
    fn burst(&mut self) {
        if self.burst_left == 0 {
            self.burst_left = self.of.burst_length();
        }
    }

    /// Goes on to the next frame.
    fn next_frame(&mut self) {
        let interval = self.of.interval();
        let deviation = self.laplace(self.of.interval_scale);
        let mut at = self.at + interval.mul_f64(1.0 + deviation);
        self.number += 1;
        self.burst_left = self.burst_left.saturating_sub(1);
        let resumed = self.after_pauses(at);
        if resumed != at {
            at = resumed;
            self.burst_left = self.of.burst_length();
        }
        self.begin_frame(at);
    }

    /// Returns the first time from `at` on that is in no pause. One pause may begin at the end of another; they are in
    /// the order of their times.
    fn after_pauses(&self, at: Instant) -> Instant {
        let mut time = at.saturating_since(Instant::START);
        for pause in &self.of.pauses {
            if pause.from <= time && time < pause.to {
                time = pause.to;
            }
        }
        Instant::START + time
    }

    /// Sends a target to the encoder, and returns the last one that has reached it: each takes `lag`.
    fn request(&mut self, now: Instant, target: f64) -> f64 {
        self.requests.push_back((now + self.of.lag, target));
        while let Some(&(due, wanted)) = self.requests.front() {
            if due > now {
                break;
            }
            self.wanted = wanted;
            self.requests.pop_front();
        }
        self.wanted
    }
}

impl Source for Encoder {
    fn begin(&mut self, at: Instant) {
        let at = self.after_pauses(at);
        self.begin_frame(at);
    }

    fn next(&self) -> Option<Offer> {
        let media = self.packet.media();
        let bytes = u32::try_from(self.left).map_or(media, |left| left.min(media));
        Some(Offer {
            frame: Some(self.number),
            // The frames of a burst refer to its I frame.
            priority: i8::from(self.burst_left == self.of.burst_frames),
            ..Offer::new(When::At(self.at), bytes + self.packet.rtp)
        })
    }

    fn advance(&mut self) {
        let media = self.packet.media().max(1);
        self.left = self.left.saturating_sub(u64::from(media));
        if self.left == 0 {
            self.next_frame();
        }
    }

    fn adapts(&self) -> bool {
        true
    }

    /// Takes the report before the frame that is due. The target that is made from it reaches the encoder after `lag`
    /// (RFC 8867, section 3). The encoder reacts to a new target unless its last reaction was less than `reaction` ago
    /// (RFC 8593, section 5.1).
    fn adapt(&mut self, now: Instant, input: &EncoderInput) {
        let time: Duration = now.saturating_since(Instant::START);
        let target = self.target.update(time.into(), *input).bits_per_s() as f64;
        let wanted = self.request(now, target);
        #[expect(
            clippy::float_cmp,
            reason = "whole numbers; an equal target is no new one"
        )]
        let is_new = wanted != self.rate;
        if !is_new || now < self.ignores_until {
            return;
        }
        if (wanted - self.rate).abs() > self.of.burst_above.fraction() * self.rate {
            self.burst();
        }
        self.rate = wanted;
        self.ignores_until = now + self.of.reaction;
        self.encode();
    }
}
