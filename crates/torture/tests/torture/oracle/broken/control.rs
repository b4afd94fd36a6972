//! Congestion control that reacts too late, too little or not at all.

use fairwire_units::Duration;
use fairwire_wire::Ccid;

use super::{Seen, Weather, finds, finds_on, other_state};

const LOSSES: Weather = Weather {
    loses: 10,
    marks: 0,
    jitter_ms: 0,
};

const MARKS: Weather = Weather {
    loses: 0,
    marks: 5,
    jitter_ms: 0,
};

/// A second timeout directly after another is detected.
#[test]
fn timeouts_that_do_not_back_off() {
    let bad = Weather { loses: 2, ..LOSSES };
    finds_on(bad, "timeout-doubles", |oracle, now, host, seen| {
        let Seen::State { stats, .. } = seen else {
            return None;
        };
        if stats.gauges.timeouts == 0 || stats.send_ccid != Some(Ccid::TCP_LIKE) {
            return None;
        }
        let once = oracle.see(now, host, seen);
        let again = |()| {
            other_state((oracle, now, host), seen, |stats, seen| {
                stats.gauges.timeouts += 1;
                seen.state == "OPEN"
            })
            .unwrap_or(Ok(()))
        };
        Some(once.and_then(again))
    });
}

/// A mark that does not reduce the window is detected.
#[test]
fn marks_without_a_cut() {
    finds_on(MARKS, "pipe-cut-mark", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, _| {
            stats.gauges.cuts = 0;
            true
        })
    });
}

/// Missing loss events, and more of them than one packet can cause, are detected.
#[test]
fn loss_events_that_are_wrong() {
    finds_on(LOSSES, "loss-events", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, _| {
            stats.loss_events_seen = 0;
            true
        })
    });
    finds("loss-events-at-once", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            stats.loss_events_seen += 1_000;
            seen.state == "OPEN"
                && stats.receive_ccid == Some(Ccid::TFRC)
                && stats.packets_received > 20
        })
    });
}

/// A missing nofeedback timer is detected.
#[test]
fn a_sender_without_a_timer() {
    finds("rate-timer", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            seen.feedback_timer = None;
            matches!(stats.send_ccid, Some(Ccid::TFRC | Ccid::TFRC_SP))
        })
    });
}

/// A nofeedback timer that is postponed without a report is detected.
#[test]
fn a_timer_that_is_postponed() {
    finds("rate-timer", |oracle, now, host, seen| {
        if !matches!(seen, Seen::State { .. }) {
            return None;
        }
        let once = oracle.see(now, host, seen);
        let again = |()| {
            other_state((oracle, now, host), seen, |stats, seen| {
                let at = seen.feedback_timer;
                seen.feedback_timer = at.map(|at| at + Duration::from_secs(1));
                seen.state == "OPEN"
                    && matches!(stats.send_ccid, Some(Ccid::TFRC | Ccid::TFRC_SP))
                    && at.is_some()
            })
            .unwrap_or(Ok(()))
        };
        Some(once.and_then(again))
    });
}
