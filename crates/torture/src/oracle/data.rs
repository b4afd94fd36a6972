//! Data that the application reads: what arrived, once, in the order of arrival. A hard invariant.

use fairwire_proto::{ConnectionId, Inspection, Received, Stats};
use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;

use super::Verdict;
use super::books::{Arrival, Books, Key};
use super::delivery::REMEMBERED;
use super::packet::Digest;
use super::records::{Missing, Validity};
use crate::seen::TAG_LEN;

/// Checks a datagram that the application read.
pub(crate) fn see(
    books: &mut Books,
    host: usize,
    id: ConnectionId,
    received: &Received,
) -> Verdict {
    let Some(key) = books.key(host, id) else {
        hold!(
            false,
            "data-known",
            "data of {id:?}, which is not a connection"
        );
        return Ok(());
    };
    let honest = books.is_honest(key);
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    hold!(
        conn.heard.open,
        "data-before-open",
        "data of {id:?} before it is open"
    );
    hold!(
        !conn.heard.released,
        "data-after-release",
        "data of {id:?} after its release"
    );
    let seq = received.seq;
    let newest = conn.heard.newest_delivered;
    let Some(arrival) = conn.arrivals.get_mut(&seq.get()).filter(|a| a.counts) else {
        hold!(false, "data-arrived", "no packet {seq:?} has arrived");
        return Ok(());
    };
    let (order, is_encrypted) = (arrival.order, conn.asked.encryption);
    let digest = delivered(arrival, received, is_encrypted)?;
    // Datagrams are queued in the order of arrival.
    hold!(
        !honest || newest.is_none_or(|newest| newest < order),
        "data-order",
        "packet {seq:?} is delivered after one that came later"
    );
    // A datagram that is sent again is delivered once. Those without a tag look alike.
    // On an encrypted connection nobody else can make one, or show one twice.
    let tagged = (honest || is_encrypted) && digest.len >= TAG_LEN;
    hold!(
        !tagged || conn.heard.delivered.insert(digest),
        "data-resent-once",
        "the datagram in packet {seq:?} was delivered before"
    );
    conn.heard.newest_delivered = Some(order);
    conn.missing.told = conn.missing.told.saturating_add(received.lost_before);
    hold!(
        !is_encrypted || digest.len < TAG_LEN || books.sealed.contains(&digest),
        "data-sealed",
        "packet {seq:?} of an encrypted connection delivers what no application gave to one"
    );
    Ok(())
}

/// Checks that a datagram is what its packet brought, and is delivered once.
fn delivered(
    arrival: &mut Arrival,
    received: &Received,
    is_encrypted: bool,
) -> Result<Digest, super::Violation> {
    let seq = received.seq;
    // RFC 4340, 5.4: Data and DataAck carry datagrams, and handshake packets do if their payload is not empty.
    hold!(
        arrival.is_data,
        "data-type",
        "{:?} carries no datagram",
        arrival.packet_type
    );
    // RFC 4340, 7: copies made by the network are detected by their numbers. A forged packet in the place of one that
    // was yet to come may have been forgotten.
    let is_first = arrival.delivery.take();
    hold!(is_first, "data-once", "packet {seq:?} is delivered twice");
    let digest = Digest::of(&received.payload.to_bytes());
    if is_encrypted {
        opened(arrival, digest, (received.ecn, received.at));
    }
    let is_forged = arrival.forged.contains(&digest);
    arrival.delivery.set_forged(is_forged);
    let same = arrival
        .payloads
        .iter()
        .any(|&(came, ecn, at)| came == digest && ecn == received.ecn && at == received.at);
    hold!(
        same,
        "data-same",
        "packet {seq:?} is delivered with other bytes, another mark or another time than it came with"
    );
    Ok(digest)
}

/// Enters what a record was opened to as what came in its packet.
fn opened(arrival: &mut Arrival, digest: Digest, (ecn, at): (Ecn, Instant)) {
    let came = |&(_, with, when): &(Digest, Ecn, Instant)| (with, when) == (ecn, at);
    if arrival.payloads.iter().any(came) {
        arrival.payloads.push((digest, ecn, at));
    }
}

/// Records an arriving packet that may be valid. `is_new` means: data, and no other packet came with its number;
/// `is_plain` means Data or `DataAck`.
pub(crate) fn on_arrival(
    books: &mut Books,
    key: Key,
    seq: Seq,
    (is_new, is_plain): (bool, bool),
    judged: Validity,
) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let takes = matches!(conn.state(), Some("PARTOPEN" | "OPEN")) && judged == Validity::Valid;
    // In RESPOND the numbers of a step's first packet are checked, but not whether there is a place for its connection.
    let completes = conn.state() == Some("RESPOND") && conn.expected.arrivals == 1;
    let missing = &mut conn.missing;
    missing.completing |= is_new && is_plain && completes;
    // The first packet may be one that came before the connection was known, such as a Request.
    let begin = conn.newest_came.unwrap_or(seq);
    let first = *missing.first.get_or_insert(begin);
    let newest = *missing.newest.get_or_insert(begin);
    let is_known = seq.is_after(newest) || seq.distance(newest) < REMEMBERED;
    missing.came += u64::from(is_new && is_plain && takes && is_known);
    if seq.is_after(newest) {
        missing.now += newest.distance(seq) - 1;
        missing.newest = Some(seq);
    } else if is_new && !seq.is_before(first) && seq.distance(newest) < REMEMBERED {
        missing.now = missing.now.saturating_sub(1);
    }
    missing.most = missing.most.max(missing.now);
}

/// Checks `Received::lost_before` after a step: it reports what is missing, and what came and was dropped, each once.
///
/// A packet that came late is not missing.
pub(crate) fn see_counts(books: &Books, key: Key, stats: &Stats, seen: &Inspection) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let dropped: u64 = stats.dropped_locally.iter().sum();
    let Missing {
        first,
        most,
        told,
        came,
        ..
    } = conn.missing;
    // With an Init Cookie, packets between the Request and the packet that began the connection were not recorded.
    let first = first.filter(|_| conn.began_with_cookie());
    let before = first.map_or(0, |first| seen.isr.distance(first));
    let most = most + if before < REMEMBERED { before } else { 0 };
    hold!(
        !books.is_honest(key) || told <= most + dropped,
        "data-lost-before",
        "{told} were told missing, and there were {most} at the worst moment, and {dropped} dropped"
    );
    // RFC 4340, 11.7: what is acknowledged is delivered, or reported as dropped.
    let settled = stats.data_received + dropped + stats.resent_duplicates;
    hold!(
        !books.is_honest(key) || seen.state != "OPEN" || came <= settled,
        "data-settled",
        "{came} datagrams came, and {settled} were delivered, dropped or known"
    );
    Ok(())
}

/// Records after a step whether GSR went back.
pub(crate) fn see_gsr(books: &mut Books, key: Key, seen: &Inspection) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let Some((.., last)) = &conn.last else {
        return;
    };
    if seen.gsr.is_before(last.gsr) {
        for (&seq, arrival) in &mut conn.arrivals {
            arrival.delivery.recede(Seq::new(seq), last.gsr, seen.gsr);
        }
    }
}
