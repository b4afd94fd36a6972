//! Ack Vectors (RFC 4340, section 11.4): arriving ones are entered into the records, and sent ones are checked.

use fairwire_units::Ecn;
use fairwire_wire::{DccpOption, EntryState, Packet, PacketType, Seq};

use super::Verdict;
use super::books::{Arrival, Books, Conn, Key};
use super::records::{NUMDUPACK, Validity};

/// Returns the entries of a packet's vectors: newest number, oldest number, state.
pub(crate) fn runs(packet: &Packet<'_>, ack: Seq) -> Vec<(Seq, Seq, EntryState)> {
    let mut high = ack;
    let mut runs = Vec::new();
    for raw in packet.options {
        let Ok(DccpOption::AckVector { entries, .. }) = DccpOption::decode(raw) else {
            continue;
        };
        for cell in entries.iter() {
            let low = high.sub(u64::from(cell.run()) - 1);
            runs.push((high, low, cell.state()));
            high = low.prev();
        }
    }
    runs
}

/// Records what an arriving packet that may be valid reports about our packets.
pub(crate) fn read(
    books: &mut Books,
    key: Key,
    packet: &Packet<'_>,
    ack: Option<Seq>,
    judged: Validity,
) {
    let syncs = matches!(
        packet.packet_type(),
        // RFC 4340, 5.7: the Acknowledgement Number of these does not report that packet as received.
        PacketType::Sync | PacketType::SyncAck
    );
    let (Some(ack), Some(conn)) = (ack.filter(|_| !syncs), books.conn_mut(key)) else {
        return;
    };
    let acked = conn.out.place(ack);
    if !conn.pipe.perhaps_hears(acked) {
        return;
    }
    let counts = conn.pipe.hears(acked);
    let (mut news, mut marks) = (Vec::new(), Vec::new());
    for (high, low, state) in runs(packet, ack) {
        if !matches!(state, EntryState::Received | EntryState::Marked) {
            continue;
        }
        let first = conn.out.first.unwrap_or(low);
        if high.is_before(first) {
            continue; // It covers a Response before this connection, which an Init Cookie replaced.
        }
        let (from, to) = (conn.out.place(Seq::max(low, first)), conn.out.place(high));
        let named = conn.out.packets.range(from..=to).rev();
        conn.pipe
            .perhaps_reported(named.take(NUMDUPACK).map(|(&place, _)| place));
        for (&place, left) in conn.out.packets.range_mut(from..=to) {
            if counts && !left.acked {
                left.acked = true;
                news.push(place);
                if state == EntryState::Marked {
                    marks.push(place);
                }
            }
        }
    }
    conn.pipe.marked(&marks);
    conn.pipe.reported(&news, judged == Validity::Unsure);
}

/// Checks the vectors of a packet that is sent. Hard, because an endpoint knows what it received.
pub(crate) fn check(conn: &Conn, packet: &Packet<'_>, ack: Seq, honest: bool) -> Verdict {
    // An endpoint that cannot read marks says so (RFC 4340, 12.1), and reports none.
    let reads_marks = conn.config.as_ref().is_none_or(|config| config.ecn);
    for (high, low, state) in runs(packet, ack) {
        let mut seq = high;
        loop {
            cell(conn, seq, state, (reads_marks, honest))?;
            if seq == low {
                break;
            }
            seq = seq.prev();
        }
    }
    Ok(())
}

/// Returns whether a packet came before the connection existed.
///
/// A server stores nothing but an Init Cookie until it comes back (RFC 4340, 8.1.4). So it knows the packet that
/// brought the cookie, and has processed none of those between the cookie's Request and that packet.
fn came_before(conn: &Conn, arrival: &Arrival) -> bool {
    conn.began_with_cookie() && arrival.at < conn.began
}

/// Checks what one vector reports about one packet.
fn cell(conn: &Conn, seq: Seq, state: EntryState, (reads_marks, honest): (bool, bool)) -> Verdict {
    let arrival = conn.took(seq);
    let came_with = |mark: bool| {
        arrival.is_some_and(|arrival| {
            let mut all = arrival.payloads.iter();
            all.any(|&(_, ecn, _)| (ecn == Ecn::Ce) == mark)
        })
    };
    match state {
        EntryState::Received => hold!(
            came_with(false) || (arrival.is_some() && !reads_marks),
            "vector-received",
            "{seq:?} is reported received, and {}",
            ["never came", "came marked"][usize::from(arrival.is_some())]
        ),
        EntryState::Marked => hold!(
            came_with(true),
            "vector-marked",
            "{seq:?} is reported marked, and never came with a mark"
        ),
        // RFC 4340, 11.4: the sender would take "not yet received" of an arrived packet for a loss.
        EntryState::NotReceived => hold!(
            !honest || arrival.is_none_or(|arrival| !arrival.is_sure || came_before(conn, arrival)),
            "vector-missing",
            "{seq:?} is reported missing, and it came"
        ),
        EntryState::Reserved => hold!(false, "vector-reserved", "{seq:?} has the reserved state"),
    }
    Ok(())
}
