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
pub use newreno::PartialAckTimer;

use newreno::NewReno;
use reno::Reno;
use sack::Sack;
use tahoe::Tahoe;
use vegas::Vegas;

/// How lost segments are found and sent again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RecoveryKind {
    /// Fast retransmission, and slow start from one packet after each loss (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends with the first acknowledgement of something new (RFC 2581, section 3.2).
    Reno {
        /// Wait for the timeout where a second loss of the same window shows, as ns-2 does unless
        /// told otherwise (its `bugFix_`); without it each of them cuts the window.
        once_per_window: bool,
    },
    /// Fast recovery that stays until all of it is acknowledged (RFC 6582).
    NewReno {
        /// What a partial acknowledgement does to the retransmission timer.
        timer: PartialAckTimer,
    },
    /// Selective acknowledgements (RFC 6675).
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

impl Default for RecoveryKind {
    fn default() -> Self {
        Self::NewReno {
            timer: PartialAckTimer::default(),
        }
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
            RecoveryKind::Reno { once_per_window } => Self::Reno(Reno::new(once_per_window)),
            RecoveryKind::NewReno { timer } => Self::NewReno(NewReno::new(timer)),
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
