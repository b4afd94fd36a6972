//! What is left of a window that was not used for a while.

use fairwire_units::{Duration, Instant};

/// What happens to the window when nothing was sent for longer than the timeout, and when less was
/// sent than it allows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum IdleRule {
    /// Back to the initial window, if that is smaller (RFC 5681, section 4.1; RFC 4341, section 5.1).
    #[default]
    Restart,
    /// Half for each timeout that passed, remembering three quarters as the threshold; and half way
    /// to what was used where the application did not fill it for a timeout (RFC 2861, section 3).
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

/// How much of the window the application used lately (RFC 2861, section 3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    /// When the window was full last, or was brought down to what was used.
    since: Option<Instant>,
    /// The most packets in flight since then.
    packets: u32,
}

impl Use {
    /// A packet left, and now `packets` are in flight under a window of `cwnd`. How many were used
    /// at most, if the window was not full for longer than `rto`.
    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        packets: u32,
        cwnd: f64,
        rto: Duration,
    ) -> Option<u32> {
        let since = *self.since.get_or_insert(now);
        self.packets = self.packets.max(packets);
        let full = f64::from(packets) >= cwnd.floor();
        if !full && now.saturating_since(since) <= rto {
            return None;
        }
        let used = self.packets;
        (self.since, self.packets) = (Some(now), 0);
        (!full).then_some(used)
    }
}
