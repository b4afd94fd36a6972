//! The bitrate that the application can follow: when its estimator learns something, and when the application does.

use fairwire_cc::{RoundEnd, TargetBitrate, TargetEstimator, rfc3390_window};
use fairwire_units::{Instant, Rate};

use super::{Call, Subflow};
use crate::connection::channel::Channel;
use crate::event::Event;

impl Subflow {
    /// Records, after a data packet has left, whether another one could have left too.
    #[inline]
    pub(super) fn note_spare(&mut self, channel: &Channel, now: Instant) {
        let waits = !channel.queue.is_empty() && channel.cap.holds_until(now).is_none();
        if !waits && !self.target.estimator.knows_spare() && self.has_spare(now) {
            self.target.estimator.on_spare();
        }
    }

    /// Returns whether the controller would let more data leave without feedback.
    fn has_spare(&self, now: Instant) -> bool {
        self.tx.as_ref().is_some_and(|tx| tx.has_room(now))
    }

    /// Takes feedback by which `bytes` of our data are newly known to have arrived.
    #[inline]
    pub(super) fn follow_arrivals(&mut self, call: &mut Call<'_, '_>, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.note_spare(call.channel, call.now);
        let rtt = self.rtt();
        if self.target.estimator.on_arrived(call.now, bytes, rtt) {
            self.end_round(call);
        }
    }

    /// Takes a timeout with data in flight: no feedback came for longer than a round trip.
    pub(super) fn follow_silence(&mut self, call: &mut Call<'_, '_>) {
        self.note_spare(call.channel, call.now);
        self.end_round(call);
    }

    fn end_round(&mut self, call: &mut Call<'_, '_>) {
        let Some(round) = self.round_end(call.channel, call.now) else {
            return;
        };
        self.target.estimator.end_round(call.now, &round);
        let is_known = call.channel.is_announced();
        if !self.target.is_told && is_known && self.has_target_changed(call.channel) {
            self.target.is_told = true;
            call.emit(Event::TargetBitrate);
        }
    }

    fn round_end(&self, channel: &Channel, now: Instant) -> Option<RoundEnd> {
        Some(RoundEnd {
            rtt: self.rtt(),
            allowed: self.allowed_rate(channel)?.bytes_per_s(),
            initial_window: self.initial_window(channel),
            is_peer_slow: self.is_receiver_slow(now),
        })
    }

    /// Returns the initial window of RFC 3390 with the largest datagrams, bytes.
    fn initial_window(&self, channel: &Channel) -> f64 {
        let size = u32::try_from(channel.max_datagram(self)).unwrap_or(u32::MAX);
        rfc3390_window(size) * f64::from(size)
    }

    fn has_target_changed(&self, channel: &Channel) -> bool {
        let target = self.target_bitrate(channel);
        target.is_some_and(|now| self.target.taken.is_none_or(|taken| now.has_left(&taken)))
    }

    /// Returns the target; before anything has arrived, an initial window in a round, unless less is allowed.
    pub(crate) fn target_bitrate(&self, channel: &Channel) -> Option<TargetBitrate> {
        let target = self.target.estimator.target().or_else(|| {
            let round = TargetEstimator::round(self.rtt());
            let free = self.initial_window(channel) / round.as_secs_f64();
            let rate = self
                .allowed_rate(channel)?
                .min(Rate::from_bytes_per_s(free));
            Some(TargetBitrate {
                rate,
                ..TargetBitrate::default()
            })
        })?;
        let rate = channel
            .cap
            .rate()
            .map_or(target.rate, |cap| target.rate.min(cap));
        Some(TargetBitrate { rate, ..target })
    }

    /// Takes the target, if it has changed since it was last taken.
    pub(crate) fn take_target_change(&mut self, channel: &Channel) -> Option<TargetBitrate> {
        self.target.is_told = false;
        if !self.has_target_changed(channel) {
            return None;
        }
        self.target.taken = self.target_bitrate(channel);
        self.target.taken
    }
}
