//! What is left of a window that was not used for a while.

use fairwire_units::Duration;

/// What happens to the window when nothing was sent for longer than the timeout.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IdleRule {
    /// Back to the initial window, if that is smaller (RFC 5681, section 4.1; RFC 4341, section 5.1).
    #[default]
    Restart,
    /// Half for each timeout that passed, remembering three quarters as the threshold (RFC 2861,
    /// section 3.1).
    Halve,
    /// Nothing: as simulators of the time did.
    Keep,
}

impl IdleRule {
    /// Window and threshold after `idle` without a packet.
    pub(super) fn apply(
        self,
        (cwnd, ssthresh): (f64, f64),
        initial: f64,
        idle: Duration,
        rto: Duration,
    ) -> (f64, f64) {
        if idle <= rto {
            return (cwnd, ssthresh);
        }
        match self {
            Self::Restart => (cwnd.min(initial), ssthresh),
            Self::Halve => {
                let mut left = cwnd;
                let mut spent = rto;
                while spent < idle && left > 1.0 {
                    left = (left / 2.0).floor().max(1.0);
                    spent += rto.max(Duration::from_nanos(1));
                }
                (left, ssthresh.max(cwnd * 0.75))
            }
            Self::Keep => (cwnd, ssthresh),
        }
    }
}
