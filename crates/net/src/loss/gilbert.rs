//! Losses in bursts.

use fairwire_units::Instant;

use super::{Loss, Verdict};
use crate::{Packet, Stream};

/// The two-state chain of Gilbert (1960) with Elliott's (1963) losses in both states.
///
/// The link is good or bad; after each packet it may change. In the long run it is bad for the
/// share `good_to_bad / (good_to_bad + bad_to_good)` of the packets, and stays bad for
/// `1 / bad_to_good` packets on average. It starts in the good state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Probability that a good link is bad for the next packet, 0 to 1.
    pub good_to_bad: f64,
    /// Probability that a bad link is good for the next packet, 0 to 1.
    pub bad_to_good: f64,
    /// Probability that a good link loses a packet, 0 to 1.
    pub loss_good: f64,
    /// Probability that a bad link loses a packet, 0 to 1.
    pub loss_bad: f64,
}

impl Bursts {
    /// The share of all packets that is lost in the long run, 0 to 1.
    pub fn mean_loss(&self) -> f64 {
        let leaves = self.good_to_bad + self.bad_to_good;
        if leaves <= 0.0 {
            return self.loss_good;
        }
        let bad = self.good_to_bad / leaves;
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// A link with [`Bursts`]. Two draws for each packet: its fate, then the next state.
#[derive(Debug)]
pub struct GilbertElliott {
    bursts: Bursts,
    stream: Stream,
    bad: bool,
}

impl GilbertElliott {
    /// A link in the good state.
    pub fn new(bursts: Bursts, stream: Stream) -> Self {
        Self {
            bursts,
            stream,
            bad: false,
        }
    }
}

impl Loss for GilbertElliott {
    fn verdict(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        let (loss, leave) = if self.bad {
            (self.bursts.loss_bad, self.bursts.bad_to_good)
        } else {
            (self.bursts.loss_good, self.bursts.good_to_bad)
        };
        let lost = self.stream.bool(loss);
        self.bad ^= self.stream.bool(leave);
        if lost { Verdict::Drop } else { Verdict::Pass }
    }
}
