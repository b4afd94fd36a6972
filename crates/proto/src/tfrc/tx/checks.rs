//! Checks of a receiver's reports against what the sender knows (RFC 4342, section 9; RFC 5348, section 10).
//!
//! A receiver that wants more than its share can report a higher receive rate than what was sent, a shorter round trip,
//! or no losses. The first two contradict what the sender knows, and the sender reduces them to what is possible.
//! Hidden losses are found by skipping a sequence number now and then. The receiver cannot know which numbers are
//! skipped, so one that hides losses will sooner or later claim to have received a packet that was never sent.

mod holes;
mod rtt;
mod sent_rate;

#[cfg(test)]
mod tests;

use fairwire_cc::tfrc::Equation;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use self::holes::{Holes, Piece};
use self::rtt::RttChecks;
use self::sent_rate::SentRate;
use super::report::Intervals;
use crate::suspicion::Suspicion;

const COUNTED: usize = fairwire_cc::tfrc::INTERVALS + 1;
/// Round trips between two skipped numbers. An honest receiver takes two within one round trip as one loss event, and
/// cannot tell a skipped number from a real loss.
const HOLES_APART: u64 = 4;
/// Packets per round trip below which no number is skipped. A receiver that lies to get a higher rate soon exceeds it.
const MIN_PER_RTT: f64 = 2.0;
/// Factor by which the interval before the first loss event may exceed our own value. The interval grows with the
/// square of the rate and of the round-trip time, and the receiver estimates both in its own way.
const FIRST_INTERVAL_SLACK: f64 = 4.0;
/// The largest value of the Lossless Length field; the real length may be larger.
const SATURATED: u32 = (1 << 24) - 1;
/// Packets that a report may leave out of every interval (RFC 4342, section 8.6.1).
const MAX_SKIP: u8 = 3;
/// Distances beyond this are treated as being from long ago.
const LONG_AGO: u64 = 1 << 46;

/// The state of the checks on one receiver's reports.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    /// The first packet that reports can refer to.
    first: Option<Seq>,
    /// The packet with which the loss history was last restarted.
    restart: Option<Seq>,
    /// Where the receiver's first interval begins.
    first_start: Option<Seq>,
    /// When the last packet left, and when the next number may be skipped.
    sent_at: Instant,
    next_hole: Instant,
    sent: SentRate,
    rtt: RttChecks,
    holes: Holes,
    suspicion: Suspicion,
    /// Whether the peer sends Loss Intervals.
    sends_intervals: bool,
    /// The largest receive rate believed so far, bytes per second.
    largest_rate: f64,
    /// The length that the interval before the first loss event counts as, once there was an event.
    first_interval: Option<u32>,
}

/// The result of checking one report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// The intervals to use.
    pub intervals: Intervals,
    /// The packet with which the loss history restarts, as if it were lost.
    pub restart: Option<Seq>,
}

/// The inputs of the throughput equation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub equation: Equation,
    /// The segment size, bytes.
    pub size: f64,
    pub rtt: Duration,
}

impl Measure {
    /// Returns the loss interval, in packets, at which the equation gives this rate.
    pub(super) fn interval(&self, rate_bytes_per_s: f64) -> f64 {
        1.0 / self
            .equation
            .loss_rate(self.size, self.rtt, rate_bytes_per_s)
    }
}

impl Checks {
    pub(super) fn new() -> Self {
        Self {
            first: None,
            restart: None,
            first_start: None,
            sent_at: Instant::START,
            next_hole: Instant::START,
            sent: SentRate::new(),
            rtt: RttChecks::default(),
            holes: Holes::default(),
            suspicion: Suspicion::default(),
            sends_intervals: false,
            largest_rate: 0.0,
            first_interval: None,
        }
    }

    /// Records that packet `seq` leaves, with `data` bytes if it is a data packet.
    pub(super) fn on_sent(&mut self, now: Instant, seq: Seq, data: Option<u32>, rtt: Duration) {
        self.first.get_or_insert(seq);
        self.sent_at = now;
        self.suspicion.on_sent();
        self.holes.on_sent(now);
        if let Some(bytes) = data {
            self.sent.on_data(now, bytes, rtt);
        }
    }

    /// Records that the number `seq` is skipped; the round-trip time is `rtt`.
    pub(super) fn on_skipped(&mut self, now: Instant, seq: Seq, rtt: Duration) {
        self.first.get_or_insert(seq);
        self.holes.push(seq);
        self.next_hole = now + rtt * HOLES_APART;
    }

    /// Returns how many of 65,536 sequence numbers should be skipped.
    pub(super) fn skips_of_65536(&self, packets_per_rtt: f64) -> u32 {
        // RFC 4342, 9: Loss Intervals show how the receiver reports a skipped number. A Loss Event Rate would only show
        // a loss that did not happen.
        let is_possible =
            self.sends_intervals && !self.holes.is_open() && self.sent_at >= self.next_hole;
        // At a low rate, the time lost by not sending a packet is long.
        if is_possible && packets_per_rtt >= MIN_PER_RTT {
            // A new proof would show whether the path has become shorter.
            self.suspicion.skips_of_65536(self.rtt.needs_proof())
        } else {
            0
        }
    }

    /// Returns whether the peer has lied so often that the connection should end.
    pub(super) fn is_aggression(&self) -> bool {
        self.suspicion.is_aggression()
    }

    /// Returns whether the peer has sent Loss Intervals. If so, it has no reason to leave them out.
    pub(super) fn sends_intervals(&self) -> bool {
        self.sends_intervals
    }

    pub(super) fn rtt_checks(&mut self) -> &mut RttChecks {
        &mut self.rtt
    }

    /// Returns the receive rate to believe of a report on a packet that left at `left`.
    pub(super) fn receive_rate(&mut self, reported: f64, left: Instant, rtt: Duration) -> f64 {
        // RFC 5348, 4.2, 6.2 and 10: a receiver cannot receive more than was sent.
        let rate = reported.min(self.sent.largest(left, rtt));
        self.largest_rate = self.largest_rate.max(rate);
        rate
    }

    /// Handles an acknowledgement of packet `ackno`. If that packet was never sent, returns it as the one with which
    /// the loss history restarts.
    pub(super) fn on_ack(&mut self, ackno: Seq) -> Option<Seq> {
        if !self.holes.on_ack(ackno) {
            return None;
        }
        self.suspicion.on_lie();
        self.restart = Some(ackno);
        Some(ackno)
    }

    /// Checks a report that acknowledges packet `ackno`.
    pub(super) fn check(
        &mut self,
        now: Instant,
        ackno: Seq,
        reported: &Intervals,
        measure: Measure,
    ) -> Checked {
        self.sends_intervals = true;
        let (pieces, len) = self.clamp(ackno, reported);
        let verdict = self.holes.judge(now, &pieces[..len]);
        if verdict.truth {
            self.suspicion.on_truth();
        }
        if let Some(proof) = verdict.proof {
            self.rtt.on_proof(proof);
        }
        let mut restart = self.receiver_restart(reported, &pieces[..len]);
        if let Some(lie) = verdict.lie {
            self.suspicion.on_lie();
            restart = Some(lie);
        }
        if restart.is_some() {
            self.restart = restart;
        }
        let (pieces, len) = self.since_restart(&pieces[..len]);
        let mut intervals = self.holes.without(reported.skip, &pieces[..len]);
        self.bound_first_interval(now, &mut intervals, measure);
        Checked { intervals, restart }
    }

    /// Returns the intervals with the numbers that they begin with, together no longer than what was sent.
    fn clamp(&self, ackno: Seq, reported: &Intervals) -> ([Piece; COUNTED], usize) {
        let mut pieces = [Piece::NONE; COUNTED];
        let mut len = 0;
        let mut end = ackno.next().sub(u64::from(reported.skip));
        let first = self.first.filter(|first| first.distance(end) < LONG_AGO);
        for (i, &interval) in reported.as_slice().iter().enumerate() {
            let mut interval = interval;
            if let Some(first) = first {
                // RFC 4342, 6.1: both lengths together are the packets sent in the interval.
                let most = first.distance(end);
                let most = u32::try_from(most).unwrap_or(u32::MAX);
                interval.loss_length = interval.loss_length.min(most);
                interval.lossless_length =
                    interval.lossless_length.min(most - interval.loss_length);
            }
            let start = end.sub(length(&interval));
            pieces[len] = Piece {
                start,
                interval,
                drops: reported.drops(i).min(interval.loss_length),
            };
            len += 1;
            if first == Some(start) {
                break;
            }
            end = start;
        }
        (pieces, len)
    }

    /// Returns where the receiver restarted its loss history, if it did. It then knows of no earlier loss, and a
    /// receiver that could do so at will would hide losses. At best it is a new path (RFC 4340, section 10.5), so the
    /// sender restarts its history too.
    fn receiver_restart(&mut self, reported: &Intervals, pieces: &[Piece]) -> Option<Seq> {
        let oldest = pieces.last()?;
        // RFC 4342, 6.1: only the first interval begins without a loss.
        let is_first = oldest.interval.loss_length == 0;
        let saturated = reported
            .as_slice()
            .iter()
            .any(|interval| interval.lossless_length >= SATURATED);
        if !is_first || saturated {
            return None;
        }
        let before = *self.first_start.get_or_insert(oldest.start);
        // A packet of a type that is not acknowledged may move the start by a few numbers.
        let moved = oldest.start.is_after(before.add(u64::from(MAX_SKIP)));
        let anew = moved
            && self
                .restart
                .is_none_or(|restart| oldest.start.is_after(restart));
        if anew {
            self.first_start = Some(oldest.start);
            self.first_interval = None;
        }
        anew.then_some(oldest.start)
    }

    /// Returns the intervals since the history was restarted. The interval that contains the restart is cut to begin
    /// there.
    fn since_restart(&self, pieces: &[Piece]) -> ([Piece; COUNTED], usize) {
        let mut kept = [Piece::NONE; COUNTED];
        let mut len = 0;
        let end = pieces.first().map_or(Seq::ZERO, Piece::end);
        let restart = self
            .restart
            .filter(|&restart| end.delta(restart).unsigned_abs() < LONG_AGO);
        for &piece in pieces {
            let Some(restart) = restart.filter(|restart| !piece.start.is_after(*restart)) else {
                kept[len] = piece;
                len += 1;
                continue;
            };
            if len == 0 || piece.end().is_after(restart) {
                // The packet of the restart may not have been acknowledged yet.
                let packets = piece.end().delta(restart).max(1);
                let packets = u32::try_from(packets).unwrap_or(u32::MAX);
                kept[len] = Piece {
                    start: restart,
                    interval: LossInterval {
                        lossless_length: packets - 1,
                        ecn_nonce: false,
                        loss_length: 1,
                        data_length: if piece.interval.loss_length == 0 {
                            packets
                        } else {
                            piece.interval.data_length.min(packets)
                        },
                    },
                    drops: 1,
                };
                len += 1;
            }
            break;
        }
        (kept, len)
    }

    /// Limits the length of the interval before the first loss event. RFC 4342, 6.1.1: that length depends not on what
    /// was sent but on the rate that was reached (RFC 5348, 6.3.1).
    fn bound_first_interval(&mut self, now: Instant, intervals: &mut Intervals, measure: Measure) {
        let all = intervals.as_slice();
        let Some((oldest, others)) = all.split_last() else {
            return;
        };
        if oldest.loss_length > 0 || others.is_empty() {
            return;
        }
        let reported = oldest.data_length;
        // If the receiver took a skipped number for its first loss, it reported the rate of that moment. The rate
        // reached since then is known to us.
        let first_interval = *self.first_interval.get_or_insert_with(|| {
            // RFC 5348, 6.3: the first report gives no rate.
            let rate = if self.largest_rate > 0.0 {
                self.largest_rate
            } else {
                self.sent.largest(now, measure.rtt)
            };
            let ours = measure.interval(rate.max(1.0));
            let least = if self.holes.any() { ours } else { 1.0 };
            let most = ours * FIRST_INTERVAL_SLACK;
            rounded(f64::from(reported).max(least).min(most))
        });
        intervals.set_oldest_data_length(first_interval);
    }
}

impl Piece {
    const NONE: Self = Self {
        start: Seq::ZERO,
        interval: LossInterval {
            lossless_length: 0,
            ecn_nonce: false,
            loss_length: 0,
            data_length: 0,
        },
        drops: 0,
    };

    /// Returns the number after its last packet.
    fn end(&self) -> Seq {
        self.start.add(length(&self.interval))
    }
}

fn length(interval: &LossInterval) -> u64 {
    u64::from(interval.lossless_length) + u64::from(interval.loss_length)
}

/// Rounds to the nearest whole number, at least one.
fn rounded(number: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and NaN becomes zero"
    )]
    let word = (number + 0.5) as u32;
    word.max(1)
}
