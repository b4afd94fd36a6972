//! Loss events of TFRC receivers (RFC 5348, section 5.2, and RFC 4342, section 8.1): losses more than a round
//! trip apart, by the window counters of the packets around them, are different events.

use fairwire_proto::{Inspection, Stats};
use fairwire_units::Ecn;
use fairwire_wire::{Ccid, DccpOption, Packet, PacketType, RawOption, Seq};

use super::Verdict;
use super::books::{Arrival, Books, Key, Left};
use super::kept::{Events, Judged, NDUPACK};

/// RFC 4342, 8.1: the counter grows by four in a round trip; what differs by more is of different ones.
const ROUND_TRIP: u64 = 4;

/// RFC 5348, 5.1: a packet is lost when three later ones have come; twice that leaves no doubt.
const LATER: usize = 2 * NDUPACK;

/// The feature with which both ends agree on it (RFC 6323, section 3.1).
const SEND_RTT_ESTIMATE: u8 = 128;

/// `docs/security.md`, "What a packet costs": so many loss events are made of the hole before a packet.
const EVENTS_AT_ONCE: u64 = 112;

/// A packet came that may count. To be called before it is entered into the books.
pub(crate) fn came(
    books: &mut Books,
    key: Key,
    packet: &Packet<'_>,
    (seq, judged, ecn): (Seq, Judged, Ecn),
) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    if conn.took(seq).is_some() {
        return;
    }
    let is_data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
    let begins = is_data && conn.events.newest.is_none() && !conn.arrivals.values().any(is_counted);
    let events = &mut conn.events;
    events.is_stated |= packet.options.iter().any(states);
    // RFC 5348, 5.1: a third packet behind a hole ends it, and up to three packets wait. A mark is congestion at once,
    // so it ends what they wait for, too.
    if is_data {
        events.in_step += if ecn == Ecn::Ce { NDUPACK as u64 } else { 1 };
    }
    // What is not newer than all that came before these books began may have been too late as well.
    if is_data && conn.newest_came.is_none_or(|newest| seq.is_after(newest)) {
        events.first.get_or_insert(seq);
    }
    let Some(first) = events.first.filter(|&first| !seq.is_before(first)) else {
        return;
    };
    if judged == Judged::Invalid {
        return;
    }
    let (place, ccval) = (first.distance(seq), u64::from(packet.ccval));
    let is_late = events.is_late(place, is_data && ecn == Ecn::Ce);
    if !is_data {
        return;
    }
    let Some((newest, counter)) = events.newest else {
        if events.base > 0 {
            // RFC 4342, 10.2: the last event before these books goes on for a round trip. Its counter was at most
            // that of the first packet in them; and 0, with which counters begin (8.1), where no data came earlier.
            events.event = Some(16 + if begins { 0 } else { ccval });
        }
        events.newest = Some((place, 16 + ccval));
        events.came.insert(place, 16 + ccval);
        return;
    };
    if place > newest {
        let counter = counter + (16 + ccval - counter % 16) % 16;
        events.newest = Some((place, counter));
        events.came.insert(place, counter);
    } else if !is_late
        && events
            .came
            .first_key_value()
            .is_some_and(|(&oldest, _)| place > oldest)
    {
        let back = (16 + counter % 16 - ccval) % 16;
        events.came.insert(place, counter.saturating_sub(back));
    }
}

/// Is it data that may have come with a counter?
fn is_counted(arrival: &Arrival) -> bool {
    arrival.counts && matches!(arrival.packet_type, PacketType::Data | PacketType::DataAck)
}

/// A packet leaves.
pub(crate) fn sent(books: &mut Books, key: Key, packet: &Packet<'_>) {
    if let Some(conn) = books.conn_mut(key) {
        conn.events.is_stated |= packet.options.iter().any(states);
    }
}

/// RFC 6323, 3.2 and 3.3: does this option state a round trip, or agree with a Confirm that they are stated?
/// From the one that it sends on, the receiver goes by them, whether or not the sender has got it.
fn states(raw: RawOption<'_>) -> bool {
    match DccpOption::decode(raw) {
        Ok(DccpOption::RttEstimate(_)) => true,
        Ok(DccpOption::ConfirmL { feature, value } | DccpOption::ConfirmR { feature, value }) => {
            feature == SEND_RTT_ESTIMATE && value.first() == Some(&1)
        }
        _ => false,
    }
}

/// A step is over.
pub(crate) fn see(books: &mut Books, key: Key, stats: &Stats, seen: &Inspection) -> Verdict {
    let honest = books.is_honest(key);
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let before = conn.last.as_ref().map(|(_, stats, _)| *stats);
    let ccid = before.and_then(|before| before.receive_ccid);
    let told = before.map_or(0, |before| before.loss_events_seen);
    let most = EVENTS_AT_ONCE * conn.events.in_step.max(1);
    hold!(
        stats.loss_events_seen.saturating_sub(told) <= most || ccid != stats.receive_ccid,
        "loss-events-at-once",
        "{told} loss events became {} by {} holes at most",
        stats.loss_events_seen,
        conn.events.in_step
    );
    let rated = matches!(stats.receive_ccid, Some(Ccid::TFRC | Ccid::TFRC_SP))
        && ccid == stats.receive_ccid;
    let stated = conn.events.is_stated;
    // RFC 4340, 10.5: as on a new connection.
    if !rated || !honest || stated || conn.asked.anew || seen.state != "OPEN" {
        if let Some(conn) = books.conn_mut(key) {
            let base = stats.loss_events_seen;
            conn.events = Events {
                base,
                is_stated: stated,
                ..Events::default()
            };
        }
        return Ok(());
    }
    let least = count(books, key);
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    conn.events.in_step = 0;
    let told = stats.loss_events_seen.saturating_sub(conn.events.base);
    hold!(
        told >= least,
        "loss-events",
        "{told} loss events were seen, and by the window counters there were {least}"
    );
    Ok(())
}

/// Judges the holes that are beyond doubt; how many events there were at least.
fn count(books: &mut Books, key: Key) -> u64 {
    let Some(conn) = books.conn(key) else {
        return 0;
    };
    let mut events = conn.events.clone();
    let peer = conn.peer.and_then(|peer| books.conn(peer));
    let (Some(peer), Some(first)) = (peer, events.first) else {
        return 0;
    };
    while events.came.len() > LATER + 1 {
        let Some((before, low)) = events.came.pop_first() else {
            break;
        };
        let Some((&after, &high)) = events.came.first_key_value() else {
            break;
        };
        if after == before + 1 {
            continue;
        }
        let begin = peer.out.place(first.add(before + 1));
        let hole = begin..peer.out.place(first.add(after));
        let is_data =
            |left: &Left| matches!(left.packet_type, PacketType::Data | PacketType::DataAck);
        // What came before these books began, or too late, is in none of them and was not lost.
        let came = |place: u64| conn.took(first.add(before + 1 + place - begin)).is_some();
        let mut hole = peer.out.packets.range(hole);
        if !hole.any(|(&place, left)| is_data(left) && !came(place)) {
            continue;
        }
        if events.event.is_none_or(|event| low > event + ROUND_TRIP) {
            events.least += 1;
            events.event = Some(high);
        }
    }
    let least = events.least;
    if let Some(conn) = books.conn_mut(key) {
        conn.events = events;
    }
    least
}
