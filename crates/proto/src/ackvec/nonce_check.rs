//! Does the receiver tell the truth (RFC 4340, sections 12.2 and 12.3; RFC 4341, section 7)?
//!
//! Waits for packets to be acknowledged that were never sent, and compares the nonce echo of each
//! vector with what was sent where nonces are. A lie counts as congestion at once; lies in many round
//! trips, more than honest ones, end the connection.

use fairwire_wire::{CellState, Seq};

use super::nonce::{Nonces, REMEMBERED};
use super::vector::Report;
use crate::packet_options::Vector;
use crate::suspicion::Suspicion;

/// Numbers passed over and remembered.
const SKIPPED: usize = 4;

/// What is known of one peer's honesty.
#[derive(Clone, Debug)]
pub(super) struct NonceCheck {
    /// The nonces sent, where they are.
    sent: Option<Box<Nonces>>,
    /// Are numbers passed over without a suspicion, too?
    skips: bool,
    newest: Option<Seq>,
    /// Numbers that no packet had, newest first.
    skipped: [Option<Skipped>; SKIPPED],
    /// The acknowledgement of this packet or a later one ends the round trip.
    round_ends: Option<Seq>,
    round: Round,
    suspicion: Suspicion,
}

/// In this round trip: was anything checked, was a lie found, was a number passed over?
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    checked: bool,
    lied: bool,
    has_skipped: bool,
}

/// A number that no packet had.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    seq: Seq,
    /// Has a report said that it did not arrive?
    is_settled: bool,
}

impl NonceCheck {
    pub(super) fn new() -> Self {
        Self {
            sent: None,
            skips: false,
            newest: None,
            skipped: [None; SKIPPED],
            round_ends: None,
            round: Round::default(),
            suspicion: Suspicion::default(),
        }
    }

    /// Nonces are sent, and echoes are held against them.
    pub(super) fn with_nonces(&mut self) {
        self.sent = Some(Box::new(Nonces::new()));
    }

    /// Numbers are passed over now and then.
    pub(super) fn with_skips(&mut self) {
        self.skips = true;
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, seq: Seq, nonce: bool) {
        if let Some(sent) = &mut self.sent {
            sent.set(seq, nonce);
        }
        self.newest = Some(seq);
        self.round_ends.get_or_insert(seq);
        self.suspicion.on_sent();
    }

    /// This number was passed over.
    pub(super) fn on_skipped(&mut self, seq: Seq) {
        self.on_sent(seq, false);
        self.skipped.rotate_right(1);
        self.skipped[0] = Some(Skipped {
            seq,
            is_settled: false,
        });
        self.round.has_skipped = true;
    }

    /// How many of 65,536 numbers should be passed over.
    pub(super) fn skips_of_65536(&self) -> u32 {
        if self.round.has_skipped {
            0
        } else if self.skips {
            self.suspicion.skips_of_65536(false)
        } else if self.suspicion.exists() {
            // RFC 4340, 12.3: where a lie is suspected, it should be verified: by a number that nobody
            // can have received (RFC 4342, section 9), once a round trip.
            65_536
        } else {
            0
        }
    }

    /// Has it lied so often that the connection should end?
    pub(super) fn is_aggressive(&self) -> bool {
        self.suspicion.is_aggression()
    }

    /// Was a lie found lately?
    #[cfg(test)]
    pub(super) fn is_suspicious(&self) -> bool {
        self.round.lied || self.suspicion.exists()
    }

    /// Takes in a report about `ackno` and older packets. Is it a lie?
    pub(super) fn judge(&mut self, report: Report<'_>, ackno: Seq) -> bool {
        let Some(newest) = self.newest else {
            return false;
        };
        let mut lie = self.skipped[0].is_some() && self.claims_skipped(report);
        if let Some(sent) = &self.sent {
            for (high, Vector { nonce, cells }) in report.vectors() {
                let packets = cells.packets();
                if packets == 0 || high.sub(packets - 1).distance(newest) >= REMEMBERED {
                    // It speaks of packets whose nonces are forgotten.
                    continue;
                }
                self.round.checked = true;
                lie |= sent.echo(high, cells) != nonce;
            }
        }
        self.round.lied |= lie;
        if self.round_ends.is_some_and(|end| !ackno.is_before(end)) {
            self.end_round(newest);
        }
        lie
    }

    /// Does `report` say that a number which was passed over has arrived?
    fn claims_skipped(&mut self, report: Report<'_>) -> bool {
        let mut lie = false;
        for stretch in report.stretches() {
            let arrived = matches!(stretch.state, CellState::Received | CellState::Marked);
            for skipped in self.skipped.iter_mut().flatten() {
                let seq = skipped.seq;
                if seq.is_before(stretch.low) || seq.is_after(stretch.high) {
                    continue;
                }
                if arrived {
                    lie = true;
                } else if !std::mem::replace(&mut skipped.is_settled, true) {
                    self.round.checked = true;
                }
            }
        }
        lie
    }

    fn end_round(&mut self, newest: Seq) {
        if self.round.lied {
            self.suspicion.on_lie();
        } else if self.round.checked {
            self.suspicion.on_truth();
        }
        self.round = Round::default();
        self.round_ends = Some(newest.next());
    }
}

#[cfg(test)]
mod tests;
