//! What a receiver cannot have seen, and whether it claims to (RFC 4342, section 9; RFC 5348, section
//! 10).
//!
//! A receiver that wants more than its share says that more came than was sent, that the round trip
//! is shorter than it is, or that nothing was lost. The first two contradict what the sender knows,
//! and are cut to it. The third does so only where a number was passed over: which ones, nobody can
//! tell beforehand, so who hides losses claims sooner or later to have received what was never sent.

mod holes;
mod sent_rate;
mod trips;

#[cfg(test)]
mod tests;

use fairwire_cc::tfrc::Equation;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{LossInterval, Seq};

use self::holes::{Holes, Piece};
use self::sent_rate::SentRate;
use self::trips::Trips;
use super::report::Intervals;
use crate::suspicion::Suspicion;

const COUNTED: usize = fairwire_cc::tfrc::INTERVALS + 1;
/// Round trips between two numbers that are passed over. Two within one round trip are one loss event to an
/// honest receiver, and could not be told from a real one.
const HOLES_APART: u64 = 4;
/// Packets per round trip below which none is passed over. Who lies to get more soon gets more than so
/// many.
const MIN_PER_RTT: f64 = 2.0;
/// What the interval before the first loss event may exceed ours by: it goes with the square of the rate
/// and the round trip, and the receiver has its own measures of both.
const SEED_SLACK: f64 = 4.0;
/// A lossless length that may stand for a longer one: the field's largest.
const SATURATED: u32 = (1 << 24) - 1;
/// Packets that a report may leave out of every interval (RFC 4342, section 8.6.1).
const MAX_SKIP: u8 = 3;
/// Distances on the circle beyond this are from long ago.
const LONG_AGO: u64 = 1 << 46;

/// What is held against the reports of one receiver.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    /// The first packet that reports can be about.
    first: Option<Seq>,
    /// The loss history begins with this packet anew.
    void: Option<Seq>,
    /// Where the receiver's first interval begins.
    first_start: Option<Seq>,
    /// When the last packet left, and from when on a number may be passed over again.
    sent_at: Instant,
    next_hole: Instant,
    sent: SentRate,
    trips: Trips,
    holes: Holes,
    suspicion: Suspicion,
    /// Does the peer send Loss Intervals?
    tells_intervals: bool,
    /// The largest receive rate believed so far, bytes per second.
    largest_rate: f64,
    /// What the interval before the first loss event counts as, once there was one.
    seed: Option<u32>,
}

/// What a report comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// The intervals to go by.
    pub intervals: Intervals,
    /// The loss history ends here and begins anew with a loss of this packet.
    pub void: Option<Seq>,
}

/// How the throughput equation is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    pub equation: Equation,
    /// The segment size, bytes.
    pub size: f64,
    pub rtt: Duration,
}

impl Measure {
    /// The loss interval that stands for a rate.
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
            void: None,
            first_start: None,
            sent_at: Instant::START,
            next_hole: Instant::START,
            sent: SentRate::new(),
            trips: Trips::default(),
            holes: Holes::default(),
            suspicion: Suspicion::default(),
            tells_intervals: false,
            largest_rate: 0.0,
            seed: None,
        }
    }

    /// Packet `seq` leaves, with `data` bytes if it is a data packet.
    pub(super) fn on_sent(&mut self, now: Instant, seq: Seq, data: Option<u32>, rtt: Duration) {
        self.first.get_or_insert(seq);
        self.sent_at = now;
        self.suspicion.on_sent();
        self.holes.on_sent(now);
        if let Some(bytes) = data {
            self.sent.on_data(now, bytes, rtt);
        }
    }

    /// The number `seq` is passed over; the round trip is `rtt`.
    pub(super) fn on_skipped(&mut self, now: Instant, seq: Seq, rtt: Duration) {
        self.first.get_or_insert(seq);
        self.holes.push(seq);
        self.next_hole = now + rtt * HOLES_APART;
    }

    /// How many of 65,536 numbers should be passed over.
    pub(super) fn skips_of_65536(&self, packets_per_rtt: f64) -> u32 {
        // RFC 4342, 9: Loss Intervals show what became of one; a Loss Event Rate would only show a
        // loss that was none.
        let is_possible =
            self.tells_intervals && !self.holes.is_open() && self.sent_at >= self.next_hole;
        // The time of a packet that is not sent is long where few are.
        if is_possible && packets_per_rtt >= MIN_PER_RTT {
            // A path that got shorter is believed with the next proof.
            self.suspicion.skips_of_65536(self.trips.want_proof())
        } else {
            0
        }
    }

    /// Has the peer lied so often that the connection should end?
    pub(super) fn is_aggression(&self) -> bool {
        self.suspicion.is_aggression()
    }

    /// Has the peer sent Loss Intervals? It has no reason to leave them out then.
    pub(super) fn tells_intervals(&self) -> bool {
        self.tells_intervals
    }

    pub(super) fn trips(&mut self) -> &mut Trips {
        &mut self.trips
    }

    /// The receive rate to believe, of a report on a packet that left at `left`.
    pub(super) fn receive_rate(&mut self, told: f64, left: Instant, rtt: Duration) -> f64 {
        // RFC 5348, 4.2, 6.2 and 10: nobody receives more than was sent.
        let rate = told.min(self.sent.largest(left, rtt));
        self.largest_rate = self.largest_rate.max(rate);
        rate
    }

    /// The peer acknowledged packet `ackno`. Says with which number the loss history begins anew, if
    /// nobody sent that packet.
    pub(super) fn on_ack(&mut self, ackno: Seq) -> Option<Seq> {
        if !self.holes.on_ack(ackno) {
            return None;
        }
        self.suspicion.on_lie();
        self.void = Some(ackno);
        Some(ackno)
    }

    /// Takes in a report on packet `ackno`.
    pub(super) fn check(
        &mut self,
        now: Instant,
        ackno: Seq,
        told: &Intervals,
        measure: Measure,
    ) -> Checked {
        self.tells_intervals = true;
        let (pieces, len) = self.possible(ackno, told);
        let verdict = self.holes.judge(now, &pieces[..len]);
        if verdict.truth {
            self.suspicion.on_truth();
        }
        if let Some(proof) = verdict.proof {
            self.trips.on_proof(proof);
        }
        let mut void = self.begins_anew(told, &pieces[..len]);
        if let Some(lie) = verdict.lie {
            self.suspicion.on_lie();
            void = Some(lie);
        }
        if void.is_some() {
            self.void = void;
        }
        let (pieces, len) = self.since_void(&pieces[..len]);
        let mut intervals = self.holes.without(told.skip, &pieces[..len]);
        self.bound_seed(now, &mut intervals, measure);
        Checked { intervals, void }
    }

    /// The intervals with the numbers that they begin with, no longer in all than what was sent.
    fn possible(&self, ackno: Seq, told: &Intervals) -> ([Piece; COUNTED], usize) {
        let mut pieces = [Piece::NONE; COUNTED];
        let mut len = 0;
        let mut end = ackno.next().sub(u64::from(told.skip));
        let first = self.first.filter(|first| first.distance(end) < LONG_AGO);
        for (i, &interval) in told.as_slice().iter().enumerate() {
            let mut interval = interval;
            if let Some(first) = first {
                // RFC 4342, 6.1: both lengths together are what was sent in the interval.
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
                drops: told.drops(i).min(interval.loss_length),
            };
            len += 1;
            if first == Some(start) {
                break;
            }
            end = start;
        }
        (pieces, len)
    }

    /// Has the receiver begun its history anew? Nothing that was lost before is known to it then, and
    /// whoever could do so at will would hide losses in this way. It is another path (RFC 4340, section
    /// 10.5) at best, so the sender begins anew as well. Returns where.
    fn begins_anew(&mut self, told: &Intervals, pieces: &[Piece]) -> Option<Seq> {
        let oldest = pieces.last()?;
        // RFC 4342, 6.1: the first interval alone begins without a loss.
        let is_first = oldest.interval.loss_length == 0;
        let saturated = told
            .as_slice()
            .iter()
            .any(|interval| interval.lossless_length >= SATURATED);
        if !is_first || saturated {
            return None;
        }
        let before = *self.first_start.get_or_insert(oldest.start);
        // A packet that is not of a type to be acknowledged may move it by a few.
        let moved = oldest.start.is_after(before.add(u64::from(MAX_SKIP)));
        let anew = moved && self.void.is_none_or(|void| oldest.start.is_after(void));
        if anew {
            self.first_start = Some(oldest.start);
            self.seed = None;
        }
        anew.then_some(oldest.start)
    }

    /// The intervals since the history was begun anew: that in which this was begins with it.
    fn since_void(&self, pieces: &[Piece]) -> ([Piece; COUNTED], usize) {
        let mut kept = [Piece::NONE; COUNTED];
        let mut len = 0;
        let end = pieces.first().map_or(Seq::ZERO, Piece::end);
        let void = self
            .void
            .filter(|&void| end.delta(void).unsigned_abs() < LONG_AGO);
        for &piece in pieces {
            let Some(void) = void.filter(|void| !piece.start.is_after(*void)) else {
                kept[len] = piece;
                len += 1;
                continue;
            };
            if len == 0 || piece.end().is_after(void) {
                // It may not have been acknowledged yet.
                let packets = piece.end().delta(void).max(1);
                let packets = u32::try_from(packets).unwrap_or(u32::MAX);
                kept[len] = Piece {
                    start: void,
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

    /// RFC 4342, 6.1.1: the length of the interval before the first loss event is not bound to what was
    /// sent, but to the rate that was reached (RFC 5348, 6.3.1).
    fn bound_seed(&mut self, now: Instant, intervals: &mut Intervals, measure: Measure) {
        let all = intervals.as_slice();
        let Some((oldest, others)) = all.split_last() else {
            return;
        };
        if oldest.loss_length > 0 || others.is_empty() {
            return;
        }
        let told = oldest.data_length;
        // Where the receiver took a hole for its first loss it told the rate of that moment; what had
        // come since is ours to know.
        let seed = *self.seed.get_or_insert_with(|| {
            // RFC 5348, 6.3: the first report tells no rate.
            let rate = if self.largest_rate > 0.0 {
                self.largest_rate
            } else {
                self.sent.largest(now, measure.rtt)
            };
            let ours = measure.interval(rate.max(1.0));
            let least = if self.holes.any() { ours } else { 1.0 };
            let most = ours * SEED_SLACK;
            whole(f64::from(told).max(least).min(most))
        });
        intervals.set_oldest_data_length(seed);
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

    /// The number behind its last.
    fn end(&self) -> Seq {
        self.start.add(length(&self.interval))
    }
}

fn length(interval: &LossInterval) -> u64 {
    u64::from(interval.lossless_length) + u64::from(interval.loss_length)
}

/// The nearest whole number, at least one.
fn whole(number: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and NaN becomes zero"
    )]
    let word = (number + 0.5) as u32;
    word.max(1)
}
