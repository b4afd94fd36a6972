//! The detection of spurious timeouts: F-RTO (RFC 5682).
//!
//! A timeout is spurious if the segments or their acknowledgements were late and not lost. After it the sender
//! retransmits one segment. When that is acknowledged, it sends two new segments in place of further retransmissions.
//! The next acknowledgement then decides: if it covers data that was sent only once, that data was not lost.
//!
//! With SACK, duplicates before the first such acknowledgement decide nothing, and a selection of data from before the
//! timeout shows that it was not lost (RFC 5682, section 3).

/// The number of new segments that leave in step 2b.
const NEW_SEGMENTS: u32 = 2;

/// The state of the detection.
#[derive(Debug, Default)]
pub(super) struct Frto {
    phase: Phase,
    /// `recover`: the number after the last one sent before the newest timeout.
    recover: u64,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Phase {
    /// No timeout is examined.
    #[default]
    Idle,
    /// The first segment was retransmitted; it ends before this number.
    Retransmitted { end: u64 },
    /// New data leaves in place of retransmissions, this many segments more.
    Probing { left: u32 },
}

/// The parts of an acknowledgement that decide.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Evidence {
    /// The acknowledgement number.
    pub(super) una: u64,
    /// Whether it newly covers or selects data that was sent only once.
    pub(super) is_late_data: bool,
    /// With SACK, the highest number that it covers or newly selects.
    pub(super) highest: Option<u64>,
}

/// What an acknowledgement shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Finding {
    /// Nothing, or no timeout is examined.
    Nothing,
    /// New segments have to show whether anything was lost (step 2b).
    Probe,
    /// The timeout was genuine (step 3a).
    Genuine,
    /// The timeout was spurious (step 3b).
    Spurious,
}

impl Frto {
    /// Begins the detection at a timeout (step 1).
    ///
    /// `first_end` is the end of the segment that is retransmitted; `None` if the timeout counts as genuine. Segments up
    /// to `max` were sent.
    pub(super) fn begin(&mut self, una: u64, first_end: Option<u64>, max: u64) {
        // An earlier timeout has retransmitted segments, which makes their acknowledgements ambiguous.
        let is_repeated = una < self.recover;
        self.phase = match first_end {
            Some(end) if !is_repeated => Phase::Retransmitted { end },
            _ => Phase::Idle,
        };
        self.recover = max;
    }

    /// Processes an acknowledgement of new data.
    pub(super) fn on_new_ack(&mut self, ack: &Evidence, has_new_data: bool) -> Finding {
        match self.phase {
            Phase::Idle => Finding::Nothing,
            Phase::Retransmitted { end } => {
                // Step 2a: all or not even the retransmitted segment has arrived. Without new data there is no step 3.
                if ack.una >= end && ack.una < self.recover && has_new_data {
                    self.phase = Phase::Probing { left: NEW_SEGMENTS };
                    Finding::Probe
                } else {
                    self.phase = Phase::Idle;
                    Finding::Nothing
                }
            }
            Phase::Probing { .. } => self.judge(ack),
        }
    }

    /// Processes a duplicate acknowledgement.
    pub(super) fn on_duplicate(&mut self, ack: &Evidence) -> Finding {
        match self.phase {
            Phase::Idle => Finding::Nothing,
            Phase::Retransmitted { .. } => {
                if ack.highest.is_none() {
                    self.phase = Phase::Idle;
                }
                Finding::Nothing
            }
            Phase::Probing { .. } => self.judge(ack),
        }
    }

    /// Decides by the acknowledgement after the new segments (step 3).
    fn judge(&mut self, ack: &Evidence) -> Finding {
        // With SACK, step 3a holds for what covers more than was sent before the timeout.
        let is_beyond = ack.highest.is_some_and(|highest| highest > self.recover);
        if ack.is_late_data && !is_beyond {
            *self = Self::default();
            Finding::Spurious
        } else {
            self.phase = Phase::Idle;
            Finding::Genuine
        }
    }

    /// Records that segments up to `max` may be retransmitted: a timeout before that number is passed is not examined.
    pub(super) fn on_retransmission_up_to(&mut self, max: u64) {
        self.recover = max;
    }

    /// Returns whether new segments leave in place of retransmissions.
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.phase, Phase::Probing { .. })
    }

    /// Returns whether a new segment leaves now whatever the window is, and counts it.
    pub(super) fn takes_segment(&mut self) -> bool {
        let Phase::Probing { left: left @ 1.. } = &mut self.phase else {
            return false;
        };
        *left -= 1;
        true
    }
}
