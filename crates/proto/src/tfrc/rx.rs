//! The receiving half of CCID 3 and CCID 4.

mod clock;
mod first_interval;
mod grouping;
mod positions;
mod sender_rtt;

#[cfg(test)]
mod tests;

use fairwire_cc::DEFAULT_RTT;
use fairwire_cc::tfrc::{Equation, LossHistory, ReceiveRate, ReceivedPacket, ReportedInterval};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{DccpOption, Encoder, LossInterval, NO_LOSS, NoRoom, Seq};

use self::clock::CounterClock;
use self::first_interval::SyntheticInterval;
use self::grouping::{LossEvents, Stamp};
use self::positions::Positions;
use self::sender_rtt::SenderRtt;
use super::Profile;
use super::profile::NOMINAL;
use crate::config::{Ccid3Config, FeedbackRate, FirstInterval, ReceiveRateOver, Reports};
use crate::half::{AckDue, Incoming, PeerData, Rx, quiescent_after};

/// The number of intervals in a report: the current one and the eight before it. RFC 4342, section 8.6.1, asks for at
/// least as many; the sender uses no more.
const REPORTED: usize = fairwire_cc::tfrc::INTERVALS + 1;
/// Packets that a report may leave out of every interval: NDUPACK (RFC 4342, section 8.6.1).
const MAX_SKIP: u64 = 3;
/// Steps of the window counter after which feedback is due: one round trip (RFC 4342, section 10.3).
const ROUND_TRIP: u64 = 4;
/// The weight of the previous value in the mean packet size.
const SIZE_WEIGHT: f64 = 0.9;

/// The receiving half of CCID 3 and CCID 4: reports the receive rate, the loss event rate and the loss intervals.
#[derive(Debug)]
pub(crate) struct TfrcRx {
    profile: Profile,
    feedback: FeedbackRate,
    first_interval: FirstInterval,
    reports: Reports,
    receive_rate_over: ReceiveRateOver,
    equation: Equation,
    numbers: Positions,
    history: LossHistory<LossEvents>,
    clock: CounterClock,
    /// The position of the newest data packet, or of the newest packet before any data.
    newest_data: u64,
    /// How many packets without data have arrived after it.
    others: u64,
    rate: ReceiveRate,
    rtt_hint: Option<Duration>,
    /// The sender's round-trip time, if its data packets carry it.
    sender_rtt: Option<SenderRtt>,
    /// The mean size of the data packets, bytes.
    mean_size: Option<f64>,
    /// The largest receive rate so far, bytes per second.
    max_rate: f64,
    /// When the packet with the greatest sequence number arrived.
    newest_at: Instant,
    /// Whether feedback is due at once.
    due: bool,
    /// Whether it is due because of a new loss event.
    due_by_loss: bool,
    /// Bytes of data received since the last feedback.
    bytes_since: u64,
    /// When data last arrived.
    data_at: Option<Instant>,
    /// Whether data has arrived since the last feedback.
    fresh: bool,
    last: Option<LastFeedback>,
}

/// The last feedback that was written.
#[derive(Clone, Copy, Debug)]
struct LastFeedback {
    at: Instant,
    /// The greatest window counter at that time: `last_counter` of RFC 4342, section 10.3.
    counter: u64,
    /// The receive rate that it reported, bytes per second.
    receive_rate: u32,
}

impl TfrcRx {
    /// Creates a half that observes packets after `newest`, the greatest sequence number received so far. `rtt` is a
    /// round-trip time measured in the handshake.
    pub(crate) fn new(
        config: &Ccid3Config,
        profile: Profile,
        rtt: Option<Duration>,
        now: Instant,
        newest: Seq,
    ) -> Self {
        let numbers = Positions::new(newest);
        let history = LossHistory::new(
            LossEvents {
                sender_rtt: None,
                rule: config.loss_events,
            },
            numbers.newest(),
            super::tx::loss_average(config),
        );
        Self {
            profile,
            feedback: config.feedback,
            first_interval: config.first_interval,
            // RFC 5622, 8.7: a sender of CCID 4 needs intervals.
            reports: if profile.is_small() {
                Reports::Intervals
            } else {
                config.reports
            },
            receive_rate_over: config.receive_rate,
            equation: super::tx::equation(config),
            history: if profile.is_small() {
                history.with_small_packets()
            } else {
                history
            },
            newest_data: numbers.newest(),
            others: 0,
            numbers,
            clock: CounterClock::new(config.receiver_rtt),
            rate: ReceiveRate::new(),
            rtt_hint: rtt,
            sender_rtt: None,
            mean_size: None,
            max_rate: 0.0,
            newest_at: now,
            due: false,
            due_by_loss: false,
            bytes_since: 0,
            data_at: None,
            fresh: false,
            last: None,
        }
    }

    /// Returns the round-trip time that the sender tells. Without one, returns the estimate from the window counters,
    /// else the one that the connection measured, else a default.
    fn rtt(&self) -> Duration {
        // RFC 6323, 3.3: the sender's value is used wherever a round-trip time is needed.
        if let Some(sender_rtt) = &self.sender_rtt {
            return sender_rtt.rtt();
        }
        self.clock.rtt().or(self.rtt_hint).unwrap_or(DEFAULT_RTT)
    }

    fn on_data(&mut self, now: Instant, size: u32) {
        let sample = f64::from(size);
        self.mean_size = Some(self.mean_size.map_or(sample, |mean| {
            SIZE_WEIGHT * mean + (1.0 - SIZE_WEIGHT) * sample
        }));
        self.rate.on_data(now, size, self.rtt());
        self.bytes_since = self.bytes_since.saturating_add(size.into());
        self.data_at = Some(now);
        self.fresh = true;
        // RFC 5348, 6.3: the first data packet is answered at once. RFC 4342, 10.3: so is a packet whose counter is a
        // round trip ahead of the last feedback. RFC 5348, 6: where packets are further apart than that, each of them
        // is answered.
        self.due |= self.last.is_none_or(|last| match self.feedback_interval() {
            Some(interval) => now.saturating_since(last.at) >= interval,
            None => self.clock.newest() >= last.counter.saturating_add(ROUND_TRIP),
        });
    }

    /// Returns the time between reports, or `None` if the window counters decide when a report is due.
    fn feedback_interval(&self) -> Option<Duration> {
        match self.feedback {
            // RFC 6323, 3.3: if the sender tells its round-trip time, that time decides.
            FeedbackRate::PerRoundTrip(0 | 1) => self.sender_rtt.map(|told| told.rtt()),
            // RFC 5348, 6: for k reports per round trip the timer runs for R/k. Window counters, of a quarter of a
            // round trip, are too coarse for that.
            FeedbackRate::PerRoundTrip(k) => Some(self.rtt() / u64::from(k)),
            // RFC 4342, 6: at least once per round trip.
            FeedbackRate::Every(time) => Some(Duration::from(time).min(self.rtt())),
        }
    }

    /// Returns how long received data may wait for feedback.
    fn feedback_wait(&self) -> Duration {
        // RFC 4342, 10.3: well before the peer's nofeedback timer expires, and late enough that the window counters
        // usually decide first. A receiver that reports by time waits for one interval (RFC 5348, 6.2).
        self.feedback_interval().unwrap_or_else(|| self.rtt() * 2)
    }

    /// Returns the receive rate to report, rounded to whole bytes per second.
    fn receive_rate(&self, now: Instant) -> u32 {
        let Some(last) = self.last else {
            // RFC 5348, 6.3: the first feedback reports zero.
            return 0;
        };
        let since = now.saturating_since(last.at);
        let since_report = || {
            let seconds = since.max(Duration::from_micros(1)).as_secs_f64();
            rounded(self.bytes_since as f64 / seconds)
        };
        // RFC 5348, 6: over the last round trip, even if reports are closer together.
        let of_round_trip = || rounded(self.rate.bytes_per_s(self.rtt()));
        match self.receive_rate_over {
            ReceiveRateOver::RoundTrip => of_round_trip(),
            ReceiveRateOver::AtLeastRoundTrip if since < self.rtt() => of_round_trip(),
            ReceiveRateOver::SinceReportButLoss if self.due_by_loss => last.receive_rate,
            _ => since_report(),
        }
    }

    /// Returns how many packets the report skips, and the newest intervals as they are reported with `ackno`.
    fn intervals(&self, ackno: Seq) -> (u8, impl Iterator<Item = LossInterval>) {
        let acknowledged = self.numbers.position(ackno);
        let edge = self.history.edge();
        // RFC 4342, 6.1: packets that may still arrive are in no interval, but no more than three may be left out. The
        // rest of a longer gap counts as received until it is known to be lost.
        let pending = acknowledged.saturating_sub(edge);
        let skip = pending.min(MAX_SKIP);
        let ahead = edge.saturating_sub(acknowledged);
        let intervals = self.history.intervals().take(REPORTED).enumerate();
        let intervals = intervals.map(move |(i, mut interval)| {
            if i == 0 {
                let pending = pending - skip;
                interval.lossless_length = interval.lossless_length.saturating_add(pending);
                interval.lossless_length = interval.lossless_length.saturating_sub(ahead);
            }
            encoded(interval)
        });
        (skip as u8, intervals)
    }

    /// Returns the time since the acknowledged packet arrived, in units of 10 microseconds.
    fn elapsed(&self, now: Instant, ackno: Seq) -> u32 {
        if self.numbers.position(ackno) != self.numbers.newest() {
            return 0;
        }
        // RFC 4340, 13.2: rounded down, so that the time is never overstated.
        let units = now.saturating_since(self.newest_at).as_micros() / 10;
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    fn write(
        &self,
        now: Instant,
        ackno: Seq,
        receive_rate: u32,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom> {
        // RFC 4342, 6, 8.2, 8.3 and 8.6: these options belong on every required acknowledgement. RFC 4342, 8.4: the
        // loss event rate is sent even if feature 192 does not ask for it.
        encoder.option(&DccpOption::ElapsedTime(self.elapsed(now, ackno)))?;
        encoder.option(&DccpOption::ReceiveRate(receive_rate))?;
        let p = self.history.p();
        if self.reports == Reports::Rate {
            return encoder.option(&DccpOption::LossEventRate(inverse_floor(p)));
        }
        encoder.option(&DccpOption::LossEventRate(inverse(p)))?;
        let (skip, intervals) = self.intervals(ackno);
        encoder.loss_intervals(skip, intervals)?;
        if self.profile.is_small() {
            // RFC 5622, 8.7: sent with every Loss Intervals option, for exactly the same intervals.
            let intervals = self.history.intervals().take(REPORTED);
            encoder
                .dropped_packets(intervals.map(|i| u32::try_from(i.drops).unwrap_or(u32::MAX)))?;
        }
        Ok(())
    }
}

impl TfrcRx {
    /// Returns how many data packets after the newest one before it the data packet `seq` may be, or `None` if later
    /// data arrived before it. Packets known to have no data carry no counter: those that arrived, and those that the
    /// NDP Count names.
    fn data_after(&mut self, seq: u64, ndp_count: Option<u64>) -> Option<u64> {
        let after = seq
            .checked_sub(self.newest_data)
            .filter(|&after| after > 0)?;
        let others = std::mem::take(&mut self.others).max(ndp_count.unwrap_or(0));
        Some(after.saturating_sub(others).max(1))
    }
}

impl Rx for TfrcRx {
    fn on_packet(&mut self, now: Instant, packet: Incoming<'_>) {
        // RFC 4342, 6.3: the state is bounded even if no report is acknowledged.
        let Some(arrival) = packet.arrival else {
            return;
        };
        let (seq, is_newest) = self.numbers.arrived(arrival.seq);
        if is_newest {
            self.newest_at = now;
        }
        if let Some(sender_rtt) = &mut self.sender_rtt {
            sender_rtt.on_packet(now, arrival.data.is_some(), arrival.rtt_estimate);
        }
        self.history.grouping_mut().sender_rtt = self.sender_rtt.map(|sender_rtt| sender_rtt.rtt());
        let counter = if arrival.data.is_some() {
            // RFC 4342, 8.1: only data packets carry counters. A data packet that was overtaken by an acknowledgement
            // may therefore still have the newest counter.
            let after = self.data_after(seq, arrival.ndp_count);
            self.newest_data = self.newest_data.max(seq);
            self.clock.on_data(now, arrival.ccval, after, self.rtt())
        } else {
            self.others += u64::from(seq > self.newest_data);
            // It takes the counter of the packet before it (`LossEvents::without_data`), or this one if there is none.
            clock::BASE
        };
        if let Some(size) = arrival.data {
            self.on_data(now, size);
        }
        let first = SyntheticInterval {
            equation: self.equation,
            rtt: self.rtt(),
            // RFC 4828, 1: for small packets, the nominal size instead of the packets' own.
            size: if self.profile.is_small() {
                f64::from(NOMINAL)
            } else {
                self.mean_size.unwrap_or(1.0).max(1.0)
            },
            rate: match self.first_interval {
                FirstInterval::LargestRate => self.max_rate,
                FirstInterval::LatestRate => 0.0,
            },
            rate_now: &self.rate,
        };
        let packet = ReceivedPacket {
            seq,
            stamp: Stamp { counter, at: now },
            is_data: arrival.data.is_some(),
            marked: arrival.ecn == Ecn::Ce,
            non_data_before: arrival.ndp_count.unwrap_or(0),
        };
        // RFC 4342, 10.3, and RFC 5348, 6 and 6.1: a new loss event is reported at once.
        if self.history.receive(packet, |data| first.length(data)) {
            self.due = true;
            self.due_by_loss = true;
        }
    }

    fn peer_data(&self, now: Instant, _rtt: Duration) -> PeerData {
        // RFC 4342, 6.4, with the receiver's own estimate of the round-trip time.
        let lately = |at| now.saturating_since(at) < quiescent_after(self.rtt());
        if self.data_at.is_some_and(lately) {
            PeerData::Flowing
        } else {
            PeerData::Quiescent
        }
    }

    fn set_ack_ratio(&mut self, _ratio: u16) {
        // RFC 4342, 6.2: feedback comes once per round trip, whatever the Ack Ratio.
    }

    fn set_rtt_estimates(&mut self, on: bool) {
        if on != self.sender_rtt.is_some() {
            self.sender_rtt = on.then(SenderRtt::new);
        }
    }

    fn set_rtt_hint(&mut self, rtt: Duration) {
        self.rtt_hint = Some(rtt);
    }

    fn ack_due(&self, now: Instant) -> AckDue {
        if self.due {
            return AckDue::Now;
        }
        match self.last.filter(|_| self.fresh) {
            // RFC 4342, 10.3: a timer reports data after which no later packet makes feedback due.
            Some(last) => match last.at + self.feedback_wait() {
                at if at <= now => AckDue::Now,
                at => AckDue::At(at),
            },
            None => AckDue::No,
        }
    }

    fn options_len(&self, now: Instant) -> usize {
        if self.ack_due(now) != AckDue::Now {
            return 0;
        }
        let elapsed = now.saturating_since(self.newest_at).as_micros() / 10;
        let elapsed_len = if elapsed > u64::from(u16::MAX) { 6 } else { 4 };
        let intervals = self.history.intervals().take(REPORTED).count();
        let drops_len = if self.profile.is_small() {
            2 + intervals * 3
        } else {
            0
        };
        let intervals_len = match self.reports {
            Reports::Rate => 0,
            _ => 3 + intervals * LossInterval::LEN + drops_len,
        };
        elapsed_len + 6 + 6 + intervals_len
    }

    fn write_options(
        &mut self,
        now: Instant,
        _seq: Seq,
        ackno: Seq,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom> {
        if self.ack_due(now) != AckDue::Now {
            return Ok(());
        }
        let receive_rate = self.receive_rate(now);
        let mark = encoder.mark();
        if let Err(no_room) = self.write(now, ackno, receive_rate, encoder) {
            encoder.truncate(mark);
            return Err(no_room);
        }
        self.max_rate = self.max_rate.max(f64::from(receive_rate));
        self.last = Some(LastFeedback {
            at: now,
            counter: self.clock.newest(),
            receive_rate,
        });
        self.due = false;
        self.due_by_loss = false;
        self.bytes_since = 0;
        self.fresh = false;
        Ok(())
    }

    fn footprint(&self) -> usize {
        size_of::<Self>()
    }

    fn state_len(&self) -> usize {
        size_of::<Self>()
    }

    fn holds_path_state(&self) -> bool {
        true
    }

    fn loss_events(&self) -> u64 {
        self.history.events()
    }

    fn loss_rate(&self) -> Option<f64> {
        Some(self.history.p())
    }
}

/// Converts an interval to the form of the option; a length that does not fit its field becomes the field's maximum.
fn encoded(interval: ReportedInterval) -> LossInterval {
    let length = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    LossInterval {
        lossless_length: length(interval.lossless_length),
        // RFC 4342, 7, 8.6.1 and 9: the sum of the nonces of the interval's data. It is 0 because all data is ECT(0),
        // as RFC 8311, 6, requires.
        ecn_nonce: false,
        loss_length: length(interval.loss_length),
        data_length: length(interval.data_length),
    }
}

/// Returns the value of the Loss Event Rate option: packets per loss interval, rounded up (RFC 4342, section 8.5).
fn inverse(p: f64) -> u32 {
    if p > 0.0 {
        // A quotient just above a whole number is taken as that number: a rounding error of the division must not round
        // it up.
        rounded(f64::ceil(1.0 / p - 1e-6)).clamp(1, NO_LOSS - 1)
    } else {
        NO_LOSS
    }
}

/// Returns the same value, rounded down.
fn inverse_floor(p: f64) -> u32 {
    if p > 0.0 {
        rounded(f64::floor(1.0 / p + 1e-6)).clamp(1, NO_LOSS - 1)
    } else {
        NO_LOSS
    }
}

/// Rounds to the nearest whole number that fits 32 bits.
fn rounded(number: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and NaN becomes zero"
    )]
    let word = (number + 0.5) as u32;
    word
}
