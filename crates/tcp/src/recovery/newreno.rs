//! NewReno (RFC 6582): one retransmission per round trip until all data outstanding at the loss is acknowledged.
//!
//! RFC 6582 inflates the window by the duplicate acknowledgements. It deflates the window by the segments that a
//! partial acknowledgement covers, less one. Here the same number is subtracted from the outstanding segments instead.
//! At the end the window is the threshold (option 2 of its step 3), and the sender limits the burst. The check of
//! `recover` is the simple one of section 3.2, without the heuristics of section 4.

use super::{Answer, DUPLICATES, Sequence};

/// Whether each partial acknowledgement restarts the retransmission timer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PartialAckTimer {
    /// Only the first one restarts it: many losses in one window end in a timeout and slow start (RFC 6582, 3.2).
    Impatient,
    /// Each one restarts it: losses are repaired one after another, one per round trip.
    SlowButSteady,
}

#[derive(Debug)]
pub(crate) struct NewReno {
    timer: PartialAckTimer,
    /// The number that must be passed before a recovery begins, and acknowledged before it ends.
    pub(super) recover: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Open,
    Recovery { inflation: i64, had_partial: bool },
}

impl NewReno {
    pub(super) fn new(timer: PartialAckTimer) -> Self {
        Self {
            timer,
            // The number of the SYN, so that the first data can be recovered as well.
            recover: 0,
            phase: Phase::Open,
        }
    }

    pub(super) fn on_duplicate(&mut self, at: Sequence, count: u32) -> Answer {
        if let Phase::Recovery { inflation, .. } = &mut self.phase {
            // RFC 5681, 3.2, step 4: each duplicate shows that a segment has left the network.
            *inflation = inflation.saturating_add(1);
            return Answer::Stay;
        }
        // RFC 6582, 3.2, step 2: duplicates caused by earlier retransmissions are no new loss.
        if count != DUPLICATES || at.una <= self.recover {
            return Answer::Continue;
        }
        self.recover = at.max;
        self.phase = Phase::Recovery {
            inflation: i64::from(DUPLICATES),
            had_partial: false,
        };
        Answer::Begin
    }

    pub(super) fn on_new_ack(&mut self, at: Sequence, segments: u32) -> Answer {
        let Phase::Recovery {
            inflation,
            had_partial,
        } = self.phase
        else {
            return Answer::Continue;
        };
        if at.una >= self.recover {
            self.phase = Phase::Open;
            return Answer::End;
        }
        // RFC 6582, 3.2, step 3: deflate by the acknowledged segments, add back one.
        self.phase = Phase::Recovery {
            inflation: inflation
                .saturating_sub(i64::from(segments))
                .saturating_add(1),
            had_partial: true,
        };
        Answer::Again {
            restart_timer: !had_partial || self.timer == PartialAckTimer::SlowButSteady,
        }
    }

    pub(super) fn on_timeout(&mut self, at: Sequence) {
        // RFC 6582, 3.2, step 4.
        self.recover = at.max;
        self.phase = Phase::Open;
    }

    pub(super) fn is_active(&self) -> bool {
        self.phase != Phase::Open
    }

    pub(super) fn inflation(&self) -> i64 {
        match self.phase {
            Phase::Open => 0,
            Phase::Recovery { inflation, .. } => inflation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, NewReno, PartialAckTimer, Sequence};

    /// RFC 6582, 3.2, step 2: after a timeout, duplicates for data outstanding at that time begin no recovery; one
    /// number further they do.
    #[test]
    fn duplicates_after_a_timeout_begin_no_recovery() {
        let mut newreno = NewReno::new(PartialAckTimer::Impatient);
        newreno.on_timeout(at(1, 11));
        for (una, answer) in [(11, Answer::Continue), (12, Answer::Begin)] {
            for count in 1..=2 {
                assert_eq!(newreno.on_duplicate(at(una, 20), count), Answer::Continue);
            }
            assert_eq!(newreno.on_duplicate(at(una, 20), 3), answer, "{una}");
        }
    }

    /// RFC 6582, 3.2, step 3: partial acknowledgements deflate and retransmit. The timer restarts on the first one (or
    /// on each), and the recovery ends exactly at `recover`.
    #[test]
    fn partial_acknowledgements_deflate() {
        for (timer, second) in [
            (PartialAckTimer::Impatient, false),
            (PartialAckTimer::SlowButSteady, true),
        ] {
            let mut newreno = NewReno::new(timer);
            let at = |una| at(una, 16);
            assert_eq!(newreno.on_duplicate(at(1), 3), Answer::Begin);
            for _ in 0..4 {
                newreno.on_duplicate(at(1), 4);
            }
            assert_eq!(newreno.inflation(), 7);
            let again = |restart_timer| Answer::Again { restart_timer };
            assert_eq!(newreno.on_new_ack(at(6), 5), again(true));
            assert_eq!(newreno.inflation(), 3);
            assert_eq!(newreno.on_new_ack(at(15), 9), again(second));
            assert_eq!(newreno.inflation(), -5, "a large step holds back");
            assert_eq!(newreno.on_new_ack(at(16), 1), Answer::End);
            assert_eq!((newreno.inflation(), newreno.is_active()), (0, false));
        }
    }

    fn at(una: u64, max: u64) -> Sequence {
        Sequence {
            una,
            max,
            ..Sequence::default()
        }
    }
}
