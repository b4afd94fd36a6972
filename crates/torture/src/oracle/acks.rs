//! Acknowledgements that a receiver with Ack Vectors must send, and by when (RFC 4340, sections 11.3 and 11.4).

use fairwire_proto::{Inspection, Stats};
use fairwire_units::Duration;
use fairwire_wire::{EntryState, Packet, PacketType, Seq};

use super::Verdict;
use super::books::{Books, Key};
use super::ccid::acknowledges;
use super::records::{Acks, Validity};
use super::vectors::runs;

/// RFC 4340, 11.3: an acknowledgement is delayed by 200 ms at most. A clock may be a tenth slow.
const ACK_DELAY: Duration = Duration::from_millis(230);

/// A vector with this many entries may have reached its maximum length (RFC 4340, 11.4: two options).
///
/// The oldest packets are then no longer reported.
const LONG: usize = 400;

/// How far behind the newest number a late packet must still be reported, packets. So many need at most [`LONG`]
/// entries, whatever happened to each.
const REMEMBERED: u64 = 400;

/// Records an arriving packet that may be valid. Call it before the packet is entered into the records.
pub(crate) fn on_arrival(
    books: &mut Books,
    key: Key,
    packet: &Packet<'_>,
    (seq, ack, judged): (Seq, Option<Seq>, Validity),
) {
    let now = books.now;
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    if let (Some(ack), false) = (ack, conn.acks.late.is_empty()) {
        // RFC 4340, 11.4.2: the sender has received this vector, and may have received the earlier ones.
        let place = conn.out.place(ack);
        conn.acks
            .late
            .retain(|&(_, named)| named.is_none_or(|named| named > place));
    }
    let Some((_, stats, seen)) = &conn.last else {
        return;
    };
    let takes = seen.state == "OPEN"
        && acknowledges(stats.receive_ccid) == Some(true)
        && judged == Validity::Valid;
    let is_data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
    if !takes || !is_data || conn.took(seq).is_some() {
        return;
    }
    let acks = &mut conn.acks;
    if seq.is_after(seen.gsr) {
        acks.waits.get_or_insert((seq, now));
    } else if acks.oldest.is_some_and(|oldest| !seq.is_before(oldest))
        && seq.distance(seen.gsr) < REMEMBERED
    {
        acks.late.push((seq, None));
    }
}

/// Records and checks a packet that is sent.
pub(crate) fn on_sent(
    books: &mut Books,
    key: Key,
    packet: &Packet<'_>,
    (seq, ack): (Seq, Option<Seq>),
) -> Verdict {
    let honest = books.is_honest(key);
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    let syncs = matches!(packet.packet_type(), PacketType::Sync | PacketType::SyncAck);
    let Some(ack) = ack.filter(|_| !syncs) else {
        return Ok(());
    };
    let place = conn.out.place(seq);
    let acks = &mut conn.acks;
    acks.waits = acks.waits.filter(|(seq, _)| seq.is_after(ack));
    let runs = runs(packet, ack);
    let Some(&(_, low, _)) = runs.last() else {
        return Ok(());
    };
    acks.oldest = Some(acks.oldest.map_or(low, |oldest| Seq::min(oldest, low)));
    let names = |seq: Seq| {
        let mut named = runs.iter();
        named.any(|&(high, low, state)| {
            let came = matches!(state, EntryState::Received | EntryState::Marked);
            came && seq.in_window(low, high)
        })
    };
    for (late, named) in &mut acks.late {
        if named.is_none() && names(*late) {
            *named = Some(place);
        }
    }
    // RFC 4340, 11.4 and A.3: a packet that is late, by more than a round trip too, is reported until the sender is
    // known to have a vector that names it. The sender may acknowledge vectors that did not, and others may be lost.
    let forgotten = acks.late.iter().find(|(late, _)| late.is_before(low));
    hold!(
        !honest || forgotten.is_none() || runs.len() >= LONG,
        "ack-late",
        "{forgotten:?} came late, and the vector of {seq:?} ends before it"
    );
    Ok(())
}

/// Checks after a step that no data packet waits too long for its acknowledgement (RFC 4340, 11.3).
pub(crate) fn see(books: &mut Books, key: Key, stats: &Stats, seen: &Inspection) -> Verdict {
    let (honest, now) = (books.is_honest(key), books.now);
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    let ccid = conn.last.as_ref().map(|(_, stats, _)| stats.receive_ccid);
    let vectors = |ccid| acknowledges(ccid) == Some(true);
    if !matches!(seen.state, "PARTOPEN" | "OPEN") || !vectors(stats.receive_ccid) {
        conn.acks = Acks::default();
        return Ok(());
    }
    if seen.state != "OPEN" || !ccid.is_some_and(vectors) {
        // No packet waits yet.
        conn.acks.waits = None;
        conn.acks.late.clear();
        return Ok(());
    }
    if let Some((seq, since)) = conn.acks.waits {
        let waited = now.saturating_since(since);
        hold!(
            !honest || waited <= ACK_DELAY,
            "ack-in-time",
            "{seq:?} came {waited} ago, and nothing has acknowledged it"
        );
    }
    Ok(())
}
