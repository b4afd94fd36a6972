//! Reduction of a window that was not used for a while.

use fairwire_units::{Duration, Instant};

/// How the window shrinks when nothing was sent for longer than the timeout, or less than it allows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum IdleRule {
    /// The window goes back to the initial window, if that is smaller (RFC 5681, section 4.1; RFC 4341, section 5.1).
    #[default]
    Restart,
    /// The window is halved for each timeout that passed. If the application did not fill it for a timeout, it goes
    /// half way down to what was used. The threshold becomes at least three quarters of the old window (RFC 2861,
    /// section 3).
    Halve,
    /// The window stays, as in older simulators.
    Keep,
}

impl IdleRule {
    /// Returns the window and the threshold after `idle` time without a packet.
    pub(super) fn apply(
        self,
        (cwnd, ssthresh): (f64, f64),
        (initial, least): (f64, f64),
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
                while spent < idle && left > least {
                    left = (left / 2.0).floor().max(least);
                    spent += rto.max(Duration::from_nanos(1));
                }
                (left, ssthresh.max(cwnd * 0.75))
            }
            Self::Keep => (cwnd, ssthresh),
        }
    }
}

/// How much of the window the application used recently (RFC 2861, section 3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// When the window was last full or was reduced to what was used.
    since: Option<Instant>,
    /// The most in flight since then.
    held: f64,
}

impl WindowUse {
    /// Records that a packet left and `held` is now in flight, which may fill the window.
    ///
    /// Returns the most in use, if the window was not full for longer than `rto`.
    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        held: f64,
        is_full: bool,
        rto: Duration,
    ) -> Option<f64> {
        let since = *self.since.get_or_insert(now);
        self.held = self.held.max(held);
        if !is_full && now.saturating_since(since) <= rto {
            return None;
        }
        let used = self.held;
        (self.since, self.held) = (Some(now), 0.0);
        (!is_full).then_some(used)
    }
}
