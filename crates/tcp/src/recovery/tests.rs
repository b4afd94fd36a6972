//! Tests of the other recoveries; `newreno` has its own tests.

use super::{Answer, Recovery, RecoveryKind, Sequence};

/// RFC 5681, 3.2: three duplicates begin the recovery of Reno, and the first new acknowledgement ends it. Three more
/// duplicates begin the next one at once, unless recovery is limited to once per window.
#[test]
fn reno_ends_with_the_first_new_acknowledgement() {
    for (kind, second) in [
        (RecoveryKind::Reno, Answer::Begin),
        (RecoveryKind::RenoOnce, Answer::Continue),
    ] {
        let mut reno = Recovery::new(kind);
        duplicates(&mut reno, at(1, 11), Answer::Begin);
        assert_eq!(reno.on_duplicate(at(1, 11), 4), Answer::Stay);
        assert_eq!((reno.is_active(), reno.inflation()), (true, 4));
        assert_eq!(reno.on_new_ack(at(5, 11), 4), Answer::End);
        assert_eq!((reno.is_active(), reno.inflation()), (false, 0));
        duplicates(&mut reno, at(5, 12), second);
    }
}

/// Tahoe starts over, never inflates, and ignores the duplicates that its own retransmissions cause.
#[test]
fn tahoe_starts_over() {
    let mut tahoe = Recovery::new(RecoveryKind::Tahoe);
    duplicates(&mut tahoe, at(1, 11), Answer::StartOver);
    assert_eq!((tahoe.is_active(), tahoe.inflation()), (false, 0));
    assert_eq!(tahoe.on_new_ack(at(5, 11), 4), Answer::Continue);
    duplicates(&mut tahoe, at(5, 12), Answer::Continue);
    duplicates(&mut tahoe, at(12, 20), Answer::StartOver);
}

/// RFC 6675, 5: three duplicates begin a recovery, or fewer if the scoreboard shows the loss. It lasts until all its
/// data is acknowledged. RFC 6675, 5.1: after a timeout none begins before that.
#[test]
fn sack_begins_with_what_is_lost() {
    let lost = |una, max| Sequence {
        is_lost: true,
        ..at(una, max)
    };
    let mut sack = Recovery::new(RecoveryKind::Sack);
    assert_eq!(sack.on_duplicate(at(1, 11), 1), Answer::Continue);
    assert_eq!(sack.on_duplicate(lost(1, 11), 2), Answer::Begin);
    assert_eq!(sack.on_duplicate(lost(1, 12), 3), Answer::Stay);
    assert_eq!(sack.on_new_ack(at(10, 12), 9), Answer::Stay);
    assert_eq!(sack.on_new_ack(at(11, 14), 1), Answer::End);
    sack.on_timeout(at(11, 14));
    assert_eq!(sack.on_duplicate(lost(13, 14), 3), Answer::Continue);
    assert_eq!(sack.on_duplicate(lost(14, 20), 3), Answer::Begin);
}

/// Brakmo and Peterson 1995, III.A: one duplicate is enough for a segment that is too old. So is the first or second
/// acknowledgement after a retransmission, but not the third.
#[test]
fn vegas_looks_at_the_clock() {
    let old = |una, max| Sequence {
        has_expired: true,
        ..at(una, max)
    };
    let again = Answer::Again {
        restart_timer: true,
    };
    let mut vegas = Recovery::new(RecoveryKind::Vegas);
    assert_eq!(vegas.on_duplicate(at(1, 11), 1), Answer::Continue);
    assert_eq!(vegas.on_duplicate(old(1, 11), 2), Answer::Begin);
    assert_eq!(vegas.inflation(), 2);
    assert_eq!(vegas.on_new_ack(old(3, 11), 2), again);
    assert_eq!(vegas.on_new_ack(old(5, 11), 2), again);
    assert_eq!(vegas.on_new_ack(old(7, 11), 2), Answer::End);
    assert_eq!(vegas.on_new_ack(old(9, 11), 2), Answer::Continue);
    duplicates(&mut vegas, at(9, 12), Answer::Begin);
    assert_eq!(vegas.on_new_ack(at(10, 12), 1), Answer::End);
    vegas.on_timeout(at(10, 12));
    duplicates(&mut vegas, old(12, 14), Answer::Continue);
}

/// Passes two duplicates, which begin nothing, and checks the answer to the third.
fn duplicates(recovery: &mut Recovery, at: Sequence, third: Answer) {
    for count in 1..=2 {
        assert_eq!(recovery.on_duplicate(at, count), Answer::Continue, "{at:?}");
    }
    assert_eq!(recovery.on_duplicate(at, 3), third, "{at:?}");
}

fn at(una: u64, max: u64) -> Sequence {
    Sequence {
        una,
        max,
        ..Sequence::default()
    }
}
