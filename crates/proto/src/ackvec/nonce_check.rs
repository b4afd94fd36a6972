//! Checks of the receiver's reports (RFC 4340, sections 12.2 and 12.3; RFC 4341, section 7).
//!
//! A report that acknowledges a packet that was never sent is a lie. If nonces are sent, a vector whose nonce echo is
//! wrong is one, too. A lie counts as congestion at once. The connection ends if lies occur in clearly more round trips
//! than honest reports.

use fairwire_wire::{EntryState, Seq};

use super::nonce::{Nonces, REMEMBERED};
use super::vector::Report;
use crate::packet_options::Vector;
use crate::suspicion::Suspicion;

/// The number of skipped numbers that are remembered.
const SKIPPED: usize = 4;

/// The state of the checks on one peer's reports.
#[derive(Clone, Debug)]
pub(super) struct NonceCheck {
    /// The nonces sent, if nonces are used.
    sent: Option<Box<Nonces>>,
    /// Whether numbers are skipped even if there is no suspicion.
    skips: bool,
    newest: Option<Seq>,
    /// Numbers that were skipped, newest first.
    skipped: [Option<Skipped>; SKIPPED],
    /// The acknowledgement of this packet or a later one ends the round trip.
    round_ends: Option<Seq>,
    round: Round,
    suspicion: Suspicion,
}

/// The checks in this round trip: whether anything was checked, a lie was found, a number was skipped.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    checked: bool,
    lied: bool,
    has_skipped: bool,
}

/// A skipped number.
#[derive(Clone, Copy, Debug)]
struct Skipped {
    seq: Seq,
    /// Whether a report has said that it did not arrive.
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

    /// Enables the check of nonce echoes.
    pub(super) fn with_nonces(&mut self) {
        self.sent = Some(Box::new(Nonces::new()));
    }

    /// Enables skipping a number now and then.
    pub(super) fn with_skips(&mut self) {
        self.skips = true;
    }

    /// Records that a packet left.
    pub(super) fn on_sent(&mut self, seq: Seq, nonce: bool) {
        if let Some(sent) = &mut self.sent {
            sent.set(seq, nonce);
        }
        self.newest = Some(seq);
        self.round_ends.get_or_insert(seq);
        self.suspicion.on_sent();
    }

    /// Records that a number was skipped.
    pub(super) fn on_skipped(&mut self, seq: Seq) {
        self.on_sent(seq, false);
        self.skipped.rotate_right(1);
        self.skipped[0] = Some(Skipped {
            seq,
            is_settled: false,
        });
        self.round.has_skipped = true;
    }

    /// Returns how many of 65,536 numbers should be skipped.
    pub(super) fn skips_of_65536(&self) -> u32 {
        if self.round.has_skipped {
            0
        } else if self.skips {
            self.suspicion.skips_of_65536(false)
        } else if self.suspicion.is_suspected() {
            // RFC 4340, 12.3: a suspected lie should be verified. This is done with a number that nobody can have
            // received (RFC 4342, section 9), once per round trip.
            65_536
        } else {
            0
        }
    }

    /// Returns whether the peer has lied so often that the connection should end.
    pub(super) fn is_aggressive(&self) -> bool {
        self.suspicion.is_aggression()
    }

    /// Returns whether a lie was found recently.
    #[cfg(test)]
    pub(super) fn is_suspicious(&self) -> bool {
        self.round.lied || self.suspicion.is_suspected()
    }

    /// Checks a report about `ackno` and older packets. Returns whether it is a lie.
    pub(super) fn judge(&mut self, report: Report<'_>, ackno: Seq) -> bool {
        let Some(newest) = self.newest else {
            return false;
        };
        let mut lie = self.skipped[0].is_some() && self.claims_skipped(report);
        if let Some(sent) = &self.sent {
            for (high, Vector { nonce, entries }) in report.vectors() {
                let packets = entries.packets();
                if packets == 0 || high.sub(packets - 1).distance(newest) >= REMEMBERED {
                    // The vector covers packets whose nonces are forgotten.
                    continue;
                }
                self.round.checked = true;
                lie |= sent.echo(high, entries) != nonce;
            }
        }
        self.round.lied |= lie;
        if self.round_ends.is_some_and(|end| !ackno.is_before(end)) {
            self.end_round(newest);
        }
        lie
    }

    /// Returns whether `report` says that a skipped number has arrived.
    fn claims_skipped(&mut self, report: Report<'_>) -> bool {
        let mut lie = false;
        for stretch in report.stretches() {
            let arrived = matches!(stretch.state, EntryState::Received | EntryState::Marked);
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
