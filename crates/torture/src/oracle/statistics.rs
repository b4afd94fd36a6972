//! The endpoint's counters (`Stats`) agree with the records, and its queues with their limits. Hard invariants.

use fairwire_proto::{Inspection, Stats};

use super::Verdict;
use super::books::{Books, Conn, Key};

/// Checks the statistics after a step.
pub(crate) fn see(books: &Books, key: Key, stats: &Stats, seen: &Inspection) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    sent(conn, stats)?;
    received(conn, stats)?;
    if let Some((_, before, _)) = &conn.last {
        check_counters(before, stats)?;
    }
    queues(conn, stats, seen)
}

fn sent(conn: &Conn, stats: &Stats) -> Verdict {
    let out = &conn.out;
    // A connection that began with an Init Cookie also counts the Response, which was sent before it existed.
    let response = u64::from(conn.began_with_cookie())
        .min(stats.packets_sent - out.count.min(stats.packets_sent));
    let ours = (out.count + response, out.data, out.bytes);
    let theirs = (stats.packets_sent, stats.data_sent, stats.bytes_sent);
    hold!(
        ours == theirs,
        "stats-sent",
        "packets, data packets and bytes sent are {ours:?}, counted as {theirs:?}"
    );
    hold!(
        out.copies == stats.resent,
        "stats-resent",
        "{} copies left, counted as {}",
        out.copies,
        stats.resent
    );
    // Each datagram is waiting, sent, or discarded; one that waits to be sent again was sent.
    let taken = conn.given.len() as u64;
    let settled =
        out.data - out.copies - out.own + stats.expired + stats.refused + stats.group_broken;
    hold!(
        taken + stats.queued_resends as u64 == settled + stats.queued_packets as u64,
        "stats-queue",
        "of {taken} datagrams {} left, {} expired, {} were refused, {} had a broken group, {} wait",
        out.data,
        stats.expired,
        stats.refused,
        stats.group_broken,
        stats.queued_packets
    );
    hold!(
        stats.acknowledged + stats.lost <= out.data && stats.marked <= stats.acknowledged,
        "stats-fates",
        "of {} data packets {} are acknowledged, {} marked, {} lost",
        out.data,
        stats.acknowledged,
        stats.marked,
        stats.lost
    );
    Ok(())
}

fn received(conn: &Conn, stats: &Stats) -> Verdict {
    hold!(
        stats.packets_received <= conn.got.packets,
        "stats-received",
        "{} packets received, and {} came that may count",
        stats.packets_received,
        conn.got.packets
    );
    hold!(
        stats.data_received + stats.duplicates <= stats.packets_received,
        "stats-received",
        "{} data packets and {} copies among {} packets",
        stats.data_received,
        stats.duplicates,
        stats.packets_received
    );
    Ok(())
}

/// Checks that counters never decrease.
fn check_counters(before: &Stats, after: &Stats) -> Verdict {
    let counters = |s: &Stats| {
        [
            s.packets_sent,
            s.data_sent,
            s.bytes_sent,
            s.packets_received,
            s.data_received,
            s.duplicates,
            s.bytes_received,
            s.marks_received,
            s.receive_drops,
            s.slow_receivers,
            s.acknowledged,
            s.lost,
            s.marked,
            s.expired,
            s.refused,
            s.group_broken,
            s.resent,
            s.recovered,
            s.resent_duplicates,
            s.resent_too_old,
            s.unread_close_codes,
            s.incomplete_messages,
            s.syncs_sent,
            s.discarded,
            s.checksum_errors,
        ]
    };
    let (old, new) = (counters(before), counters(after));
    let fell = old.iter().zip(new).position(|(&old, new)| new < old);
    hold!(
        fell.is_none(),
        "stats-rise",
        "counter {fell:?} of {new:?} fell"
    );
    Ok(())
}

/// Checks the limits of the send queue and the receive queue. An empty queue accepts a datagram of any size.
fn queues(conn: &Conn, stats: &Stats, seen: &Inspection) -> Verdict {
    let Some(config) = &conn.config else {
        return Ok(());
    };
    // A datagram that is to be sent again is queued whatever the limits. What is kept for that is limited to the bytes
    // of the queue.
    let ((to_send, bytes), limits) = (seen.send_queue, config.send_queue);
    let (again, most) = match stats.queued_resends {
        0 => (0, limits.bytes),
        again => (again, limits.bytes.saturating_mul(2)),
    };
    let fresh = to_send.saturating_sub(again);
    hold!(
        to_send == stats.queued_packets
            && (fresh <= 1 || (fresh <= limits.packets && bytes <= most)),
        "queue-send",
        "{to_send} datagrams of {bytes} bytes wait, and the limits are {limits:?}"
    );
    let (to_read, bytes) = seen.receive_queue;
    hold!(
        to_read <= config.receive_queue_packets && bytes <= config.receive_queue_bytes,
        "queue-receive",
        "{to_read} datagrams wait that count {bytes} bytes"
    );
    Ok(())
}
