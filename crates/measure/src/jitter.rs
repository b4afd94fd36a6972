//! Four quantities that papers call jitter.
//!
//! All take packets in the order of arrival and skip packets that never arrived. A delay is the time from sending to
//! arrival. A constant difference between the two clocks does not change any of the four.
//!
//! | type | formula | who uses it |
//! |---|---|---|
//! | [`InterarrivalJitter`] | `J += (abs(D) - J) / 16`, `D` the difference of successive delays | RFC 3550, 6.4.1; RTP, iperf |
//! | [`DelayVariation`] | mean of `abs(D)` | the paper wifi-handoff, equations 6 to 8 |
//! | [`DelayDeviation`] | sample standard deviation of the delay | studies of delay distributions |
//! | [`InterarrivalVariation`] | mean of the absolute difference of successive arrival gaps | scripts that know arrivals only |

use fairwire_units::{Duration, Instant};

use crate::Moments;

/// The interarrival jitter of RFC 3550, section 6.4.1.
///
/// Computed in integers as in its appendix A.8, with one nanosecond as the timestamp unit: the rounding error is below
/// 1 ns. The sixteenth that each step subtracts is rounded to the nearest unit, not down.
#[derive(Clone, Copy, Debug, Default)]
pub struct InterarrivalJitter {
    last_transit: Option<i64>,
    /// Sixteen times the jitter, ns.
    scaled: u64,
}

impl InterarrivalJitter {
    /// Records a packet that was sent at `sent` and arrived at `received`.
    pub fn packet(&mut self, sent: Instant, received: Instant) {
        let transit = transit(sent, received);
        if let Some(last) = self.last_transit.replace(transit) {
            let step = transit.abs_diff(last);
            let forgotten = self.scaled.saturating_add(8) >> 4;
            self.scaled = (self.scaled - forgotten.min(self.scaled)).saturating_add(step);
        }
    }

    /// Returns the current jitter; zero before the second packet.
    pub fn value(&self) -> Duration {
        Duration::from_nanos(self.scaled >> 4)
    }
}

/// The mean absolute difference of the delays of successive packets.
///
/// Equations 6 to 8 of wifi-handoff give this mean, with one delay per report interval, before that paper scales it for
/// a late start. A mean needs no such scaling.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayVariation {
    last_transit: Option<i64>,
    sum_ns: u128,
    differences: u64,
}

impl DelayVariation {
    /// Records a packet that was sent at `sent` and arrived at `received`.
    pub fn packet(&mut self, sent: Instant, received: Instant) {
        let transit = transit(sent, received);
        if let Some(last) = self.last_transit.replace(transit) {
            self.sum_ns += u128::from(transit.abs_diff(last));
            self.differences += 1;
        }
    }

    /// Returns the mean so far, rounded down to a nanosecond; `None` before the second packet.
    pub fn mean(&self) -> Option<Duration> {
        mean(self.sum_ns, self.differences)
    }
}

/// The sample standard deviation of the delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayDeviation {
    first_transit: Option<i64>,
    /// The delays less the first one, in seconds. Their deviation is the same, and small numbers keep more digits than
    /// the difference of two clocks.
    delays: Moments,
}

impl DelayDeviation {
    /// Records a packet that was sent at `sent` and arrived at `received`.
    pub fn packet(&mut self, sent: Instant, received: Instant) {
        let transit = transit(sent, received);
        let first = *self.first_transit.get_or_insert(transit);
        let beyond_ns = transit.saturating_sub(first);
        self.delays.push(beyond_ns as f64 / 1e9);
    }

    /// Returns the standard deviation; `None` before the second packet.
    pub fn deviation(&self) -> Option<Duration> {
        self.delays.deviation().map(Duration::from_secs_f64)
    }
}

/// The difference of successive gaps between arrivals; needs no sending times.
#[derive(Clone, Copy, Debug, Default)]
pub struct InterarrivalVariation {
    last: Option<Instant>,
    last_gap: Option<Duration>,
    sum_ns: u128,
    differences: u64,
    gaps: Moments,
}

impl InterarrivalVariation {
    /// Records a packet that arrived at `received`.
    pub fn packet(&mut self, received: Instant) {
        let Some(last) = self.last.replace(received) else {
            return;
        };
        let gap = received.saturating_since(last);
        self.gaps.push(gap.as_secs_f64());
        if let Some(last) = self.last_gap.replace(gap) {
            self.sum_ns += u128::from(gap.as_nanos().abs_diff(last.as_nanos()));
            self.differences += 1;
        }
    }

    /// Returns the mean absolute difference of successive gaps, rounded down to a nanosecond.
    ///
    /// `None` before the third packet.
    pub fn mean(&self) -> Option<Duration> {
        mean(self.sum_ns, self.differences)
    }

    /// Returns the sample standard deviation of the gaps; `None` before the third packet.
    pub fn deviation(&self) -> Option<Duration> {
        self.gaps.deviation().map(Duration::from_secs_f64)
    }
}

/// All four quantities of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    /// The interarrival jitter of RFC 3550.
    pub interarrival: InterarrivalJitter,
    /// The mean absolute difference of successive delays.
    pub variation: DelayVariation,
    /// The standard deviation of the delay.
    pub deviation: DelayDeviation,
    /// The mean absolute difference of successive arrival gaps.
    pub gaps: InterarrivalVariation,
}

impl Jitter {
    /// Records a packet that was sent at `sent` and arrived at `received`.
    pub fn packet(&mut self, sent: Instant, received: Instant) {
        self.interarrival.packet(sent, received);
        self.variation.packet(sent, received);
        self.deviation.packet(sent, received);
        self.gaps.packet(received);
    }
}

/// Returns the delay in nanoseconds, negative if the receiver's clock is behind; it saturates at 292 years.
fn transit(sent: Instant, received: Instant) -> i64 {
    let (sent, received) = (sent.as_nanos(), received.as_nanos());
    let size = i64::try_from(received.abs_diff(sent)).unwrap_or(i64::MAX);
    if received < sent { -size } else { size }
}

fn mean(sum_ns: u128, count: u64) -> Option<Duration> {
    let mean = sum_ns.checked_div(u128::from(count))?;
    Some(Duration::from_nanos(
        u64::try_from(mean).unwrap_or(u64::MAX),
    ))
}

#[cfg(test)]
mod tests;
