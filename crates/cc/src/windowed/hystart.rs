//! `HyStart++` (RFC 9406): the first slow start ends where the round trip grows, before the queue overflows.
//!
//! The shortest round trip of each round is held against that of the round before. Once it has grown, slow start
//! goes on at a quarter of its pace for five rounds (conservative slow start); if the round trip shrinks in that time the
//! growth was noise, and slow start takes up its pace again.

use fairwire_units::Duration;

/// The least growth of the round trip that counts (`MIN_RTT_THRESH`).
const LEAST_GROWTH: Duration = Duration::from_millis(4);
/// The most that is asked for (`MAX_RTT_THRESH`).
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// In between, this part of the round trip (`MIN_RTT_DIVISOR`).
const GROWTH_DIVISOR: u64 = 8;
/// Samples that a round needs to be judged (`N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// Conservative slow start adds this part of what slow start would (`CSS_GROWTH_DIVISOR`).
const PACE_DIVISOR: f64 = 4.0;
/// Rounds that it lasts (`CSS_ROUNDS`).
const ROUNDS: u32 = 5;

/// Where the first slow start stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    Conservative {
        /// The shortest round trip of the round that began it.
        baseline: Duration,
        /// Rounds that have ended in it, the one in which it began included.
        rounds: u32,
    },
    /// A loss, a mark or a threshold has ended it; later slow starts are the standard one (RFC 9406, section 4.3).
    Over,
}

/// What was measured of the first slow start.
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

    /// An acknowledgement came in slow start, with a sample perhaps, and perhaps as the last one of a round. Is slow
    /// start over?
    pub(super) fn on_ack(&mut self, rtt: Option<Duration>, ends_round: bool) -> bool {
        if let Some(rtt) = rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
            self.judge();
        }
        ends_round && self.end_round()
    }

    /// RFC 9406, 4.2: has the round trip grown, or was that noise?
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

    /// The next round begins. Was this the last one of conservative slow start?
    fn end_round(&mut self) -> bool {
        (self.last_round, self.this_round, self.samples) = (self.this_round, None, 0);
        let Phase::Conservative { rounds, .. } = &mut self.phase else {
            return false;
        };
        // RFC 9406, 4.2: a round in whose middle it began counts.
        *rounds += 1;
        let over = *rounds >= ROUNDS;
        if over {
            self.phase = Phase::Over;
        }
        over
    }

    /// A loss, a mark or a timeout: RFC 9406, 4.3, leaves later slow starts alone.
    pub(super) fn end(&mut self) {
        self.phase = Phase::Over;
    }

    /// What slow start adds, of `growth` packets.
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

    /// A round of `samples` acknowledgements whose round trip is `rtt` microseconds; is slow start over?
    fn round(hystart: &mut HyStart, samples: u32, rtt: u64) -> bool {
        let rtt = Some(Duration::from_micros(rtt));
        (1..samples).for_each(|_| assert!(!hystart.on_ack(rtt, false)));
        hystart.on_ack(rtt, true)
    }

    /// RFC 9406, 4.2: an eighth of the round trip, 4 ms at least and 16 ms at most, and a microsecond less is not
    /// enough; nor are seven samples.
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

    /// RFC 9406, 4.2: a quarter of the pace for five rounds, of which the one that it begins in is the first.
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

    /// RFC 9406, 4.2: a round whose shortest round trip is below that of the round that slowed it down, by eight samples.
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
