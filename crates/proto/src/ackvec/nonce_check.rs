//! Does the receiver tell the truth (RFC 4340, sections 12.2 and 12.3; RFC 4341, section 7)?
//!
//! Compares the nonce echo of each vector with what was sent, and waits for packets to be
//! acknowledged that were never sent. A lie counts as congestion at once; lies in many round trips,
//! more than honest ones, end the connection.

use fairwire_wire::{CellState, Seq};

use super::nonce::{Nonces, REMEMBERED};
use super::vector::Report;

/// Round trips with lies, less those without, after which the connection ends.
///
/// RFC 4340, 12.3: a last resort. A single forged Data packet spoils the echo for as long as
/// vectors speak of it, a few round trips.
pub(super) const PATIENCE: u32 = 8;

/// Numbers passed over and remembered.
const SKIPPED: usize = 4;

/// What is known of one peer's honesty.
#[derive(Clone, Debug)]
pub(super) struct NonceCheck {
    sent: Nonces,
    newest: Option<Seq>,
    /// Numbers that no packet had, newest first.
    skipped: [Option<Seq>; SKIPPED],
    /// The acknowledgement of this packet or a later one ends the round trip.
    round_ends: Option<Seq>,
    /// In this round trip: was anything checked, was a lie found, was a number passed over?
    checked: bool,
    lied: bool,
    has_skipped: bool,
    strikes: u32,
}

impl NonceCheck {
    pub(super) fn new() -> Self {
        Self {
            sent: Nonces::new(),
            newest: None,
            skipped: [None; SKIPPED],
            round_ends: None,
            checked: false,
            lied: false,
            has_skipped: false,
            strikes: 0,
        }
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, seq: Seq, nonce: bool) {
        self.sent.set(seq, nonce);
        self.newest = Some(seq);
        self.round_ends.get_or_insert(seq);
    }

    /// This number was passed over.
    pub(super) fn on_skipped(&mut self, seq: Seq) {
        self.on_sent(seq, false);
        self.skipped.rotate_right(1);
        self.skipped[0] = Some(seq);
        self.has_skipped = true;
    }

    /// RFC 4340, 12.3: where a lie is suspected, it should be verified: by a number that nobody can
    /// have received (RFC 4342, section 9), once a round trip.
    pub(super) fn wants_skip(&self) -> bool {
        self.strikes > 0 && !self.has_skipped
    }

    /// Has it lied so often that the connection should end?
    pub(super) fn is_aggressive(&self) -> bool {
        self.strikes >= PATIENCE
    }

    /// Was a lie found lately?
    #[cfg(test)]
    pub(super) fn is_suspicious(&self) -> bool {
        self.lied || self.strikes > 0
    }

    /// Takes in a report about `ackno` and older packets. Is it a lie?
    pub(super) fn judge(&mut self, report: Report<'_>, ackno: Seq) -> bool {
        let Some(newest) = self.newest else {
            return false;
        };
        let mut lie = report.stretches().any(|stretch| {
            let arrived = matches!(stretch.state, CellState::Received | CellState::Marked);
            let holds = |seq: &Seq| !seq.is_before(stretch.low) && !seq.is_after(stretch.high);
            arrived && self.skipped.iter().flatten().any(holds)
        });
        for (nonce, high, cells) in report.vectors() {
            let packets: u64 = cells.iter().map(|cell| u64::from(cell.run())).sum();
            if packets == 0 || high.sub(packets - 1).distance(newest) >= REMEMBERED {
                // It speaks of packets whose nonces are forgotten.
                continue;
            }
            self.checked = true;
            lie |= self.sent.echo(high, cells) != nonce;
        }
        self.lied |= lie;
        if self.round_ends.is_some_and(|end| !ackno.is_before(end)) {
            self.end_round(newest);
        }
        lie
    }

    fn end_round(&mut self, newest: Seq) {
        if self.lied {
            self.strikes = self.strikes.saturating_add(1);
        } else if self.checked {
            self.strikes = self.strikes.saturating_sub(1);
        }
        (self.lied, self.checked, self.has_skipped) = (false, false, false);
        self.round_ends = Some(newest.next());
    }
}

#[cfg(test)]
mod tests;
