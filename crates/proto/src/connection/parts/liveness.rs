//! Liveness: how long the peer may be silent, and when we send a keep-alive Sync.
//!
//! While keep-alive is on, an open connection always has a timer here: for an answer that is due, or for the next Sync.
//! So a peer that vanished is detected in every open state, also if we only receive. All other states have a deadline
//! of their own (`clock`).

use fairwire_units::{Duration, Instant};

use crate::config::Config;

/// The shortest interval of keep-alive Syncs: RFC 4340, 7.5.4, allows eight Syncs a second.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(125);

/// When packets were last sent and received.
#[derive(Debug)]
pub(crate) struct Liveness {
    idle_timeout: Duration,
    keep_alive: Option<Duration>,
    sent_at: Instant,
    /// When a packet last arrived, or one left that needs an answer. Other packets that we send do not show whether the
    /// peer is there.
    asked_at: Instant,
    /// When the first packet left that needs an answer and has none.
    unanswered_since: Option<Instant>,
}

impl Liveness {
    pub(crate) fn new(now: Instant, config: &Config) -> Self {
        Self {
            idle_timeout: config.idle_timeout.into(),
            keep_alive: config
                .keep_alive
                .map(|every| Duration::from(every).max(SHORTEST_KEEP_ALIVE)),
            sent_at: now,
            asked_at: now,
            unanswered_since: None,
        }
    }

    /// Records that a packet left. `wants_answer` means that a living peer would answer it.
    pub(crate) fn on_sent(&mut self, now: Instant, wants_answer: bool) {
        self.sent_at = now;
        if wants_answer {
            self.asked_at = now;
            self.unanswered_since.get_or_insert(now);
        }
    }

    /// Records that a valid packet arrived.
    pub(crate) fn on_received(&mut self, now: Instant) {
        self.asked_at = now;
        self.unanswered_since = None;
    }

    /// Returns when the connection ends if the peer stays silent.
    pub(crate) fn gives_up_at(&self) -> Option<Instant> {
        Some(self.unanswered_since? + self.idle_timeout)
    }

    /// Returns when to send a keep-alive Sync.
    pub(crate) fn keep_alive_at(&self) -> Option<Instant> {
        Some(self.sent_at.min(self.asked_at) + self.keep_alive?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Duration, Instant, Liveness};

    fn at(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    /// Packets that need no answer delay the keep-alive Sync by at most one interval, however many leave.
    #[test]
    fn finding_4_talking_is_not_listening() {
        let config = Config {
            keep_alive: Some(Duration::from_secs(15).into()),
            ..Config::default()
        };
        let mut liveness = Liveness::new(at(0), &config);
        for second in 1..15 {
            liveness.on_sent(at(second), false);
            assert_eq!(liveness.keep_alive_at(), Some(at(15)));
        }
        liveness.on_sent(at(15), true);
        assert_eq!(liveness.keep_alive_at(), Some(at(30)));
        assert_eq!(liveness.gives_up_at(), Some(at(45)));
        liveness.on_received(at(16));
        assert_eq!(liveness.keep_alive_at(), Some(at(30)));
        assert_eq!(liveness.gives_up_at(), None);
    }
}
