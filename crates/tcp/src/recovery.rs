//! Loss recovery: what an acknowledgement asks to be sent again.
//!
//! A recovery looks at acknowledgements alone and answers with an [`Answer`]; the sender
//! carries it out. It never touches the congestion window: the segments that duplicate
//! acknowledgements show to have left the network are its [`inflation`](Recovery::inflation),
//! which the sender subtracts from what is outstanding. A further variant is one file and one arm.

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

/// The way in which lost segments are found and sent again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum RecoveryKind {
    /// Slow start from the first segment outstanding (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends with the first acknowledgement of something new (RFC 2581, section 3.2).
    Reno,
    /// The same, once per window: a second loss waits for the timeout, as in ns-2 (its `bugFix_`).
    RenoOnce,
    /// Fast recovery that ends when all that was outstanding is acknowledged (RFC 6582). Of partial acknowledgements the first alone
    /// starts the retransmission timer afresh, so that many losses in one window end in slow start.
    #[default]
    #[cfg_attr(feature = "settings", serde(rename = "newreno", alias = "new-reno"))]
    NewReno,
    /// The same with the timer started afresh by each, so that one loss after another is repaired.
    #[cfg_attr(feature = "settings", serde(rename = "newreno-steady"))]
    NewRenoSteady,
    /// Fast recovery by selective acknowledgements (RFC 6675).
    Sack,
    /// Reno's, with Vegas's clock: a segment that is older than the fine-grained timeout goes again on the
    /// first duplicate, and on the first two acknowledgements after a retransmission.
    Vegas,
}

impl RecoveryKind {
    /// Do acknowledgements carry SACK blocks?
    pub fn uses_sack(self) -> bool {
        self == Self::Sack
    }
}

/// The state of a connection's recovery.
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

    /// The `count`th duplicate acknowledgement in a row.
    pub(crate) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        match self {
            Self::Tahoe(tahoe) => tahoe.on_duplicate(at, count),
            Self::Reno(reno) => reno.on_duplicate(at, count),
            Self::NewReno(newreno) => newreno.on_duplicate(at, count),
            Self::Sack(sack) => sack.on_duplicate(at, count),
            Self::Vegas(vegas) => vegas.on_duplicate(at, count),
        }
    }

    /// An acknowledgement moved `at.una` forward by `segments`.
    pub(crate) fn on_new_ack(&mut self, at: Sequence, segments: u32) -> Answer {
        match self {
            Self::Tahoe(_) => Answer::Continue,
            Self::Reno(reno) => reno.on_new_ack(),
            Self::NewReno(newreno) => newreno.on_new_ack(at, segments),
            Self::Sack(sack) => sack.on_new_ack(at),
            Self::Vegas(vegas) => vegas.on_new_ack(at),
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, at: Sequence) {
        match self {
            Self::Tahoe(tahoe) => tahoe.on_timeout(at),
            Self::Reno(reno) => reno.on_timeout(at),
            Self::NewReno(newreno) => newreno.on_timeout(at),
            Self::Sack(sack) => sack.on_timeout(at),
            Self::Vegas(vegas) => vegas.on_timeout(at),
        }
    }

    /// Is a recovery under way?
    pub(crate) fn is_active(&self) -> bool {
        match self {
            Self::Tahoe(_) => false,
            Self::Reno(reno) => reno.is_active(),
            Self::NewReno(newreno) => newreno.is_active(),
            Self::Sack(sack) => sack.is_active(),
            Self::Vegas(vegas) => vegas.is_active(),
        }
    }

    /// How many of the outstanding segments are known to have left the network; negative where
    /// the protocol holds back more than that.
    pub(crate) fn inflation(&self) -> i64 {
        match self {
            Self::Reno(reno) => reno.inflation(),
            Self::NewReno(newreno) => newreno.inflation(),
            // Tahoe gives all of it up, and SACK's scoreboard knows what has left.
            Self::Tahoe(_) | Self::Sack(_) => 0,
            Self::Vegas(vegas) => vegas.inflation(),
        }
    }
}
