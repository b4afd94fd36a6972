//! Silence: how long we bear it from the peer, and how long we keep it ourselves.

use fairwire_units::{Duration, Instant};

use crate::config::Config;

/// The shortest interval of keep-alive Syncs: RFC 4340, 7.5.4, bears eight Syncs a second.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_millis(125);

/// When something was last sent and heard.
#[derive(Debug)]
pub(super) struct Liveness {
    idle_timeout: Duration,
    keep_alive: Option<Duration>,
    sent_at: Instant,
    /// When the first packet left that wants an answer and has none.
    unanswered_since: Option<Instant>,
}

impl Liveness {
    pub(super) fn new(now: Instant, config: &Config) -> Self {
        Self {
            idle_timeout: config.idle_timeout,
            keep_alive: config
                .keep_alive
                .map(|every| every.max(SHORTEST_KEEP_ALIVE)),
            sent_at: now,
            unanswered_since: None,
        }
    }

    /// A packet left. `wants_answer` says that a living peer would send something back.
    pub(super) fn on_sent(&mut self, now: Instant, wants_answer: bool) {
        self.sent_at = now;
        if wants_answer {
            self.unanswered_since.get_or_insert(now);
        }
    }

    /// A valid packet arrived.
    pub(super) fn on_heard(&mut self) {
        self.unanswered_since = None;
    }

    /// When to give up on the peer.
    pub(super) fn gives_up_at(&self) -> Option<Instant> {
        Some(self.unanswered_since? + self.idle_timeout)
    }

    /// When to send something, just to be heard.
    pub(super) fn speaks_at(&self) -> Option<Instant> {
        Some(self.sent_at + self.keep_alive?)
    }
}
