//! What a recovery is asked, and what it answers.

/// Duplicate acknowledgements in a row that show a loss (RFC 5681, section 3.2).
pub(crate) const DUPLICATES: u32 = 3;

/// Where the sender stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    /// The oldest number not acknowledged.
    pub(crate) una: u64,
    /// The number after the last one ever sent.
    pub(crate) max: u64,
    /// Does the scoreboard show that the oldest is lost (RFC 6675's `IsLost`)?
    pub(crate) is_lost: bool,
    /// Has the oldest been out for longer than the fine-grained timeout?
    pub(crate) has_expired: bool,
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
    /// A loss: cut the window to one segment and send everything outstanding again.
    StartOver,
    /// Within a recovery; nothing to send again.
    Stay,
    /// The recovery is over; the window stays as the cut left it.
    End,
}
