//! Round trips that a receiver cannot make shorter by what it says.
//!
//! A short round trip makes a high rate, and a receiver has two ways to claim one: an Elapsed Time
//! (RFC 4340, section 13.2) that is too long, and the acknowledgement of packets that have not come
//! yet.

use fairwire_units::Duration;

/// Round trips of numbers passed over that are remembered.
const PROVEN: usize = 4;

/// Samples in a row that contradict the proofs, about one in a round trip, after which these are
/// forgotten. Where no number can be passed over to prove the path anew, as few packets leave in a
/// round trip, nobody gains by a short one.
const DOUBTS: u32 = 64;

/// What is known of the shortest round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tfrc::tx) struct Trips {
    /// The handshake's, or the shortest time that an acknowledgement took since, whatever it says of the
    /// time that the packet was held: paths do get shorter, and that shows here.
    least: Option<Duration>,
    /// The time from a packet to the proof that it has come, newest first.
    proven: [Option<Duration>; PROVEN],
    /// Samples in a row that were shorter than the proofs allow.
    doubted: u32,
}

impl Trips {
    /// The connection measured a round trip, from which nothing was subtracted.
    pub(in crate::tfrc::tx) fn on_measured(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// A packet is proven to have come no later than `ago` after it left: the report that came then
    /// knows of the number passed over before it.
    pub(super) fn on_proof(&mut self, ago: Duration) {
        self.proven.rotate_right(1);
        self.proven[0] = Some(ago);
        self.doubted = 0;
    }

    /// A round trip: an acknowledgement took `waited` to come, and says that the packet was `held` for
    /// a part of it. `apart` is how long after that packet the next one left, if one did.
    pub(in crate::tfrc::tx) fn sample(
        &mut self,
        waited: Duration,
        held: Duration,
        apart: Option<Duration>,
    ) -> Duration {
        self.on_measured(waited);
        // RFC 4342, 6: the newest packet that has come is acknowledged. Had the next one come while
        // this one was held, it would be that one; so no more counts than lay between them.
        let held = apart.map_or(held, |apart| held.min(apart));
        let sample = waited.saturating_sub(held);
        let least = self.least.map_or(sample, |least| least.max(sample));
        let floor = self.floor();
        if least >= floor {
            self.doubted = 0;
            return least;
        }
        self.doubted += 1;
        if self.doubted >= DOUBTS {
            self.proven = [None; PROVEN];
            self.doubted = 0;
        }
        floor
    }

    /// Is the path said to be shorter than what was proven of it?
    pub(super) const fn want_proof(&self) -> bool {
        self.doubted > 0
    }

    /// No round trip of now is shorter. A proof waits for the three packets that make a loss of a
    /// hole, and those come within a fraction of a round trip; a fifth is granted for it and for
    /// queues that have emptied since. While there are fewer proofs than are remembered, one late
    /// report could make all of them long, so the handshake's time counts as well.
    fn floor(&self) -> Duration {
        let proven = self.proven.iter().flatten().min();
        let Some(&shortest) = proven else {
            return Duration::ZERO;
        };
        let shortest = match self.least {
            Some(least) if self.proven.iter().any(Option::is_none) => least.min(shortest),
            _ => shortest,
        };
        shortest * 4 / 5
    }
}

#[cfg(test)]
mod tests {
    use super::{DOUBTS, Trips};
    use fairwire_units::Duration;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// An Elapsed Time counts up to the time until the next packet left, and makes no sample shorter
    /// than the handshake.
    #[test]
    fn finding_5_elapsed_times_do_not_shorten_the_path() {
        let mut trips = Trips::default();
        trips.on_measured(ms(100));
        assert_eq!(trips.sample(ms(130), ms(20), Some(ms(25))), ms(110));
        assert_eq!(trips.sample(ms(130), ms(129), Some(ms(10))), ms(120));
        assert_eq!(trips.sample(ms(130), ms(129), None), ms(100));
    }

    /// A path that gets shorter is believed where the acknowledgement itself comes sooner.
    #[test]
    fn paths_get_shorter() {
        let mut trips = Trips::default();
        trips.on_measured(ms(100));
        assert_eq!(trips.sample(ms(60), ms(5), Some(ms(8))), ms(60));
        assert_eq!(trips.sample(ms(70), ms(5), Some(ms(8))), ms(65));
    }

    /// Acknowledgements before arrival do not: what is proven by numbers that nobody could know of
    /// counts, and the newest proofs do.
    #[test]
    fn finding_5_early_acknowledgements_do_not_shorten_the_path() {
        let mut trips = Trips::default();
        trips.on_measured(ms(100));
        for _ in 0..4 {
            trips.on_proof(ms(150));
        }
        assert_eq!(trips.sample(ms(5), ms(0), None), ms(120));
        trips.on_proof(ms(50));
        assert_eq!(trips.sample(ms(5), ms(0), None), ms(40));
    }

    /// A path that got shorter while nothing could be proven is believed in the end.
    #[test]
    fn old_proofs_are_forgotten() {
        let mut trips = Trips::default();
        for _ in 0..4 {
            trips.on_proof(ms(600));
        }
        for _ in 0..DOUBTS {
            assert_eq!(trips.sample(ms(50), ms(0), None), ms(480));
            assert!(trips.want_proof() || trips.floor().is_zero());
        }
        assert_eq!(trips.sample(ms(50), ms(0), None), ms(50));
    }
}
