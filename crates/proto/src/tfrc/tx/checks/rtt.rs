//! Round-trip times that a receiver cannot make shorter by false reports.
//!
//! A short round-trip time gives a high rate. A receiver can claim one in two ways: with an Elapsed Time (RFC 4340,
//! section 13.2) that is too long, or by acknowledging packets that have not arrived yet.

use fairwire_units::Duration;

/// The number of proofs from skipped numbers that are remembered.
const PROVEN: usize = 4;

/// Samples in a row below what the proofs allow, about one per round trip, after which the proofs are forgotten. If too
/// few packets leave in a round trip to skip a number, no new proof is possible, but a short round-trip time gains
/// nothing either.
const DOUBTS: u32 = 64;

/// The state of the checks on round-trip times.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tfrc::tx) struct RttChecks {
    /// The shortest time that an acknowledgement took, beginning with the handshake's round-trip time. It ignores the
    /// reported holding time, so it follows a path that becomes shorter.
    least: Option<Duration>,
    /// The times from the departure of a packet to the proof of its arrival, newest first.
    proven: [Option<Duration>; PROVEN],
    /// The number of samples in a row that were shorter than the proofs allow.
    doubted: u32,
}

impl RttChecks {
    /// Records a round-trip time that the connection measured, from which nothing was subtracted.
    pub(in crate::tfrc::tx) fn on_measured(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    /// Records that a packet which left `ago` ago has arrived. The report that arrived now knows of the number skipped
    /// before that packet.
    pub(super) fn on_proof(&mut self, ago: Duration) {
        self.proven.rotate_right(1);
        self.proven[0] = Some(ago);
        self.doubted = 0;
    }

    /// Returns the round-trip time to use. An acknowledgement took `waited` to come and says that the packet was `held`
    /// for part of that time. `apart` is the time from that packet's departure to the next one's, if there was one.
    pub(in crate::tfrc::tx) fn sample(
        &mut self,
        waited: Duration,
        held: Duration,
        apart: Option<Duration>,
    ) -> Duration {
        self.on_measured(waited);
        // RFC 4342, 6: the newest packet received is acknowledged. If the next packet had arrived while this one was
        // held, it would have been acknowledged instead. So at most the time between the two counts as held.
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

    /// Returns whether samples are shorter than the proofs allow, so that a new proof would help.
    pub(super) const fn needs_proof(&self) -> bool {
        self.doubted > 0
    }

    /// Returns the shortest round-trip time that is believed. A proof waits for the three packets after a hole that
    /// make it a loss, which arrive within a fraction of a round trip. A fifth is allowed for that wait and for queues
    /// that have emptied since. One late report could make all proofs long while there are few of them, so until then
    /// the shortest measured time counts as well.
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
    use super::{DOUBTS, RttChecks};
    use fairwire_units::Duration;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// An Elapsed Time counts only up to the time until the next packet left, and makes no sample shorter than the
    /// handshake's.
    #[test]
    fn finding_5_elapsed_times_do_not_shorten_the_path() {
        let mut checks = RttChecks::default();
        checks.on_measured(ms(100));
        assert_eq!(checks.sample(ms(130), ms(20), Some(ms(25))), ms(110));
        assert_eq!(checks.sample(ms(130), ms(129), Some(ms(10))), ms(120));
        assert_eq!(checks.sample(ms(130), ms(129), None), ms(100));
    }

    /// A path that becomes shorter is believed if the acknowledgement itself arrives sooner.
    #[test]
    fn paths_get_shorter() {
        let mut checks = RttChecks::default();
        checks.on_measured(ms(100));
        assert_eq!(checks.sample(ms(60), ms(5), Some(ms(8))), ms(60));
        assert_eq!(checks.sample(ms(70), ms(5), Some(ms(8))), ms(65));
    }

    /// Acknowledgements sent before the packet arrived do not shorten the path. The floor follows the newest proofs,
    /// which come from skipped numbers that the receiver cannot know.
    #[test]
    fn finding_5_early_acknowledgements_do_not_shorten_the_path() {
        let mut checks = RttChecks::default();
        checks.on_measured(ms(100));
        for _ in 0..4 {
            checks.on_proof(ms(150));
        }
        assert_eq!(checks.sample(ms(5), ms(0), None), ms(120));
        checks.on_proof(ms(50));
        assert_eq!(checks.sample(ms(5), ms(0), None), ms(40));
    }

    /// A path that became shorter while nothing could be proven is believed in the end.
    #[test]
    fn old_proofs_are_forgotten() {
        let mut checks = RttChecks::default();
        for _ in 0..4 {
            checks.on_proof(ms(600));
        }
        for _ in 0..DOUBTS {
            assert_eq!(checks.sample(ms(50), ms(0), None), ms(480));
            assert!(checks.needs_proof() || checks.floor().is_zero());
        }
        assert_eq!(checks.sample(ms(50), ms(0), None), ms(50));
    }
}
