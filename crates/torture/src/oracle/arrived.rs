//! Packets that reach an endpoint, and whether they may be valid.

use fairwire_proto::{Meta, Stats};
use fairwire_units::Ecn;
use fairwire_wire::{DccpOption, Kind, Packet, PacketType, Seq, option_type};

use super::books::{Arrival, Books, Key, Unclaimed};
use super::delivery::Delivery;
use super::packet::{Digest, checksum_holds};
use super::records::Validity;
use super::windows;
use super::{acks, cookies, events, features, vectors};
use crate::seen::{Origin, PacketNo};

/// Records a packet that is passed to the endpoint.
pub(crate) fn see(
    books: &mut Books,
    host: usize,
    origin: Origin,
    meta: Meta,
    (head, payload): (&[u8], &[u8]),
) {
    books.arrivals += 1;
    let Ok(packet) = Packet::decode_head(head, payload.len()) else {
        return;
    };
    // RFC 4340, 9.1: a packet that fails its checksum has no effect.
    if !checksum_holds(&packet, &meta.path, (head, payload)) {
        return;
    }
    let payload = match head.get(packet.data_offset..) {
        Some(rest) if payload.is_empty() => rest,
        _ => payload,
    };
    let (path, ports) = (meta.path, packet.ports);
    let flow = (path.local, path.remote, ports.destination, ports.source);
    let no = match origin {
        Origin::Genuine(no) => Some(no),
        Origin::Damaged(_) | Origin::Forged => None,
    };
    let sender = no
        .and_then(|no| books.packets.get(&no))
        .and_then(|departed| departed.sender);
    note_rewriting(books, no, meta.ecn);
    let mut arrival = arrival(books, &packet, payload, meta.ecn);
    let taken = books.host_mut(host).flows.get(&flow).copied();
    let taken = taken.filter(|&key| books.conn(key).is_some_and(|conn| !conn.is_over()));
    let unclaimed = |arrival| Unclaimed {
        seq: packet.seq,
        arrival,
        sender,
        no,
    };
    let Some(key) = taken else {
        return books.keep_unclaimed(host, flow, unclaimed(arrival));
    };
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let judged = windows::judge(conn, &packet);
    let (seq, ack) = windows::numbers(conn, &packet);
    arrival.ack = ack;
    arrival.counts = judged != Validity::Invalid;
    arrival.is_sure = judged == Validity::Valid;
    arrival.forge_if(is_strange(no, sender, conn.peer.or(sender)));
    if let Some((.., last)) = &conn.last {
        conn.expected
            .note(last, judged, packet.packet_type(), (seq, ack));
    }
    if arrival.counts {
        cookies::on_arrival(books, key, &packet);
        features::on_arrival(books, key, &packet, (seq, judged));
        acks::on_arrival(books, key, &packet, (seq, ack, judged));
        events::on_arrival(books, key, &packet, (seq, judged, meta.ecn));
        count(books, key, judged, &packet, (no, sender));
        note_arrival(books, no, meta.ecn);
    }
    // RFC 4340, 7.7.1: an NDP Count reports only the packets just before its own. A late non-data packet may have been
    // taken for data, and remains so.
    let is_new = books.conn(key).is_some_and(|conn| conn.took(seq).is_none()) && arrival.is_data;
    if arrival.counts {
        let is_plain = matches!(arrival.packet_type, PacketType::Data | PacketType::DataAck);
        super::data::on_arrival(books, key, seq, (is_new, is_plain), judged);
    }
    enter(books, key, seq, arrival);
    if judged != Validity::Invalid {
        vectors::read(books, key, &packet, ack, judged);
    }
    let half_open = books.conn(key).is_some_and(|conn| {
        conn.is_server && !conn.heard.open && matches!(conn.state(), None | Some("RESPOND"))
    });
    if half_open {
        // The connection may disappear without an event, and this packet may begin the next one on its flow.
        let arrival = self::arrival(books, &packet, payload, meta.ecn);
        books.keep_unclaimed(host, flow, unclaimed(arrival));
    }
}

/// Records at a packet that it has arrived.
fn note_arrival(books: &mut Books, no: Option<PacketNo>, ecn: Ecn) {
    if let Some(departed) = no.and_then(|no| books.packets.get_mut(&no)) {
        departed.arrived = true;
        departed.arrived_marked |= ecn == Ecn::Ce;
    }
}

/// Records a rewritten ECN field. RFC 3168, 5: on its way an ECN field may only change from ECT to CE.
///
/// Any other change is reported to the sender, and looks as if the receiver had hidden a mark (RFC 4340, 12.2).
fn note_rewriting(books: &mut Books, no: Option<PacketNo>, ecn: Ecn) {
    let Some(departed) = no.and_then(|no| books.packets.get(&no)) else {
        return;
    };
    let (sender, left) = (departed.sender, departed.ecn);
    let is_marked = left.is_capable() && ecn == Ecn::Ce;
    if ecn != left
        && !is_marked
        && let Some(conn) = sender.and_then(|sender| books.conn_mut(sender))
    {
        conn.out.ecn_rewritten = true;
    }
}

/// Creates the record of a packet.
fn arrival(books: &Books, packet: &Packet<'_>, payload: &[u8], ecn: Ecn) -> Arrival {
    let timestamp = packet
        .options
        .iter()
        .find_map(|raw| match DccpOption::decode(raw) {
            Ok(DccpOption::Timestamp(stamp)) => Some(stamp),
            _ => None,
        });
    let changes = [option_type::CHANGE_L, option_type::CHANGE_R];
    let changes = packet
        .options
        .iter()
        .filter(|raw| changes.contains(&raw.option_type));
    let changes = changes.filter_map(|raw| Some((raw.option_type, *raw.data.first()?)));
    let reset = match packet.kind {
        Kind::Reset { code, data, .. } => Some((code, data)),
        _ => None,
    };
    Arrival {
        order: books.arrivals,
        at: books.local,
        packet_type: packet.packet_type(),
        is_data: packet.packet_type().carries_data(),
        is_sync: packet.packet_type() == PacketType::Sync,
        ack: packet.ack().and_then(fairwire_wire::SeqNo::long),
        timestamp,
        reset,
        changes: changes.collect(),
        payloads: vec![(Digest::of(payload), ecn, books.local)],
        forged: Vec::new(),
        counts: true,
        is_sure: true,
        delivery: Delivery::default(),
    }
}

/// Records that a packet may be valid: its sender now has a part in the connection.
fn count(
    books: &mut Books,
    key: Key,
    judged: Validity,
    packet: &Packet<'_>,
    (no, sender): (Option<PacketNo>, Option<Key>),
) {
    if let Some(sender) = sender {
        books.join(key, sender);
    }
    let local = books.local;
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    conn.tainted |= is_strange(no, sender, conn.peer);
    conn.got.note(packet.packet_type());
    conn.step_types.push(packet.packet_type());
    if judged == Validity::Valid {
        conn.got.valid_at = Some(local);
    }
}

/// Decides after a step which of the possibly valid packets were valid.
///
/// The endpoint reports how many it accepted ([`Stats::packets_received`]). If it accepted all, none is in doubt any
/// more. For the endpoint, those that it did not accept have not arrived (RFC 4340, 7.5.3: a Sync beyond the window of
/// an active connection).
pub(crate) fn settle(books: &mut Books, key: Key, stats: &Stats) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let before = conn.last.as_ref();
    let before = before.map_or(0, |(_, stats, _)| stats.packets_received);
    let taken = stats.packets_received.saturating_sub(before);
    let left = (conn.step_types.len() as u64).saturating_sub(taken);
    let mut unsure = std::mem::take(&mut conn.step_unsure);
    if left == 0 {
        for seq in unsure {
            if let Some(arrival) = conn.arrivals.get_mut(&seq.get()) {
                arrival.is_sure |= arrival.counts;
            }
        }
        return;
    }
    unsure.retain(|&seq| conn.took(seq).is_some_and(|arrival| !arrival.is_sure));
    conn.missing.left(left.min(unsure.len() as u64));
}

/// Returns whether a packet is not from this peer.
///
/// An old packet of another connection is as good as forged. Stateless answers come from a truthful host.
fn is_strange(no: Option<PacketNo>, sender: Option<Key>, peer: Option<Key>) -> bool {
    no.is_none() || (sender.is_some() && sender != peer)
}

/// Enters an arrival into the records of its connection.
fn enter(books: &mut Books, key: Key, seq: Seq, arrival: Arrival) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    if arrival.counts {
        if !arrival.is_sure {
            conn.step_unsure.push(seq);
        }
        conn.learn(&arrival);
        conn.came(seq);
    }
    match conn.arrivals.entry(seq.get()) {
        std::collections::btree_map::Entry::Vacant(place) => {
            place.insert(arrival);
        }
        std::collections::btree_map::Entry::Occupied(place) => {
            let known = place.into_mut();
            if arrival.counts && !known.counts {
                // A rejected packet does not describe an accepted one.
                let before = std::mem::replace(known, arrival);
                known.delivery = before.delivery;
            } else if arrival.counts {
                known.is_sure |= arrival.is_sure;
                known.is_data |= arrival.is_data;
                known.is_sync |= arrival.is_sync;
                known.payloads.extend(arrival.payloads);
                known.forged.extend(arrival.forged);
                if arrival.packet_type == PacketType::Reset {
                    known.reset = arrival.reset;
                }
            }
        }
    }
}
