//! The input and the answer of a recovery.

/// The number of duplicate acknowledgements in a row that show a loss (RFC 5681, section 3.2).
pub(crate) const DUPLICATES: u32 = 3;

/// The present state of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// The oldest unacknowledged number.
    pub(crate) una: u64,
    /// The number after the last one ever sent.
    pub(crate) max: u64,
    /// Whether the scoreboard shows that the oldest segment is lost (`IsLost` in RFC 6675).
    pub(crate) is_lost: bool,
    /// Whether the oldest segment is older than the fine-grained timeout.
    pub(crate) has_expired: bool,
}

/// What the sender has to do after an acknowledgement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    /// Nothing special: the window may grow by newly acknowledged data.
    Continue,
    /// A loss: cut the window and retransmit the first outstanding segment.
    Begin,
    /// Another loss of the same window: retransmit the first outstanding segment.
    Again {
        /// Whether to restart the retransmission timer.
        restart_timer: bool,
    },
    /// A loss: cut the window to one segment and send everything outstanding again.
    StartOver,
    /// A recovery is in progress; nothing to retransmit.
    Stay,
    /// The recovery has ended; the window stays as the cut left it.
    End,
}
