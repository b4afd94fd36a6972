//! Sync and `SyncAck`: back in step after a burst of loss (RFC 4340, section 7.5.4).
//!
//! Anybody who knows the ports can send invalid packets, so the eight Syncs a second that answer them
//! are for strangers too. A packet that acknowledges what we sent comes from somebody who sees
//! our packets: it goes first. Probes of the path MTU and keep-alives answer nothing and have
//! allowances of their own.

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::rate_limit::RateLimit;

/// RFC 4340, 7.5.4: eight Syncs a second.
const SYNCS_PER_S: u32 = 8;

/// `SyncAck`s a second: a peer like us sends eight Syncs for invalid packets, eight probes and
/// eight keep-alives at most.
const SYNC_ACKS_PER_S: u32 = 3 * SYNCS_PER_S;

/// `SyncAck`s that may follow each other at once.
const SYNC_ACK_BURST: u32 = SYNC_ACKS_PER_S;

/// How long a packet that knew our numbers waits for its turn. Later another one has come, or nobody
/// waits any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// What an invalid packet shows of who sent it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sender {
    /// It acknowledges a packet of ours, or its own number is valid: off the path nobody can tell
    /// these (RFC 4340, 7.5.5).
    Knows,
    /// Nothing.
    Anybody,
}

/// Syncs and answers that are to leave.
#[derive(Debug)]
pub(crate) struct Syncs {
    pub(crate) ask: Option<Seq>,
    pub(crate) answer: Option<Seq>,
    asks: RateLimit,
    /// Who knew our numbers, found no Sync left, and has the next one.
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

    /// Asks the peer about its packet `ackno`, unless that was done a moment ago. For packets
    /// with invalid numbers (step 6) and of unexpected types (step 7) alike.
    ///
    /// Of those that found no Sync left, the newest that knew our numbers has the next one. So a
    /// stream of packets from outside, which uses up all Syncs, does not keep two ends from
    /// finding back into step.
    pub(crate) fn ask(&mut self, now: Instant, ackno: Seq, sender: Sender) {
        let allowed = self.asks.allow(now);
        let waiting = self
            .waiting
            .filter(|&(_, since)| now.saturating_since(since) <= PATIENCE);
        match (sender, allowed) {
            (Sender::Knows, true) => {
                self.waiting = None;
                self.ask = Some(ackno);
            }
            (Sender::Knows, false) => self.waiting = Some((ackno, now)),
            (Sender::Anybody, true) => {
                self.waiting = None;
                self.ask = Some(waiting.map_or(ackno, |(known, _)| known));
            }
            (Sender::Anybody, false) => {}
        }
    }

    /// Asks the peer to answer, about its packet `ackno`. Not limited here: it is our own application
    /// that causes it.
    pub(crate) fn call(&mut self, ackno: Seq) {
        self.ask = Some(ackno);
    }

    /// May a probe leave, a Sync that asks nothing but whether it arrives? If so, it counts.
    pub(crate) fn may_probe(&mut self, now: Instant) -> bool {
        self.probes.allow(now)
    }

    /// When the next probe may leave.
    pub(crate) fn probes_from(&self) -> Instant {
        self.probes.allowed_from()
    }

    /// Answers the Sync `seq` (step 15).
    pub(crate) fn answer(&mut self, now: Instant, seq: Seq) {
        // RFC 4340, 5.7 and 8.2: by its number, at once, subject to a rate limit.
        if self.answers.allow(now) {
            self.answer = Some(seq);
        }
    }
}
