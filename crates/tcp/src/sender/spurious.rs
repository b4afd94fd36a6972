//! What a sender does about spurious timeouts (RFC 5682; RFC 4015, section 3).
//!
//! It carries on with new data, and the controller restores its window. Left out: the timeout is not adapted to the
//! longer delay (RFC 4015, section 3, step 9).

use super::Sender;
use super::frto::Finding;
use super::outstanding::Selected;

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

    /// Processes an acknowledgement of new data up to `ack`; returns whether it shows that the timeout was spurious.
    pub(super) fn frto_on_new_ack(&mut self, ack: u64) -> bool {
        let has_new_data = self.has_new_data();
        let finding = self.frto.on_new_ack(ack, has_new_data);
        self.act_on(finding)
    }

    /// Processes a duplicate acknowledgement that selected `selected`; returns whether it shows that the timeout was
    /// spurious.
    pub(super) fn frto_on_duplicate(&mut self, selected: Selected) -> bool {
        let uses_sack = self.config.recovery.uses_sack();
        let finding = self.frto.on_duplicate(uses_sack, selected.lowest);
        self.act_on(finding)
    }

    fn act_on(&mut self, finding: Finding) -> bool {
        match finding {
            Finding::Nothing => {}
            Finding::Probe => self.outstanding.resume(),
            // The data is retransmitted in slow start, with a window below the three segments that step 3a allows.
            Finding::Genuine => self.outstanding.give_up(self.config.sack_after_timeout),
            Finding::Spurious => {
                // Losses from before the timeout may begin a recovery again.
                self.recovery.on_spurious_timeout(self.una);
                self.stats.spurious_timeouts += 1;
            }
        }
        finding == Finding::Spurious
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
        for (start, is_spurious) in [(501, true), (1_001, false)] {
            let mut sender = timed_out(RecoveryKind::Sack, Source::Greedy);
            sender.handle_segment(ms(1_015), &selecting(1, 301, 401));
            assert_eq!(drain(&mut sender, ms(1_015)), []);
            sender.handle_segment(ms(1_020), &ack(101));
            assert_eq!(drain(&mut sender, ms(1_020)).len(), 2, "new segments");
            sender.handle_segment(ms(1_030), &selecting(101, start, start + 100));
            assert_eq!(sender.stats().spurious_timeouts, u64::from(is_spurious));
            let next = drain(&mut sender, ms(1_030)).first().map(|first| first.0);
            let expected = if is_spurious { None } else { Some(101) };
            assert_eq!(next.filter(|seq| *seq < 1_001), expected);
        }
    }

    /// Without the setting every timeout counts as genuine.
    #[test]
    fn it_is_off_by_default() {
        assert!(!Config::default().frto);
    }
}
