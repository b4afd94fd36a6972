//! Sync and `SyncAck`: back in step after a burst of loss (RFC 4340, section 7.5.4).

use fairwire_units::Instant;
use fairwire_wire::{HeadBuf, Kind, Seq};

use super::{Connection, Context, State};
use crate::rate_limit::RateLimit;
use crate::transmit::Transmit;

/// RFC 4340, 7.5.4: eight Syncs a second.
const SYNCS_PER_S: u32 = 8;

/// `SyncAck`s that may follow each other at once.
const SYNC_ACK_BURST: u32 = 8;

/// Syncs and answers that are to leave.
#[derive(Debug)]
pub(super) struct Syncs {
    ask: Option<Seq>,
    answer: Option<Seq>,
    asks: RateLimit,
    answers: RateLimit,
}

impl Syncs {
    pub(super) fn new() -> Self {
        Self {
            ask: None,
            answer: None,
            asks: RateLimit::per_second(SYNCS_PER_S, 1),
            answers: RateLimit::per_second(SYNCS_PER_S, SYNC_ACK_BURST),
        }
    }

    /// Asks the peer about its packet `ackno`, unless that was done a moment ago. For packets
    /// with invalid numbers (step 6) and of unexpected types (step 7) alike.
    pub(super) fn ask(&mut self, now: Instant, ackno: Seq) {
        if self.asks.allow(now) {
            self.ask = Some(ackno);
        }
    }

    /// May a Sync leave that asks nothing but whether it arrives? If so, it counts.
    pub(super) fn may_ask(&mut self, now: Instant) -> bool {
        self.asks.allow(now)
    }

    /// When the next Sync may leave.
    pub(super) fn asks_from(&self) -> Instant {
        self.asks.allowed_from()
    }

    /// Answers the Sync `seq` (step 15).
    pub(super) fn answer(&mut self, now: Instant, seq: Seq) {
        // RFC 4340, 5.7 and 8.2: by its number, at once, subject to a rate limit.
        if self.answers.allow(now) {
            self.answer = Some(seq);
        }
    }
}

impl Connection {
    /// The next Sync or `SyncAck`.
    pub(super) fn transmit_sync(
        &mut self,
        ctx: &mut Context<'_>,
        head: &mut HeadBuf,
    ) -> Option<Transmit> {
        let kind = if let Some(seq) = self.syncs.answer.take() {
            Kind::SyncAck { ack: seq.into() }
        } else if let Some(seq) = self.syncs.ask.take() {
            Kind::Sync { ack: seq.into() }
        } else {
            return None;
        };
        Some(self.send_plain(ctx, head, &kind))
    }

    /// A Sync that keeps the path open, when nothing else was sent for long enough.
    pub(super) fn transmit_keep_alive(
        &mut self,
        ctx: &mut Context<'_>,
        head: &mut HeadBuf,
    ) -> Option<Transmit> {
        let due = self.liveness.speaks_at().is_some_and(|at| at <= ctx.now);
        if !due || self.state != State::Open {
            return None;
        }
        let ack = self.sequence.acknowledgeable.into();
        Some(self.send_plain(ctx, head, &Kind::Sync { ack }))
    }
}
