//! How fast data arrived: over the last rounds, and at most in the last seconds.

use fairwire_units::{Duration, Instant};

/// The number of rounds over which the arrival of data is averaged.
pub(super) const ROUNDS: usize = 4;
/// A round of an application without data is at most this long. A longer one is a pause, which proves nothing; RFC
/// 7661, section 4.2, looks back equally far.
const LONGEST_ROUND: Duration = Duration::from_secs(1);
/// For how long the highest arrival rate counts at least; at most twice as long.
const PROOF_LIFE: Duration = Duration::from_secs(5);

/// The bytes that had arrived at the end of a round.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Instant,
    bytes: u64,
}

/// The bytes that arrived in the last rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    bytes: u64,
    /// The ends of rounds, newest first.
    marks: [Mark; ROUNDS + 1],
    len: usize,
}

impl Arrivals {
    /// Adds bytes. Returns whether a round of this `length` is over.
    #[inline]
    pub(super) fn add(&mut self, now: Instant, bytes: u64, length: Duration) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.len == 0 {
            // The first round begins with the first arrival. What has arrived by then took an unknown time.
            self.push(now);
            return false;
        }
        now.saturating_since(self.marks[0].at) >= length
    }

    /// Ends a round. If the application left capacity unused, a long round was a pause, and counting starts again.
    pub(super) fn end_round(&mut self, now: Instant, spare: bool, length: Duration) {
        let longest = LONGEST_ROUND.max(length * ROUNDS as u64);
        if spare && now.saturating_since(self.marks[0].at) > longest {
            self.len = 0;
        }
        self.push(now);
    }

    fn push(&mut self, now: Instant) {
        self.marks.rotate_right(1);
        self.marks[0] = Mark {
            at: now,
            bytes: self.bytes,
        };
        self.len = (self.len + 1).min(self.marks.len());
    }

    /// Returns the mean rate over up to `rounds` of the last rounds, bytes per second; `None` if none is over.
    pub(super) fn rate(&self, rounds: usize) -> Option<f64> {
        let (newest, oldest) = (
            self.marks[0],
            self.marks[rounds.min(self.len.checked_sub(1)?)],
        );
        let seconds = newest.at.saturating_since(oldest.at).as_secs_f64();
        (seconds > 0.0).then(|| (newest.bytes - oldest.bytes) as f64 / seconds)
    }
}

/// The highest rate at which data arrived in the last seconds in which data was sent, bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proven {
    since: Instant,
    now: f64,
    before: f64,
}

impl Proven {
    /// Returns the rate.
    pub(super) fn rate(self) -> f64 {
        self.now.max(self.before)
    }

    /// Takes a measurement. A pause before it does not make older ones expire.
    pub(super) fn note(&mut self, now: Instant, rate: f64) {
        if now.saturating_since(self.since) >= PROOF_LIFE {
            (self.since, self.before, self.now) = (now, self.now, rate);
        }
        self.now = self.now.max(rate);
    }

    /// Takes the capacity of the network, beside which nothing older counts.
    pub(super) fn replace(&mut self, now: Instant, rate: f64) {
        (self.since, self.before, self.now) = (now, 0.0, rate);
    }
}
