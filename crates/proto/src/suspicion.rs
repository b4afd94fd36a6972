//! What a sender knows of its receiver's honesty (RFC 4340, section 12.3; RFC 4342, section 9).

/// Lies, less the checks that were passed since, after which the connection ends.
///
/// RFC 4340, 12.3: a last resort. A single forged Data packet spoils a nonce echo for as long as
/// vectors speak of it, a few round trips.
pub(crate) const PATIENCE: u32 = 8;

/// Packets that leave before the first number is passed over. What is over sooner, a receiver that
/// lies can do little with, and an honest one need not count a loss that was none.
const UNTRIED: u32 = 256;

/// Of 65,536 numbers so many are passed over until the peer has told the truth [`TRIALS`] times.
const ON_TRIAL: u32 = 256;

/// Of 65,536 numbers so many are passed over afterwards. The peer's application takes each for a lost
/// datagram, so there are few; but one who has told the truth for long may still begin to lie.
const TRUSTED: u32 = 32;

/// Of 65,536 numbers so many are passed over when something depends on it soon.
const IN_DOUBT: u32 = 2_048;

/// Of 65,536 numbers so many are passed over under suspicion: enough for one in most round trips, too
/// few to be guessed.
const SUSPECTED: u32 = 8_192;

/// Truths told after which a peer that never lied is trusted.
const TRIALS: u32 = 8;

/// What a sender knows of its receiver: lies found, less the checks that were passed since, and how
/// well it has stood the test so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Suspicion {
    strikes: u32,
    /// Did it ever lie?
    has_lied: bool,
    truths: u32,
    packets: u32,
}

impl Suspicion {
    /// A packet left.
    pub(crate) fn on_sent(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }

    /// A lie was found.
    pub(crate) fn on_lie(&mut self) {
        self.strikes = self.strikes.saturating_add(1);
        self.has_lied = true;
    }

    /// A check was passed.
    pub(crate) fn on_truth(&mut self) {
        self.strikes = self.strikes.saturating_sub(1);
        self.truths = self.truths.saturating_add(1);
    }

    /// Of 65,536 numbers, how many should be passed over to see whether the peer claims them? More
    /// if there is a `doubt` that the next of them would settle.
    pub(crate) const fn skips_of_65536(self, doubt: bool) -> u32 {
        if self.exists() {
            SUSPECTED
        } else if self.packets < UNTRIED {
            0
        } else if doubt {
            IN_DOUBT
        } else if self.has_lied || self.truths < TRIALS {
            ON_TRIAL
        } else {
            TRUSTED
        }
    }

    /// Is there more than nothing?
    pub(crate) const fn exists(self) -> bool {
        self.strikes > 0
    }

    /// Has the peer lied so often that the connection should end?
    pub(crate) const fn is_aggression(self) -> bool {
        self.strikes >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::{IN_DOUBT, ON_TRIAL, SUSPECTED, Suspicion, TRIALS, TRUSTED, UNTRIED};

    /// A short connection is not tried at all; a longer one until it has told the truth for a while,
    /// and then hardly ever. Who lied once is tried for good.
    #[test]
    fn trust_is_earned_once() {
        let mut suspicion = Suspicion::default();
        for _ in 0..UNTRIED {
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
