//! Sync and `SyncAck`: resynchronisation after a burst of loss (RFC 4340, section 7.5.4).
//!
//! Anybody who knows the ports can send invalid packets, so strangers can use up the eight Syncs a second that answer
//! them. A packet that acknowledges a number of ours comes from somebody who sees our packets, so it takes precedence.
//! Path MTU probes and keep-alive Syncs do not answer a packet and have rate limits of their own.

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::rate_limit::RateLimit;

/// Maximum rate of Syncs, per second (RFC 4340, 7.5.4).
const SYNCS_PER_S: u32 = 8;

/// Maximum rate of `SyncAck`s, per second. A peer like us sends at most eight Syncs for invalid packets, eight probes
/// and eight keep-alives.
const SYNC_ACKS_PER_S: u32 = 3 * SYNCS_PER_S;

/// Maximum number of `SyncAck`s in a burst.
const SYNC_ACK_BURST: u32 = SYNC_ACKS_PER_S;

/// How long a packet whose sender knew our numbers waits for a Sync. After this time another one has arrived, or the
/// answer is no longer needed.
const WAITING_LIFETIME: Duration = Duration::from_secs(1);

/// What an invalid packet shows about its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sender {
    /// The sender knows our numbers: the packet acknowledges one of our packets, or its own number is valid. Nobody off
    /// the path can guess these (RFC 4340, 7.5.5).
    OnPath,
    /// The sender may be anybody.
    Unknown,
}

/// Syncs and `SyncAck`s to send.
#[derive(Debug)]
pub(crate) struct Syncs {
    pub(crate) ask: Option<Seq>,
    pub(crate) answer: Option<Seq>,
    asks: RateLimit,
    /// The newest packet whose sender knew our numbers but for which no Sync was left. It gets the next one.
    waiting: Option<(Seq, Instant)>,
    probes: RateLimit,
    answers: RateLimit,
}

impl Syncs {
    pub(crate) fn new() -> Self {
        Self {
            ask: None,
            answer: None,
            asks: RateLimit::per_second(SYNCS_PER_S, 1),
            waiting: None,
            probes: RateLimit::per_second(SYNCS_PER_S, 1),
            answers: RateLimit::per_second(SYNC_ACKS_PER_S, SYNC_ACK_BURST),
        }
    }

    /// Asks the peer about its packet `ackno` with a Sync, within the rate limit. Used for packets with invalid numbers
    /// (step 6) and of unexpected types (step 7).
    ///
    /// If no Sync is left, the newest packet whose sender knew our numbers gets the next one. So a stream of packets
    /// from an outsider, which uses up all Syncs, cannot keep the two ends from resynchronising.
    pub(crate) fn ask(&mut self, now: Instant, ackno: Seq, sender: Sender) {
        let allowed = self.asks.allow(now);
        let waiting = self
            .waiting
            .filter(|&(_, since)| now.saturating_since(since) <= WAITING_LIFETIME);
        match (sender, allowed) {
            (Sender::OnPath, true) => {
                self.waiting = None;
                self.ask = Some(ackno);
            }
            (Sender::OnPath, false) => self.waiting = Some((ackno, now)),
            (Sender::Unknown, true) => {
                self.waiting = None;
                self.ask = Some(waiting.map_or(ackno, |(known, _)| known));
            }
            (Sender::Unknown, false) => {}
        }
    }

    /// Asks the peer to answer, about its packet `ackno`. There is no limit here, because our own application causes
    /// it.
    pub(crate) fn request_answer(&mut self, ackno: Seq) {
        self.ask = Some(ackno);
    }

    /// Returns whether a probe may leave now (a Sync whose only purpose is to arrive), and counts it if so.
    pub(crate) fn may_probe(&mut self, now: Instant) -> bool {
        self.probes.allow(now)
    }

    /// Returns when the next probe may leave.
    pub(crate) fn probes_from(&self) -> Instant {
        self.probes.allowed_from()
    }

    /// Answers the Sync `seq` (step 15).
    pub(crate) fn answer(&mut self, now: Instant, seq: Seq) {
        // RFC 4340, 5.7 and 8.2: with its number, at once, subject to a rate limit.
        if self.answers.allow(now) {
            self.answer = Some(seq);
        }
    }
}
