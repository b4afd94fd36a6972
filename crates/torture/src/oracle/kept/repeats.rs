//! Of packets that are sent again.

use fairwire_units::{Duration, Instant};

/// RFC 4340, 8.1.1, 8.1.5 and 8.3: the timers back off to 64 seconds.
pub(in crate::oracle) const LONGEST: Duration = Duration::from_secs(64);

/// The first wait is a second (8.1.1), some 200 ms (8.1.5), or two round trips (8.3); a longer round trip may
/// make it longer.
pub(in crate::oracle) const FIRST: Duration = Duration::from_secs(1);

/// What was sent in a state that repeats.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::oracle) struct Repeats {
    pub(in crate::oracle) state: Option<&'static str>,
    pub(in crate::oracle) count: u32,
    pub(in crate::oracle) at: Instant,
    /// The round trip when the first of them left, by which the first wait was chosen: the longer one of those
    /// before and after that step. The others double it, whatever becomes of the round trip.
    pub(in crate::oracle) rtt: Duration,
    pub(in crate::oracle) is_rtt_known: bool,
}

impl Repeats {
    /// How long the wait that follows the last packet may be: each is twice the one before at most.
    pub(in crate::oracle) fn most(self) -> Duration {
        let first = FIRST.max(self.rtt * 2);
        let doubled = first * (1 << self.count.saturating_sub(1).min(20));
        // A host's clock may lose a tenth.
        doubled.min(LONGEST) * 5 / 4
    }
}
