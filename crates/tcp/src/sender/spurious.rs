//! What a sender does about spurious timeouts (RFC 5682; RFC 4015, section 3).
//!
//! It carries on with new data, and the controller restores its window. Left out: the timeout is not adapted to the
//! longer delay (RFC 4015, section 3, step 9).

use fairwire_units::Instant;

use super::Sender;
use super::frto::{Evidence, Finding};
use super::outstanding::{Covered, Selected};
use crate::config::SackAfterTimeout;

impl Sender {
    /// Begins the detection at a timeout, before anything is retransmitted.
    ///
    /// A timeout during a recovery counts as genuine, because the recovery has retransmitted segments.
    pub(super) fn begin_frto(&mut self) {
        if self.config.frto {
            let first = self.outstanding.first();
            let first = first.filter(|_| !self.recovery.is_active());
            let end = first.map(|first| first.end());
            self.frto.begin(self.una, end, self.outstanding.max());
        }
    }

    /// Processes an acknowledgement of new data, which covered `covered` and selected `selected`.
    pub(super) fn frto_on_new_ack(
        &mut self,
        now: Instant,
        covered: Covered,
        selected: Selected,
    ) -> Finding {
        let has_new_data = self.next_new(now).is_some();
        let late = covered.newest_sent.or(selected.newest_sent);
        let evidence = self.evidence(late.is_some(), selected);
        let finding = self.frto.on_new_ack(&evidence, has_new_data);
        self.act_on(now, finding)
    }

    /// Processes a duplicate acknowledgement, which selected `selected`.
    pub(super) fn frto_on_duplicate(&mut self, now: Instant, selected: Selected) -> Finding {
        let evidence = self.evidence(selected.newest_sent.is_some(), selected);
        let finding = self.frto.on_duplicate(&evidence);
        self.act_on(now, finding)
    }

    fn evidence(&self, is_late_data: bool, selected: Selected) -> Evidence {
        let uses_sack = self.config.recovery.uses_sack();
        Evidence {
            una: self.una,
            is_late_data,
            highest: uses_sack.then_some(selected.highest.max(self.una)),
        }
    }

    fn act_on(&mut self, now: Instant, finding: Finding) -> Finding {
        match finding {
            Finding::Nothing => {}
            Finding::Probe => self.outstanding.resume(),
            Finding::Genuine => {
                // The new segments are given up as well, so they count like those of the timeout. What was selected
                // since the timeout need not be sent again (RFC 5682, 3.1, step 2).
                self.recovery.on_timeout(self.sequence(now));
                self.frto.on_retransmission_up_to(self.outstanding.max());
                self.outstanding.give_up(SackAfterTimeout::Keep);
            }
            Finding::Spurious => {
                // Losses from before the timeout may begin a recovery again.
                self.recovery.on_spurious_timeout(self.una);
                self.stats.spurious_timeouts += 1;
            }
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, SackAfterTimeout, Source};
    use crate::recovery::RecoveryKind;
    use crate::sack::SackBlocks;
    use crate::segment::TcpSegment;
    use crate::sender::Sender;
    use crate::sender::tests::{ack, drain, ms, plain, sender};

    /// Returns a sender of ten segments whose timer has expired once, just after the retransmission.
    fn timed_out(recovery: RecoveryKind, source: Source) -> Sender {
        let config = Config {
            frto: true,
            initial_window: Some(10.0),
            recovery,
            sack_after_timeout: SackAfterTimeout::Keep,
            ..plain()
        };
        let mut sender = sender(config, source);
        assert_eq!(drain(&mut sender, ms(10)).len(), 10);
        sender.handle_timeout(ms(1_010));
        assert_eq!(drain(&mut sender, ms(1_010)), [(1, 100)]);
        sender
    }

    fn selecting(number: u64, start: u64, end: u64) -> TcpSegment {
        let mut sack = SackBlocks::default();
        assert!(sack.push((start, end)));
        TcpSegment {
            sack,
            ..ack(number)
        }
    }

    /// RFC 5682, 2.1, steps 2b and 3b: late acknowledgements show that nothing was lost. Nothing more is retransmitted,
    /// and the window continues with what is in flight (RFC 4015, 3, step 8).
    #[test]
    fn late_acknowledgements_undo_the_timeout() {
        for recovery in [RecoveryKind::NewReno, RecoveryKind::Sack] {
            let mut sender = timed_out(recovery, Source::Greedy);
            sender.handle_segment(ms(1_020), &ack(101));
            let new = [(1_001, 100), (1_101, 100)];
            assert_eq!(drain(&mut sender, ms(1_020)), new, "{recovery:?}");
            sender.handle_segment(ms(1_030), &ack(201));
            assert_eq!(
                sender.stats().cwnd_packets,
                Some(11.0),
                "ten in flight and one acknowledged"
            );
            assert_eq!(sender.stats().ssthresh_packets, Some(f64::INFINITY));
            assert_eq!(drain(&mut sender, ms(1_030)), [(1_201, 100)]);
            let stats = sender.stats();
            assert_eq!(
                (stats.spurious_timeouts, stats.segments_retransmitted),
                (1, 1)
            );
            // A loss from before the timeout begins a recovery.
            for _ in 0..3 {
                let duplicate = match recovery {
                    RecoveryKind::Sack => selecting(201, 301, 701),
                    _ => ack(201),
                };
                sender.handle_segment(ms(1_040), &duplicate);
            }
            assert_eq!(sender.stats().fast_recoveries, 1, "{recovery:?}");
        }
    }

    /// Step 3a: a duplicate after the new segments shows a loss, which is repaired in slow start.
    #[test]
    fn a_duplicate_confirms_the_timeout() {
        let mut sender = timed_out(RecoveryKind::NewReno, Source::Greedy);
        sender.handle_segment(ms(1_020), &ack(401));
        assert_eq!(drain(&mut sender, ms(1_020)), [(1_001, 100), (1_101, 100)]);
        sender.handle_segment(ms(1_030), &ack(401));
        assert_eq!(drain(&mut sender, ms(1_030)), [(401, 100), (501, 100)]);
        assert_eq!(sender.stats().spurious_timeouts, 0);
        assert!(sender.stats().cwnd_packets <= Some(3.0));
    }

    /// Step 2a, and cases without a step 3: everything has arrived, there is no new data, or the timer expires again.
    #[test]
    fn a_timeout_is_genuine_without_evidence() {
        let mut all = timed_out(RecoveryKind::NewReno, Source::Greedy);
        all.handle_segment(ms(1_020), &ack(1_001));
        assert_eq!(drain(&mut all, ms(1_020)), [(1_001, 100), (1_101, 100)]);
        all.handle_segment(ms(1_030), &ack(1_101));
        let mut last = timed_out(RecoveryKind::NewReno, Source::Finite(1_000));
        last.handle_segment(ms(1_020), &ack(101));
        assert_eq!(drain(&mut last, ms(1_020)), [(101, 100), (201, 100)]);
        let mut twice = timed_out(RecoveryKind::NewReno, Source::Greedy);
        twice.handle_timeout(ms(3_010));
        assert_eq!(drain(&mut twice, ms(3_010)), [(1, 100)]);
        twice.handle_segment(ms(3_020), &ack(101));
        assert_eq!(drain(&mut twice, ms(3_020)), [(101, 100), (201, 100)]);
        let mut duplicate = timed_out(RecoveryKind::NewReno, Source::Greedy);
        duplicate.handle_segment(ms(1_020), &ack(1));
        duplicate.handle_segment(ms(1_030), &ack(101));
        assert_eq!(drain(&mut duplicate, ms(1_030)), [(101, 100), (201, 100)]);
        for sender in [all, last, twice, duplicate] {
            assert_eq!(sender.stats().spurious_timeouts, 0);
        }
    }

    /// RFC 5682, 3: with SACK the first duplicates decide nothing. Then old data that is selected shows that it was late,
    /// and new data alone that what is missing is lost.
    #[test]
    fn selections_decide_as_well() {
        // Old data, a new segment, and both in one block.
        for (block, is_spurious) in [
            ((501, 601), true),
            ((1_001, 1_101), false),
            ((901, 1_101), false),
        ] {
            let mut sender = timed_out(RecoveryKind::Sack, Source::Greedy);
            sender.handle_segment(ms(1_015), &selecting(1, 301, 401));
            assert_eq!(drain(&mut sender, ms(1_015)), []);
            sender.handle_segment(ms(1_020), &ack(101));
            assert_eq!(drain(&mut sender, ms(1_020)).len(), 2, "new segments");
            sender.handle_segment(ms(1_030), &selecting(101, block.0, block.1));
            assert_eq!(sender.stats().spurious_timeouts, u64::from(is_spurious));
            let next = drain(&mut sender, ms(1_030)).first().map(|first| first.0);
            let expected = if is_spurious { None } else { Some(101) };
            assert_eq!(next.filter(|seq| *seq < 1_001), expected);
        }
    }

    /// RFC 5682, 3.1: only the acknowledgement after the new segments decides. Here 101 to 200 and 301 to 400 arrived,
    /// their acknowledgements were lost, and the first one after the timeout tells of both.
    #[test]
    fn the_first_acknowledgement_does_not_decide() {
        let mut sender = timed_out(RecoveryKind::Sack, Source::Greedy);
        sender.handle_segment(ms(1_020), &selecting(201, 301, 401));
        assert_eq!(drain(&mut sender, ms(1_020)), [(1_001, 100), (1_101, 100)]);
        sender.handle_segment(ms(1_030), &selecting(201, 1_001, 1_101));
        assert_eq!(sender.stats().spurious_timeouts, 0);
        assert_eq!(
            drain(&mut sender, ms(1_030)),
            [(201, 100), (401, 100)],
            "what was selected is skipped"
        );
    }

    /// The new segments of a genuine timeout are sent again like the rest. Duplicates that this causes begin no recovery.
    #[test]
    fn a_genuine_timeout_begins_no_recovery_later() {
        let mut sender = timed_out(RecoveryKind::NewReno, Source::Greedy);
        sender.handle_segment(ms(1_020), &ack(401));
        drain(&mut sender, ms(1_020));
        for at in 1_030..1_034 {
            sender.handle_segment(ms(at), &ack(401));
            drain(&mut sender, ms(at));
        }
        sender.handle_segment(ms(1_040), &ack(1_201));
        drain(&mut sender, ms(1_040));
        for at in 1_041..1_044 {
            sender.handle_segment(ms(at), &ack(1_201));
        }
        assert_eq!(sender.stats().fast_recoveries, 0);
    }

    /// Without the setting every timeout counts as genuine.
    #[test]
    fn without_the_setting_everything_is_retransmitted() {
        let mut sender = sender(
            Config {
                initial_window: Some(10.0),
                ..plain()
            },
            Source::Greedy,
        );
        drain(&mut sender, ms(10));
        sender.handle_timeout(ms(1_010));
        drain(&mut sender, ms(1_010));
        sender.handle_segment(ms(1_020), &ack(101));
        assert_eq!(drain(&mut sender, ms(1_020)), [(101, 100), (201, 100)]);
    }
}
