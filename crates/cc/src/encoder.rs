//! The bitrate of a live encoder, from what its transport reports.
//!
//! An [`EncoderTarget`] knows no transport: it takes a rate, an age and three counters. It reads no clock and draws no
//! random numbers, so the same input gives the same bitrates, in a simulator and on sockets.
//!
//! The rules, in the order in which they apply at each [`update`](EncoderTarget::update):
//!
//! 1. **Share.** The rate that the transport reports, less the headroom, less what is reserved for other data. A video
//!    encoder misses its bitrate by some per cent, and a rate that is used up to the last bit leaves no way to shorten
//!    a queue. (RFC 8836, section 2, asks for low delay first.)
//! 2. **Expiry.** Datagrams that expired in the queue were encoded for nothing. The bitrate is reduced by their share
//!    and does not rise for `drain_within`.
//! 3. **Loss.** Losses are counted over intervals of a second. Above 10 % the bitrate falls by half of the lost share;
//!    above 2 % it does not rise in the next interval. (These are the bounds of draft-ietf-rmcat-gcc-02, section 6.)
//!    The transport has already reacted to the losses; this rule only keeps an encoder from filling a path on which
//!    much is lost.
//! 4. **Rise.** The bitrate rises by at most `rise_per_s` of itself in a second. It falls at once. An interval between
//!    two updates counts as at most a second, so the bitrate does not jump after a pause. While the transport reports no
//!    rate it does not rise.
//! 5. **Queue.** Data that has waited longer than the allowance is a standing queue. With `excess` for the time beyond
//!    the allowance, the bitrate is reduced by the part `excess / drain_within`. The reduction stays until the excess
//!    is gone and grows if the queue does, so the queue is short again within `drain_within` if the transport keeps its
//!    rate. It then ends at once: rules 2 to 4 do not see it. RFC 8298, section 4.1.3, and RFC 8698, section 5.2.2,
//!    also lower the encoder's rate by what waits to be sent.
//! 6. **Range.** It stays between `min` and `max`.

#[cfg(test)]
mod tests;

use std::time::Duration;

use fairwire_units::{Percent, Rate};

/// The longest interval between two updates that counts for the rise.
const LONGEST_RISE: Duration = Duration::from_secs(1);
/// The interval over which losses are counted.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);
/// Below this share of losses the bitrate may rise.
const FEW_LOSSES: f64 = 0.02;
/// Above this share of losses the bitrate falls.
const MANY_LOSSES: f64 = 0.10;

/// The settings of an [`EncoderTarget`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncoderConfig {
    /// The lowest bitrate that is useful.
    pub min: Rate,
    /// The highest bitrate that is useful. If it is less than `min`, `min` applies.
    pub max: Rate,
    /// The bitrate before anything is known, and the highest at the first update.
    pub start: Rate,
    /// What other data on the same connection needs, such as audio.
    pub reserved: Rate,
    /// The part of the transport's rate that stays free, for uneven frames and forward error correction.
    pub headroom: Percent,
    /// How long data may wait in the send queue without a reaction.
    pub queue_allowance: Duration,
    /// How soon a standing queue is to be short again.
    pub drain_within: Duration,
    /// By which part of itself the bitrate rises at most in a second.
    pub rise_per_s: Percent,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            min: Rate::from_bits_per_s(100_000),
            max: Rate::from_bits_per_s(8_000_000),
            start: Rate::from_bits_per_s(500_000),
            reserved: Rate::ZERO,
            headroom: Percent::of(0.1),
            queue_allowance: Duration::from_millis(30),
            drain_within: Duration::from_millis(500),
            rise_per_s: Percent::of(0.2),
        }
    }
}

/// What a transport reports to an [`EncoderTarget`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct EncoderInput {
    /// The rate that the application's data can keep up, if it is known. Without it the bitrate does not rise.
    pub rate: Option<Rate>,
    /// How long the oldest data has waited to be sent; zero if none waits. Take it before the next frame is queued:
    /// what waits then is what earlier frames left behind.
    pub queue_age: Duration,
    /// Datagrams or packets sent so far.
    pub sent: u64,
    /// Those of them that are known to be lost.
    pub lost: u64,
    /// Datagrams that expired in the send queue so far.
    pub expired: u64,
}

/// The bitrate for a live encoder.
#[derive(Clone, Debug)]
pub struct EncoderTarget {
    config: EncoderConfig,
    /// The bitrate without the reduction for a standing queue, bits per second.
    base: f64,
    /// Bits per second.
    bitrate: f64,
    /// The time and the counters at the last update.
    last: Option<(Duration, EncoderInput)>,
    /// By which part of itself the share is reduced, until no queue stands.
    drain: f64,
    /// Since when losses are counted, and the counters then.
    losses_since: Option<(Duration, EncoderInput)>,
    /// Until when the bitrate does not rise.
    held_until: Duration,
}

impl EncoderTarget {
    /// Creates a target that starts at `config.start`, limited to the range.
    pub fn new(config: EncoderConfig) -> Self {
        let mut target = Self {
            config,
            base: 0.0,
            bitrate: 0.0,
            last: None,
            drain: 0.0,
            losses_since: None,
            held_until: Duration::ZERO,
        };
        target.base = target.in_range(bits(config.start));
        target.bitrate = target.base;
        target
    }

    /// Returns the bitrate for the encoder.
    pub fn bitrate(&self) -> Rate {
        Rate::from_bytes_per_s(self.bitrate / 8.0)
    }

    /// Takes a report and returns the new bitrate.
    ///
    /// `now` is the time since any fixed moment. It may be called before each frame, or when the transport's rate
    /// changed. The counters are totals; those that fall count as unchanged.
    pub fn update(&mut self, now: Duration, input: EncoderInput) -> Rate {
        let (then, before) = self.last.unwrap_or((now, input));
        self.last = Some((now, input));
        let mut most = self.base * (1.0 - expired_share(&before, &input));
        if input.expired > before.expired {
            self.held_until = now.saturating_add(self.config.drain_within);
        }
        most *= 1.0 - self.loss_cut(now, &input);
        if now >= self.held_until && input.rate.is_some() {
            let seconds = now.saturating_sub(then).min(LONGEST_RISE).as_secs_f64();
            most += self.base * self.config.rise_per_s.fraction() * seconds;
        }
        self.drain = self.drain_of(input.queue_age);
        let left = 1.0 - self.drain;
        self.base = self.in_range(most.min(self.share(&input, 1.0)));
        self.bitrate = self.in_range((self.base * left).min(self.share(&input, left)));
        self.bitrate()
    }

    /// Returns the encoder's share if only the part `left` of the rate may be used.
    fn share(&self, input: &EncoderInput, left: f64) -> f64 {
        let Some(rate) = input.rate else {
            return f64::INFINITY;
        };
        let usable = bits(rate) * (1.0 - self.config.headroom.fraction()) * left;
        usable - bits(self.config.reserved)
    }

    /// Returns by which part the bitrate is reduced if data has waited for `age`.
    fn drain_of(&self, age: Duration) -> f64 {
        let excess = age.saturating_sub(self.config.queue_allowance);
        if excess.is_zero() {
            return 0.0;
        }
        let part = excess.as_secs_f64() / self.config.drain_within.as_secs_f64();
        self.drain.max(part.min(1.0))
    }

    /// Returns by which part the bitrate falls because of losses, once in each interval.
    fn loss_cut(&mut self, now: Duration, input: &EncoderInput) -> f64 {
        let (since, before) = *self.losses_since.get_or_insert((now, *input));
        if now.saturating_sub(since) < LOSS_INTERVAL {
            return 0.0;
        }
        self.losses_since = Some((now, *input));
        let sent = input.sent.saturating_sub(before.sent);
        let lost = part(input.lost.saturating_sub(before.lost), sent);
        if lost > FEW_LOSSES {
            self.held_until = self.held_until.max(now.saturating_add(LOSS_INTERVAL));
        }
        if lost > MANY_LOSSES { lost / 2.0 } else { 0.0 }
    }

    fn in_range(&self, bits_per_s: f64) -> f64 {
        let (min, max) = (self.config.min, self.config.max);
        bits_per_s.min(bits(max)).max(bits(min))
    }
}

fn bits(rate: Rate) -> f64 {
    rate.bits_per_s() as f64
}

/// Returns the part of the datagrams since `before` that expired instead of being sent.
fn expired_share(before: &EncoderInput, now: &EncoderInput) -> f64 {
    let expired = now.expired.saturating_sub(before.expired);
    let sent = now.sent.saturating_sub(before.sent);
    part(expired, sent.saturating_add(expired))
}

/// Returns `some / all`, from 0.0 to 1.0; zero if there are none.
fn part(some: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    (some as f64 / all as f64).min(1.0)
}
