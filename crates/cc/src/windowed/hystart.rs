//! `HyStart++` (RFC 9406): ends the first slow start when the round trip grows, before the queue overflows.
//!
//! It compares the shortest round trip of each round with that of the round before. Once the round trip has grown, slow
//! start continues at a quarter of its pace for five rounds (conservative slow start). If the round trip shrinks in
//! that time the growth was noise, and slow start returns to its full pace.

use fairwire_units::Duration;

/// The least growth of the round trip that counts (`MIN_RTT_THRESH`).
const LEAST_GROWTH: Duration = Duration::from_millis(4);
/// The greatest growth that is needed (`MAX_RTT_THRESH`).
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// Between these two, the growth needed is the round trip divided by this (`MIN_RTT_DIVISOR`).
const GROWTH_DIVISOR: u64 = 8;
/// The number of samples that a round needs for a decision (`N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// The divisor of the growth in conservative slow start (`CSS_GROWTH_DIVISOR`).
const PACE_DIVISOR: f64 = 4.0;
/// The number of rounds of conservative slow start (`CSS_ROUNDS`).
const ROUNDS: u32 = 5;

/// The phase of the first slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    Conservative {
        /// The shortest round trip of the round in which it began.
        baseline: Duration,
        /// The number of rounds that have ended in it, counting the one in which it began.
        rounds: u32,
    },
    /// A loss, a mark or a threshold has ended it. Later slow starts are the standard ones (RFC 9406, section 4.3).
    Over,
}

/// The phase and the measurements of the first slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HyStart {
    phase: Phase,
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
}

impl HyStart {
    pub(super) const NEW: Self = Self {
        phase: Phase::SlowStart,
        last_round: None,
        this_round: None,
        samples: 0,
    };

    /// Records an acknowledgement in slow start, with its sample, and returns whether slow start is over.
    ///
    /// `ends_round` says whether this is the last acknowledgement of a round.
    pub(super) fn on_ack(&mut self, rtt: Option<Duration>, ends_round: bool) -> bool {
        if let Some(rtt) = rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
            self.judge();
        }
        ends_round && self.end_round()
    }

    /// Decides whether the round trip has grown, or whether an earlier growth was noise (RFC 9406, 4.2).
    fn judge(&mut self) {
        let Some(now) = self.this_round.filter(|_| self.samples >= SAMPLES) else {
            return;
        };
        match self.phase {
            Phase::SlowStart => {
                let Some(last) = self.last_round else {
                    return;
                };
                let growth = (last / GROWTH_DIVISOR).min(MOST_GROWTH).max(LEAST_GROWTH);
                if now >= last + growth {
                    self.phase = Phase::Conservative {
                        baseline: now,
                        rounds: 0,
                    };
                }
            }
            Phase::Conservative { baseline, .. } if now < baseline => self.phase = Phase::SlowStart,
            Phase::Conservative { .. } | Phase::Over => {}
        }
    }

    /// Begins the next round and returns whether the last round of conservative slow start has ended.
    fn end_round(&mut self) -> bool {
        (self.last_round, self.this_round, self.samples) = (self.this_round, None, 0);
        let Phase::Conservative { rounds, .. } = &mut self.phase else {
            return false;
        };
        // RFC 9406, 4.2: the round in which conservative slow start began counts.
        *rounds += 1;
        let over = *rounds >= ROUNDS;
        if over {
            self.phase = Phase::Over;
        }
        over
    }

    /// Ends `HyStart++` after a loss, a mark or a timeout: it does not affect later slow starts (RFC 9406, 4.3).
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
    }

    /// Returns what slow start adds, given a growth of `growth` packets.
    pub(super) fn paced(self, growth: f64) -> f64 {
        match self.phase {
            Phase::Conservative { .. } => growth / PACE_DIVISOR,
            Phase::SlowStart | Phase::Over => growth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HyStart, Phase};
    use fairwire_units::Duration;

    /// Passes a round of `samples` acknowledgements with a round trip of `rtt` us; returns whether slow start is over.
    fn round(hystart: &mut HyStart, samples: u32, rtt: u64) -> bool {
        let rtt = Some(Duration::from_micros(rtt));
        (1..samples).for_each(|_| assert!(!hystart.on_ack(rtt, false)));
        hystart.on_ack(rtt, true)
    }

    /// RFC 9406, 4.2: conservative slow start needs growth by an eighth of the round trip, at least 4 ms and at most 16
    /// ms. A microsecond less is not enough, and neither are seven samples.
    #[test]
    fn growth_of_the_round_trip_slows_it_down() {
        for (last, growth) in [(1_000, 4_000), (80_000, 10_000), (1_000_000, 16_000)] {
            for (rtt, samples, slows) in [
                (last + growth - 1, 8, false),
                (last + growth, 8, true),
                (last + growth, 7, false),
            ] {
                let mut hystart = HyStart::NEW;
                round(&mut hystart, 8, last);
                round(&mut hystart, samples, rtt);
                let told = format!("{last} us, then {samples} of {rtt} us");
                assert_eq!(hystart.paced(1.0) < 1.0, slows, "{told}");
            }
        }
    }

    /// RFC 9406, 4.2: conservative slow start has a quarter of the pace for five rounds, counting the one in which it
    /// begins.
    #[test]
    fn five_rounds_end_it() {
        let mut hystart = HyStart::NEW;
        round(&mut hystart, 8, 50_000);
        for _ in 0..4 {
            assert!(!round(&mut hystart, 8, 60_000));
            assert_eq!(hystart.paced(1.0), 0.25);
        }
        assert!(round(&mut hystart, 8, 60_000));
        assert_eq!(hystart.phase, Phase::Over);
        assert_eq!(hystart.paced(1.0), 1.0);
    }

    /// RFC 9406, 4.2: the pace returns after a round of eight samples whose shortest is below that of the round that
    /// slowed it down.
    #[test]
    fn noise_does_not_last() {
        let mut hystart = HyStart::NEW;
        round(&mut hystart, 8, 50_000);
        round(&mut hystart, 8, 60_000);
        round(&mut hystart, 7, 59_999);
        assert_eq!(hystart.paced(1.0), 0.25, "seven samples");
        round(&mut hystart, 8, 60_000);
        assert_eq!(hystart.paced(1.0), 0.25, "no shorter");
        round(&mut hystart, 8, 59_999);
        assert_eq!(hystart.paced(1.0), 1.0);
        assert!(!round(&mut hystart, 8, 59_999));
        assert_eq!(hystart.phase, Phase::SlowStart, "and it may end again");
    }
}
