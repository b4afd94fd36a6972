//! Records of retransmitted handshake packets.

use fairwire_units::{Duration, Instant};

/// RFC 4340, 8.1.1, 8.1.5 and 8.3: the timers back off to 64 seconds.
pub(in crate::oracle) const LONGEST: Duration = Duration::from_secs(64);

/// The longest first wait, unless the round trip is longer.
///
/// The first wait is one second (8.1.1), about 200 ms (8.1.5), or two round trips (8.3).
pub(in crate::oracle) const FIRST: Duration = Duration::from_secs(1);

/// Packets sent in a state that repeats them.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::oracle) struct Repeats {
    pub(in crate::oracle) state: Option<&'static str>,
    pub(in crate::oracle) count: u32,
    pub(in crate::oracle) at: Instant,
    /// The round-trip time when the first packet was sent, which decided the first wait. It is the greater one of those
    /// before and after that step. Later waits double the first one, even if the round-trip time changes.
    pub(in crate::oracle) rtt: Duration,
    pub(in crate::oracle) is_rtt_known: bool,
}

impl Repeats {
    /// Returns the longest time to wait after the last packet. Each wait is at most twice the one before.
    pub(in crate::oracle) fn most(self) -> Duration {
        let first = FIRST.max(self.rtt * 2);
        let doubled = first * (1 << self.count.saturating_sub(1).min(20));
        // A host's clock may be a tenth slow.
        doubled.min(LONGEST) * 5 / 4
    }
}
