//! Time measured by the peer's window counters (RFC 4342, section 8.1).

use fairwire_units::{Duration, Instant};

use crate::config::ReceiverRtt;

/// Steps of a round trip, and between the two packets of a sample: `D` = 4, which RFC 4342, section 8.1, prefers.
const STEPS: u64 = 4;
/// The number of values of the counter, after which it wraps.
const VALUES: u64 = 16;
/// The most by which the counters of two data packets with adjacent sequence numbers differ (RFC 4342, section 8.1).
const MAX_STEP: u64 = 5;
/// The number of arrivals kept: more than twice `STEPS`, and a power of two.
const KEPT: usize = 16;
/// The unwrapped form of counter 0, which stands before all data (RFC 4342, section 8.1). The first packet's counter is
/// at or above it, and there is room below for older counters.
pub(super) const BASE: u64 = 1 << 20;

/// A clock that unwraps the four-bit window counter and takes the round-trip time from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterClock {
    newest: Option<u64>,
    /// When the first packet with that counter arrived.
    newest_at: Instant,
    rule: ReceiverRtt,
    /// Counter and arrival time of a packet with each counter value: of the first one, `T(I)`, for a smoothed round
    /// trip, and of the newest one for the latest sample.
    arrivals: [Option<(u64, Instant)>; KEPT],
    rtt: Option<Duration>,
}

impl CounterClock {
    pub(super) const fn new(rule: ReceiverRtt) -> Self {
        Self {
            newest: None,
            newest_at: Instant::START,
            rule,
            arrivals: [None; KEPT],
            rtt: None,
        }
    }

    /// Returns the greatest counter so far.
    pub(super) fn newest(&self) -> u64 {
        self.newest.unwrap_or(BASE)
    }

    /// Returns the round-trip time, once packets four steps apart have arrived.
    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Records the arrival of a data packet with this `CCVal`, and returns its unwrapped counter. `after` is how many
    /// data packets it may be after the newest one before it, `None` if later data arrived before it. `rtt` is the
    /// round-trip time as far as it is known.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        ccval: u8,
        after: Option<u64>,
        rtt: Duration,
    ) -> u64 {
        let ccval = u64::from(ccval & 15);
        let Some(newest) = self.newest else {
            self.newest_at = now;
            return self.advance(now, BASE + ccval);
        };
        let Some(after) = after else {
            return newest.saturating_sub((VALUES + newest % VALUES - ccval) % VALUES);
        };
        // A later packet's counter is the same or ahead.
        let mut ahead = (VALUES + ccval - newest % VALUES) % VALUES;
        let waited = now.saturating_since(self.newest_at);
        // ns-2's module does not look for a turn.
        let looks = self.rule == ReceiverRtt::Smoothed;
        if looks && may_have_wrapped(ahead, after, waited, rtt) {
            ahead += VALUES;
        }
        if ahead == 0 {
            if self.rule == ReceiverRtt::Latest {
                self.arrivals[place(newest)] = Some((newest, now));
                self.sample(now, newest);
            }
            return newest;
        }
        self.newest_at = now;
        self.advance(now, newest.saturating_add(ahead))
    }

    fn advance(&mut self, now: Instant, counter: u64) -> u64 {
        self.newest = Some(counter);
        self.arrivals[place(counter)] = Some((counter, now));
        if self.rule == ReceiverRtt::Latest {
            self.sample(now, counter);
        } else if let Some(at) = self.arrival(counter - STEPS) {
            let sample = now.saturating_since(at);
            // RFC 4342, 8.1: packets four steps apart give a sample. The weight is that of the sender's average.
            self.rtt = Some(match self.rtt {
                Some(rtt) => rtt.mul_f64(0.9) + sample.mul_f64(0.1),
                None => sample,
            });
        }
        counter
    }

    /// Takes the latest sample, as ns-2's module does: back from the packet with `counter` to the newest one that is
    /// more than a round trip of steps before it. A jump of more steps in between may be a pause, and gives no sample.
    fn sample(&mut self, now: Instant, counter: u64) {
        let mut after = counter;
        for earlier in (counter - 2 * STEPS..counter).rev() {
            let Some(at) = self.arrival(earlier) else {
                continue;
            };
            if after - earlier > STEPS {
                return;
            }
            after = earlier;
            let steps = counter - earlier;
            if steps > STEPS {
                self.rtt = Some(now.saturating_since(at) * STEPS / steps);
                return;
            }
        }
    }

    /// Returns when the packet that is kept for `counter` arrived.
    fn arrival(&self, counter: u64) -> Option<Instant> {
        let (_, at) = self.arrivals[place(counter)].filter(|(of, _)| *of == counter)?;
        Some(at)
    }
}

/// Returns whether the counter may have wrapped between two arrivals, and is `ahead` steps and a whole turn further.
///
/// While many packets in a row are lost, as in a black hole, it can: each of them may carry it on by [`MAX_STEP`]. A
/// turn also takes its time. The number of turns cannot be known, but one is enough: all packets before the gap are
/// more than a round trip away, and the time across the gap is no sample of it.
fn may_have_wrapped(ahead: u64, after: u64, waited: Duration, rtt: Duration) -> bool {
    let turned = ahead + VALUES;
    after.saturating_mul(MAX_STEP) >= turned && waited >= rtt * turned / STEPS
}

fn place(counter: u64) -> usize {
    usize::try_from(counter % KEPT as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::CounterClock;
    use crate::config::ReceiverRtt;
    use fairwire_units::{Duration, Instant};

    const R: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Handles an arrival without losses before it.
    fn arrives(clock: &mut CounterClock, ms: u64, ccval: u8, is_newest: bool) -> u64 {
        clock.on_data(at(ms), ccval, is_newest.then_some(1), R)
    }

    /// RFC 4342, 8.1: in the example, the first packets with counters K and K+4 are one round trip apart; a late packet
    /// with K+3 changes nothing.
    #[test]
    fn the_example_of_the_rfc() {
        let mut clock = CounterClock::new(ReceiverRtt::Smoothed);
        for (ms, ccval, newest) in [
            (10, 15, true),
            (12, 15, true),
            (40, 0, true),
            (80, 2, true),
            (110, 3, true),
            (111, 2, false),
            (112, 3, true),
        ] {
            arrives(&mut clock, ms, ccval, newest);
        }
        assert_eq!(clock.rtt(), Some(Duration::from_millis(100)));
    }

    /// The counter continues across its wrap; an overtaken packet gets an older counter.
    #[test]
    fn counters_unwrap() {
        let mut clock = CounterClock::new(ReceiverRtt::Smoothed);
        let first = arrives(&mut clock, 0, 13, true);
        assert_eq!(arrives(&mut clock, 1, 2, true), first + 5);
        assert_eq!(arrives(&mut clock, 2, 15, false), first + 2);
        assert_eq!(clock.newest(), first + 5);
        assert_eq!(arrives(&mut clock, 3, 2, true), first + 5);
    }

    /// Jumps of five, as from a slow sender, give no sample.
    #[test]
    fn jumps_are_no_sample() {
        let mut clock = CounterClock::new(ReceiverRtt::Smoothed);
        for i in 0..20 {
            arrives(&mut clock, i * 1_000, (i * 5 % 16) as u8, true);
        }
        assert_eq!(clock.rtt(), None);
    }

    /// As in ns-2's module, each packet gives a sample: four steps' share of the time since the newest packet that is
    /// at least five steps before it. Nothing is averaged.
    #[test]
    fn the_latest_sample_counts() {
        let mut clock = CounterClock::new(ReceiverRtt::Latest);
        let mut rtt = |ms, ccval| {
            arrives(&mut clock, ms, ccval, true);
            clock.rtt()
        };
        for (ms, ccval) in [(0, 0), (20, 0), (40, 1), (60, 2), (80, 3), (100, 4)] {
            assert_eq!(rtt(ms, ccval), None);
        }
        // Five steps since the second packet with counter 0.
        assert_eq!(rtt(120, 5), Some(Duration::from_millis(80)));
        assert_eq!(rtt(170, 5), Some(Duration::from_millis(120)), "a later one");
        // Five steps since the one with counter 3.
        assert_eq!(rtt(360, 8), Some(Duration::from_millis(224)));
        // Six steps since the one with counter 5: there is none with 6.
        assert_eq!(rtt(380, 11), Some(Duration::from_millis(140)));
        let jump = rtt(5_000, 0);
        assert_eq!(jump, Some(Duration::from_millis(140)), "a jump of five");
    }

    /// Losses may hide a turn of the counter: after a black hole the time across the gap is no round trip, although the
    /// counter seems to be four steps further. It takes four numbers and the time of a turn.
    #[test]
    fn a_turn_of_the_counter_may_be_hidden() {
        let mut clock = CounterClock::new(ReceiverRtt::Smoothed);
        let mut first = 0;
        for (ms, ccval) in [(0, 0), (25, 1), (50, 2), (75, 3), (100, 4), (125, 5)] {
            first = arrives(&mut clock, ms, ccval, true);
        }
        assert_eq!(clock.rtt(), Some(R));
        // Each of three lost packets left more than a round trip after the one before it.
        let counter = clock.on_data(at(3_000), 9, Some(4), R);
        assert_eq!(counter, first + 20);
        assert_eq!(clock.rtt(), Some(R));
    }

    /// A burst of losses in less time than a turn takes, or with too few numbers for one, hides none.
    #[test]
    fn a_short_gap_hides_no_turn() {
        for (ccval, waited, after, turns) in [
            (4, 500, 4, 1),
            (4, 499, 4, 0),
            (4, 9_000, 3, 0),
            (0, 400, 4, 1),
            (0, 399, 4, 0),
            (5, 9_000, 4, 0),
            (5, 9_000, 5, 1),
            (15, 775, 7, 1),
            (15, 774, 7, 0),
        ] {
            let mut clock = CounterClock::new(ReceiverRtt::Smoothed);
            let first = arrives(&mut clock, 0, 0, true);
            let counter = clock.on_data(at(waited), ccval, Some(after), R);
            let expected = first + u64::from(ccval) + turns * 16;
            assert_eq!(counter, expected, "{ccval} after {waited} ms");
        }
    }
}
