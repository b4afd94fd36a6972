//! What TCP reports to an application that adapts: the rate that its data can keep up, and the age of its send queue.
//!
//! The rate is that of a [`TargetEstimator`], as for DCCP. What it needs to know of TCP is the congestion window, the
//! round-trip time, the acknowledged bytes, and whether more could have left.

use std::collections::VecDeque;

use fairwire_cc::{EncoderInput, RoundEnd, TargetEstimator, rfc3390_window};
use fairwire_tcp::{Sender, SenderStats};
use fairwire_units::{Duration, Instant, Rate};

/// The report of one sender.
#[derive(Clone, Debug, Default)]
pub struct Report {
    estimator: TargetEstimator,
    /// The bytes that the application has written.
    written: u64,
    /// What was written and has not been sent entirely: the number of its last byte, and when it was written.
    queue: VecDeque<(u64, Instant)>,
    /// The counters at the last event.
    acked: u64,
    timeouts: u64,
}

impl Report {
    /// Records that the application wrote `bytes` bytes.
    pub fn write(&mut self, now: Instant, bytes: u32) {
        self.written += u64::from(bytes);
        self.queue.push_back((self.written, now));
    }

    /// Records, when nothing may leave or nothing waits, whether a segment more could have left.
    pub fn note_spare(&mut self, sender: &Sender) {
        if sender.unsent() > 0 || self.estimator.knows_spare() {
            return;
        }
        let stats = sender.stats();
        let room = stats.cwnd_packets.unwrap_or(0.0);
        if stats.srtt.is_some() && f64::from(stats.outstanding) < room {
            self.estimator.on_spare();
        }
    }

    /// Follows the sender after a segment has arrived or its timer has expired.
    pub fn follow(&mut self, now: Instant, sender: &Sender) {
        let stats = sender.stats();
        let arrived = stats.bytes_acked.saturating_sub(self.acked);
        // During a timeout no feedback came for longer than a round trip.
        let was_silent = stats.timeouts > self.timeouts;
        (self.acked, self.timeouts) = (stats.bytes_acked, stats.timeouts);
        let Some(rtt) = stats.srtt else {
            return;
        };
        if arrived > 0 {
            self.note_spare(sender);
        }
        let is_over = arrived > 0 && self.estimator.on_arrived(now, arrived, rtt);
        if is_over || was_silent {
            let round = RoundEnd {
                rtt,
                allowed: allowed(sender, &stats, rtt),
                initial_window: initial_window(sender),
                is_peer_slow: false,
            };
            self.estimator.end_round(now, &round);
        }
    }

    /// Returns the report. Segments that were sent again count as lost.
    pub fn input(&mut self, now: Instant, sender: &Sender) -> EncoderInput {
        let sent = self.written.saturating_sub(sender.unsent());
        while self.queue.front().is_some_and(|(last, _)| *last <= sent) {
            self.queue.pop_front();
        }
        let age = self.queue.front().map(|(_, at)| now.saturating_since(*at));
        let stats = sender.stats();
        EncoderInput {
            rate: self.rate(sender, &stats),
            queue_age: age.unwrap_or_default().into(),
            sent: stats.segments_sent,
            lost: stats.segments_retransmitted,
            expired: 0,
        }
    }

    /// Returns the target; before anything has arrived, an initial window in a round, unless less is allowed.
    fn rate(&self, sender: &Sender, stats: &SenderStats) -> Option<Rate> {
        if let Some(target) = self.estimator.target() {
            return Some(target.rate);
        }
        let rtt = stats.srtt?;
        let free = initial_window(sender) / TargetEstimator::round(rtt).as_secs_f64();
        let rate = allowed(sender, stats, rtt).min(free);
        Some(Rate::from_bytes_per_s(rate))
    }
}

/// Returns the congestion window over the round-trip time, bytes per second.
fn allowed(sender: &Sender, stats: &SenderStats, rtt: Duration) -> f64 {
    let window = stats.cwnd_packets.unwrap_or(0.0) * f64::from(sender.mss());
    window / rtt.as_secs_f64()
}

/// Returns the initial window of RFC 3390, bytes.
fn initial_window(sender: &Sender) -> f64 {
    let size = sender.mss();
    rfc3390_window(size) * f64::from(size)
}
