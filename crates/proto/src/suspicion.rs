//! A sender's record of its receiver's honesty (RFC 4340, section 12.3; RFC 4342, section 9).

/// Number of lies, less the checks passed since, after which the connection ends.
///
/// RFC 4340, 12.3: the last resort. A single forged Data packet spoils the nonce echo for as long as Ack Vectors cover
/// it, a few round trips.
pub(crate) const MAX_STRIKES: u32 = 8;

/// Number of packets sent before the first number is skipped. A lying receiver gains little in a shorter connection,
/// and an honest one need not count a loss that did not happen.
const GRACE_PACKETS: u32 = 256;

/// Numbers skipped of 65,536 until the peer has passed [`TRIALS`] checks.
const ON_TRIAL: u32 = 256;

/// Numbers skipped of 65,536 afterwards. The peer's application takes each for a lost datagram, so there are few; but
/// even a peer that was honest for long may begin to lie.
const TRUSTED: u32 = 32;

/// Numbers skipped of 65,536 while a decision waits for the next check.
const IN_DOUBT: u32 = 2_048;

/// Numbers skipped of 65,536 under suspicion: enough for one in most round trips, too few to be guessed.
const SUSPECTED: u32 = 8_192;

/// Checks passed after which a peer that never lied is trusted.
const TRIALS: u32 = 8;

/// The record of one receiver: the lies found, less the checks passed since, and the number of checks it has passed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Suspicion {
    strikes: u32,
    /// Whether it ever lied.
    has_lied: bool,
    truths: u32,
    packets: u32,
}

impl Suspicion {
    /// Counts a packet that left.
    pub(crate) fn on_sent(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }

    /// Records a lie.
    pub(crate) fn on_lie(&mut self) {
        self.strikes = self.strikes.saturating_add(1);
        self.has_lied = true;
    }

    /// Records a passed check.
    pub(crate) fn on_truth(&mut self) {
        self.strikes = self.strikes.saturating_sub(1);
        self.truths = self.truths.saturating_add(1);
    }

    /// Returns how many of 65,536 numbers to skip, to see whether the peer claims to have received them. There are more
    /// if there is a `doubt` that the next check would settle.
    pub(crate) const fn skips_of_65536(self, doubt: bool) -> u32 {
        if self.is_suspected() {
            SUSPECTED
        } else if self.packets < GRACE_PACKETS {
            0
        } else if doubt {
            IN_DOUBT
        } else if self.has_lied || self.truths < TRIALS {
            ON_TRIAL
        } else {
            TRUSTED
        }
    }

    /// Returns whether there is any suspicion.
    pub(crate) const fn is_suspected(self) -> bool {
        self.strikes > 0
    }

    /// Returns whether the peer lied so often that the connection should end.
    pub(crate) const fn is_aggression(self) -> bool {
        self.strikes >= MAX_STRIKES
    }
}

#[cfg(test)]
mod tests {
    use super::{GRACE_PACKETS, IN_DOUBT, ON_TRIAL, SUSPECTED, Suspicion, TRIALS, TRUSTED};

    /// A short connection is not checked, a longer one until it has passed some checks, and then rarely. A receiver
    /// that lied once is checked more often for good.
    #[test]
    fn trust_is_earned_once() {
        let mut suspicion = Suspicion::default();
        for _ in 0..GRACE_PACKETS {
            assert_eq!(suspicion.skips_of_65536(true), 0);
            suspicion.on_sent();
        }
        for _ in 0..TRIALS {
            assert_eq!(suspicion.skips_of_65536(false), ON_TRIAL);
            suspicion.on_truth();
        }
        assert_eq!(suspicion.skips_of_65536(false), TRUSTED);
        assert_eq!(suspicion.skips_of_65536(true), IN_DOUBT);
        suspicion.on_lie();
        assert_eq!(suspicion.skips_of_65536(false), SUSPECTED);
        for _ in 0..2 * TRIALS {
            suspicion.on_truth();
        }
        assert_eq!(suspicion.skips_of_65536(false), ON_TRIAL);
    }
}
