//! Loss recovery: what to retransmit after an acknowledgement.
//!
//! A recovery examines only acknowledgements and returns an [`Answer`], which the sender carries out. It never changes
//! the congestion window. Duplicate acknowledgements show that segments have left the network: the sender subtracts
//! their number, the [`inflation`](Recovery::inflation), from the outstanding segments. A new variant is one file and
//! one arm.

mod answer;
mod newreno;
mod reno;
mod sack;
mod tahoe;
#[cfg(test)]
mod tests;
mod vegas;

pub(crate) use answer::{Answer, DUPLICATES, Sequence};

use newreno::{NewReno, PartialAckTimer};
use reno::Reno;
use sack::Sack;
use tahoe::Tahoe;
use vegas::Vegas;

/// How lost segments are detected and retransmitted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum RecoveryKind {
    /// Slow start from the first outstanding segment (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends with the first acknowledgement of new data (RFC 2581, section 3.2).
    Reno,
    /// As `reno`, but once per window: a second loss waits for the timeout, as in ns-2 (its `bugFix_`).
    RenoOnce,
    /// Fast recovery that ends when all data outstanding at its start is acknowledged (RFC 6582). Only the first
    /// partial acknowledgement restarts the retransmission timer, so that many losses in one window end in slow start.
    #[default]
    #[cfg_attr(feature = "settings", serde(rename = "newreno", alias = "new-reno"))]
    NewReno,
    /// As `newreno`, but each partial acknowledgement restarts the timer, so that losses are repaired one after
    /// another.
    #[cfg_attr(feature = "settings", serde(rename = "newreno-steady"))]
    NewRenoSteady,
    /// Fast recovery by selective acknowledgements (RFC 6675).
    Sack,
    /// As `reno`, with the fine-grained timeout of Vegas. A segment older than this timeout is retransmitted on the
    /// first duplicate, and on the first two acknowledgements after a retransmission.
    Vegas,
}

impl RecoveryKind {
    /// Returns whether acknowledgements have SACK blocks.
    pub fn uses_sack(self) -> bool {
        self == Self::Sack
    }
}

/// The recovery state of a connection.
#[derive(Debug)]
pub(crate) enum Recovery {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Vegas(Vegas),
}

impl Recovery {
    pub(crate) fn new(kind: RecoveryKind) -> Self {
        match kind {
            RecoveryKind::Tahoe => Self::Tahoe(Tahoe::default()),
            RecoveryKind::Reno => Self::Reno(Reno::new(false)),
            RecoveryKind::RenoOnce => Self::Reno(Reno::new(true)),
            RecoveryKind::NewReno => Self::NewReno(NewReno::new(PartialAckTimer::Impatient)),
            RecoveryKind::NewRenoSteady => {
                Self::NewReno(NewReno::new(PartialAckTimer::SlowButSteady))
            }
            RecoveryKind::Sack => Self::Sack(Sack::default()),
            RecoveryKind::Vegas => Self::Vegas(Vegas::default()),
        }
    }

    /// Processes the `count`th duplicate acknowledgement in a row.
    pub(crate) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        match self {
            Self::Tahoe(tahoe) => tahoe.on_duplicate(at, count),
            Self::Reno(reno) => reno.on_duplicate(at, count),
            Self::NewReno(newreno) => newreno.on_duplicate(at, count),
            Self::Sack(sack) => sack.on_duplicate(at, count),
            Self::Vegas(vegas) => vegas.on_duplicate(at, count),
        }
    }

    /// Processes an acknowledgement that moved `at.una` forward by `segments` segments.
    pub(crate) fn on_new_ack(&mut self, at: Sequence, segments: u32) -> Answer {
        match self {
            Self::Tahoe(_) => Answer::Continue,
            Self::Reno(reno) => reno.on_new_ack(),
            Self::NewReno(newreno) => newreno.on_new_ack(at, segments),
            Self::Sack(sack) => sack.on_new_ack(at),
            Self::Vegas(vegas) => vegas.on_new_ack(at),
        }
    }

    /// Handles an expiry of the retransmission timer.
    pub(crate) fn on_timeout(&mut self, at: Sequence) {
        match self {
            Self::Tahoe(tahoe) => tahoe.on_timeout(at),
            Self::Reno(reno) => reno.on_timeout(at),
            Self::NewReno(newreno) => newreno.on_timeout(at),
            Self::Sack(sack) => sack.on_timeout(at),
            Self::Vegas(vegas) => vegas.on_timeout(at),
        }
    }

    /// Allows losses from before a spurious timeout to begin a recovery: `una` is not below the last timeout any more
    /// (RFC 5682, section 2.1, step 3b).
    pub(crate) fn on_spurious_timeout(&mut self, una: u64) {
        let recover = match self {
            Self::Tahoe(tahoe) => &mut tahoe.recover,
            Self::Reno(reno) => &mut reno.recover,
            Self::NewReno(newreno) => &mut newreno.recover,
            Self::Sack(sack) => &mut sack.recover,
            Self::Vegas(vegas) => &mut vegas.recover,
        };
        *recover = una.saturating_sub(1);
    }

    /// Returns whether a recovery is in progress.
    pub(crate) fn is_active(&self) -> bool {
        match self {
            Self::Tahoe(_) => false,
            Self::Reno(reno) => reno.is_active(),
            Self::NewReno(newreno) => newreno.is_active(),
            Self::Sack(sack) => sack.is_active(),
            Self::Vegas(vegas) => vegas.is_active(),
        }
    }

    /// Returns how many of the outstanding segments are known to have left the network.
    ///
    /// It is negative if the protocol holds back more segments than that.
    pub(crate) fn inflation(&self) -> i64 {
        match self {
            Self::Reno(reno) => reno.inflation(),
            Self::NewReno(newreno) => newreno.inflation(),
            // Tahoe gives up all outstanding segments, and the scoreboard of SACK knows which have left.
            Self::Tahoe(_) | Self::Sack(_) => 0,
            Self::Vegas(vegas) => vegas.inflation(),
        }
    }
}
