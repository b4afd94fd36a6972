//! When negotiation options are sent (RFC 4340, sections 6.6.1 and 6.6.3), and which unknown features are owed an
//! answer.

use fairwire_units::{Duration, Instant};

/// The least first interval between two transmissions of a Change; it is two round trips if they are longer.
const FIRST_INTERVAL: Duration = Duration::from_millis(200);

/// The longest interval (RFC 4340, section 6.6.3).
const LONGEST_INTERVAL: Duration = Duration::from_secs(64);

/// The times at which negotiation options may and must be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Schedule {
    /// When an option of ours was last sent.
    last_written: Option<Instant>,
    /// When unanswered Changes are sent again, and the interval before that.
    again: Option<(Instant, Duration)>,
    /// Whether Confirms are repeated on each packet, as in RESPOND and PARTOPEN. A peer that remembers only one
    /// packet's options (the Linux kernel's server) gets them with whichever packet arrives first.
    pub(super) repeat_answers: bool,
}

impl Schedule {
    /// Returns when a packet is needed only for negotiation. `owes` says that something is still unsent, `waits` that
    /// an answer is awaited.
    pub(super) fn next(&self, owes: bool, waits: bool, rtt: Duration) -> Option<Instant> {
        // RFC 4340, 6.6.1: at most one packet for negotiation per round trip.
        let earliest = self.last_written.map_or(Instant::START, |last| last + rtt);
        let again = self.again.filter(|_| waits).map(|(at, _)| at.max(earliest));
        if owes { Some(earliest) } else { again }
    }

    pub(super) fn is_retransmission_due(&self, now: Instant) -> bool {
        self.again.is_none_or(|(at, _)| at <= now)
    }

    pub(super) fn on_written(
        &mut self,
        now: Instant,
        rtt: Duration,
        handshake: bool,
        wrote: Wrote,
    ) {
        let first = FIRST_INTERVAL.max(rtt * 2);
        self.last_written = Some(now);
        if wrote.new_change || (wrote.change && handshake) {
            self.again = Some((now + first, first));
        } else if wrote.change {
            // RFC 4340, 6.6.3: exponential back-off.
            let last = self.again.map_or(first, |(_, interval)| interval);
            let next = (last * 2).min(LONGEST_INTERVAL).max(first);
            self.again = Some((now + next, next));
        }
    }
}

/// The negotiation options that were written into one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wrote {
    pub(super) confirm: bool,
    pub(super) change: bool,
    pub(super) new_change: bool,
}

/// The unknown features for which the peer is owed an empty Confirm: one bit each, so that no list grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnknownFeatures([u64; 4]);

impl UnknownFeatures {
    pub(super) fn owe(&mut self, number: u8) {
        self.0[usize::from(number / 64)] |= 1 << (number % 64);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Takes the smallest feature number that is owed.
    pub(super) fn take(&mut self) -> Option<u8> {
        let (index, word) = self
            .0
            .iter_mut()
            .enumerate()
            .find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        u8::try_from(index * 64 + bit as usize).ok()
    }
}
