//! CCID 2: flight, losses and the congestion window (RFC 4341, section 5), according to the oracle's own records.

use fairwire_proto::{Inspection, Stats};
use fairwire_wire::Ccid;

use super::Verdict;
use super::books::{Books, Conn, Key};
use super::records::Pipe;

/// The tolerance of a window for the order in which fractions are added.
const ROUNDING: f64 = 1e-6;

/// Restarts congestion control as on a new connection (RFC 4340, 10.5).
///
/// Packets in flight no longer count, and reports on packets sent before are ignored. Reports on later packets count,
/// also in this step.
pub(crate) fn begin_anew(conn: &mut Conn) {
    let since = conn.out.next_place();
    conn.pipe = Pipe::beginning(since, since, conn.pipe.unsure);
}

/// Checks the congestion window after a step.
pub(crate) fn see(books: &mut Books, key: Key, stats: &Stats, seen: &Inspection) -> Verdict {
    let (honest, local) = (books.is_honest(key), books.local);
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    let before = conn.last.as_ref().map(|(_, stats, _)| *stats);
    let changed = before
        .is_some_and(|before| before.send_ccid.is_some() && before.send_ccid != stats.send_ccid);
    if changed || seen.state == "CLOSED" {
        // When in this step the CCID changed is not observed.
        let unsure = conn.pipe.unsure || conn.out.data_in_step > 0;
        conn.pipe = Pipe::beginning(conn.out.step_began_at, conn.out.next_place(), unsure);
        return Ok(());
    }
    if conn.asked.anew {
        // The flight before the step says nothing about the flight now.
        conn.pipe.forget_step();
        return Ok(());
    }
    if stats.send_ccid != Some(Ccid::TCP_LIKE) {
        conn.pipe.flight.clear();
        return Ok(());
    }
    let timeouts = before.map_or(0, |before| before.gauges.timeouts);
    let timed_out = stats.gauges.timeouts > timeouts;
    if timed_out {
        let left = conn.out.data_in_step;
        conn.pipe.time_out(left);
    }
    within(conn, stats, seen)?;
    if honest && !conn.pipe.unsure {
        let ours = conn.pipe.flight.len();
        hold!(
            ours == seen.flight_packets as usize,
            "pipe-flight",
            "{} data packets are in flight, and {ours} by the reports that came",
            seen.flight_packets
        );
    }
    if let Some(before) = &before {
        window(conn, before, stats, honest && !timed_out)?;
    }
    let cuts = before.map_or(0, |before| before.gauges.cuts);
    if stats.gauges.cuts > cuts || timed_out {
        conn.pipe.cut_at = Some(local);
    }
    conn.pipe.forget_step();
    Ok(())
}

/// Checks that the flight respects the window (RFC 4341, 5): nothing is sent while the pipe holds cwnd packets.
///
/// So after a packet is sent, the pipe holds at most one more than the largest integer below cwnd.
fn within(conn: &Conn, stats: &Stats, seen: &Inspection) -> Verdict {
    hold!(
        stats.flight_packets == seen.flight_packets,
        "pipe-stats",
        "{} data packets in flight, and {} in the statistics",
        seen.flight_packets,
        stats.flight_packets
    );
    let cwnd = seen.cwnd.unwrap_or(f64::INFINITY);
    hold!(
        conn.out.data_in_step == 0 || f64::from(seen.flight_packets) < cwnd + 1.0,
        "pipe-window",
        "{} data packets are in flight after one has left, and cwnd is {cwnd}",
        seen.flight_packets
    );
    // RFC 4341, 5, and RFC 5681: a window is at least one packet.
    let at_least_one = cwnd >= 1.0;
    hold!(
        at_least_one,
        "pipe-window-least",
        "the window is {cwnd} packets"
    );
    Ok(())
}

/// Checks the change of the window (RFC 4341, 5).
///
/// It grows by at most one packet for each acknowledged one, and is reduced by a loss after the last reduction.
fn window(conn: &Conn, before: &Stats, after: &Stats, honest: bool) -> Verdict {
    let cwnd = |stats: &Stats| stats.gauges.cwnd_packets;
    let (Some(old), Some(new)) = (cwnd(before), cwnd(after)) else {
        return Ok(());
    };
    let acked = after.acknowledged.saturating_sub(before.acknowledged) as f64;
    let within = new <= old + acked + ROUNDING;
    hold!(
        within,
        "pipe-growth",
        "the window grew from {old} to {new} for {acked} acknowledged packets"
    );
    let cut = after.gauges.cuts > before.gauges.cuts;
    let fresh = conn
        .pipe
        .lost
        .is_some_and(|lost| conn.pipe.cut_at.is_none_or(|cut| lost > cut));
    if honest && fresh && !conn.pipe.unsure {
        hold!(cut, "pipe-cut", "packets are lost, and {old} became {new}");
    }
    // RFC 4341, 5, and RFC 4340, 12: a mark has the same effect as a loss.
    let marked = conn
        .pipe
        .marked
        .is_some_and(|marked| conn.pipe.cut_at.is_none_or(|cut| marked > cut));
    if honest && marked && !conn.pipe.unsure {
        hold!(
            cut,
            "pipe-cut-mark",
            "packets are marked, and {old} became {new}"
        );
    }
    let law = conn.config.as_ref().map(|config| config.ccid2.law.kind());
    if cut && law == Some("newreno") {
        // RFC 4341, 5: the window is halved, and never below one packet. The ssthresh of RFC 5681 is at least two.
        let halved = new <= (old / 2.0).max(2.0) + acked + ROUNDING;
        hold!(
            halved,
            "pipe-half",
            "a cut took the window from {old} to {new}"
        );
    }
    Ok(())
}
