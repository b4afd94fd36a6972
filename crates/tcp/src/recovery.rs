//! Loss recovery: what an acknowledgement asks to be sent again.
//!
//! A recovery looks at acknowledgement numbers alone and answers with an [`Answer`]; the sender
//! carries it out. It never touches the congestion window: the segments that duplicate
//! acknowledgements show to have left the network are its [`inflation`](Recovery::inflation),
//! which the sender subtracts from what is outstanding. A further variant is one file and one arm.

mod newreno;

pub use newreno::PartialAckTimer;

use newreno::NewReno;

/// How lost segments are found and sent again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RecoveryKind {
    /// Fast recovery that stays until all of it is acknowledged (RFC 6582).
    NewReno {
        /// What a partial acknowledgement does to the retransmission timer.
        timer: PartialAckTimer,
    },
}

impl Default for RecoveryKind {
    fn default() -> Self {
        Self::NewReno {
            timer: PartialAckTimer::default(),
        }
    }
}

/// Duplicate acknowledgements in a row that show a loss (RFC 5681, section 3.2).
pub(crate) const DUPLICATES: u32 = 3;

/// Where the sender stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    /// The oldest number not acknowledged.
    pub(crate) una: u64,
    /// The number after the last one ever sent.
    pub(crate) max: u64,
}

/// What an acknowledgement asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// Nothing special: the window may grow on news.
    Continue,
    /// A loss: cut the window, send the first outstanding segment again.
    Begin,
    /// Another loss of the same round: send the first outstanding segment again.
    Again {
        /// Start the retransmission timer afresh?
        restart_timer: bool,
    },
    /// Within a recovery; nothing to send again.
    Stay,
    /// The recovery is over; the window stays as the cut left it.
    End,
}

/// The state of a connection's recovery.
#[derive(Debug)]
pub(crate) enum Recovery {
    NewReno(NewReno),
}

impl Recovery {
    pub(crate) fn new(kind: RecoveryKind) -> Self {
        match kind {
            RecoveryKind::NewReno { timer } => Self::NewReno(NewReno::new(timer)),
        }
    }

    /// The `count`th duplicate acknowledgement in a row.
    pub(crate) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        match self {
            Self::NewReno(newreno) => newreno.on_duplicate(at, count),
        }
    }

    /// An acknowledgement moved `at.una` forward by `segments`.
    pub(crate) fn on_new_ack(&mut self, at: Sequence, segments: u32) -> Answer {
        match self {
            Self::NewReno(newreno) => newreno.on_new_ack(at, segments),
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, at: Sequence) {
        match self {
            Self::NewReno(newreno) => newreno.on_timeout(at),
        }
    }

    /// Is a recovery under way?
    pub(crate) fn is_active(&self) -> bool {
        match self {
            Self::NewReno(newreno) => newreno.is_active(),
        }
    }

    /// How many of the outstanding segments are known to have left the network; negative where
    /// the protocol holds back more than that.
    pub(crate) fn inflation(&self) -> i64 {
        match self {
            Self::NewReno(newreno) => newreno.inflation(),
        }
    }
}
