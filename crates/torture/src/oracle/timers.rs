//! The timers of congestion control: retransmission (RFC 4341, section 5, according to RFC 6298) and no feedback (RFC
//! 5348, section 4.4).

use fairwire_proto::{Inspection, Stats};
use fairwire_units::Duration;

use super::Verdict;
use super::books::{Books, Key};
use super::ccid::acknowledges;
use super::records::Timeouts;

/// RFC 6298, 2.5: a timeout may have an upper bound, which is at least this.
const LONGEST: Duration = Duration::from_secs(60);

/// Checks the timers after a step.
pub(crate) fn see(books: &mut Books, key: Key, stats: &Stats, seen: &Inspection) -> Verdict {
    let local = books.local;
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    let before = conn.last.as_ref().map(|(_, stats, _)| *stats);
    let rated = acknowledges(stats.send_ccid) == Some(false);
    // RFC 5348, 4.2 to 4.4: from the first packet on, the timer runs while an answer may come.
    hold!(
        !rated
            || conn.out.data_in_step == 0
            || seen.state != "OPEN"
            || seen.feedback_timer.is_some(),
        "rate-timer",
        "data left, and no nofeedback timer runs"
    );
    // RFC 5348, 4.3, step 5, and 4.4: a report restarts the timer, and so does its expiry. Nothing else postpones it.
    let last = conn
        .last
        .as_ref()
        .map(|(_, stats, seen)| (stats.send_ccid, seen.feedback_timer));
    if let Some((ccid, Some(at))) = last
        && ccid == stats.send_ccid
        && rated
        && conn.step_types.is_empty()
        && !conn.asked.anew
        && seen.state == "OPEN"
        && local < at
    {
        hold!(
            seen.feedback_timer == Some(at),
            "rate-timer",
            "the nofeedback timer was to end at {at}, and without a report this became {:?}",
            seen.feedback_timer
        );
    }
    let before_timeouts = before.map_or(0, |before| before.gauges.timeouts);
    let anew = conn.asked.anew || before.is_some_and(|before| before.send_ccid != stats.send_ccid);
    if acknowledges(stats.send_ccid) != Some(true) || anew {
        conn.timeouts = Timeouts::default();
        return Ok(());
    }
    if stats.gauges.timeouts <= before_timeouts {
        return Ok(());
    }
    let packets = conn.got.packets;
    let least = conn
        .config
        .as_ref()
        .map(|config| Duration::from(config.ccid2.min_rto));
    if conn.timeouts.count > 0 && conn.timeouts.packets == packets {
        // RFC 6298, 5.5: each timeout doubles the next one until a packet is acknowledged. After n timeouts in a row,
        // the next one waits at least the minimum doubled n times.
        let doubled = least.unwrap_or(Duration::ZERO) * (1 << conn.timeouts.count.min(20));
        let waited = local.saturating_since(conn.timeouts.at);
        hold!(
            waited >= doubled.min(LONGEST),
            "timeout-doubles",
            "timeout {} in a row comes {waited} after the last one, and {doubled} are the least",
            conn.timeouts.count + 1
        );
    } else {
        conn.timeouts.count = 0;
    }
    conn.timeouts = Timeouts {
        count: conn.timeouts.count + 1,
        at: local,
        packets,
    };
    Ok(())
}
