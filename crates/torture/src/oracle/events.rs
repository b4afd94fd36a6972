//! Loss events of TFRC receivers (RFC 5348, section 5.2, and RFC 4342, section 8.1).
//!
//! Losses more than a round trip apart are different events. Window counters of the packets around them show the
//! distance.

use fairwire_proto::{Inspection, Stats};
use fairwire_units::Ecn;
use fairwire_wire::{DccpOption, Packet, PacketType, RawOption, Seq};

use super::Verdict;
use super::books::{Arrival, Books, Key, SentPacket};
use super::ccid::acknowledges;
use super::records::{Events, NDUPACK, Validity};

/// RFC 4342, 8.1: the counter grows by four per round trip. A greater difference means different round trips.
const ROUND_TRIP: u64 = 4;

/// RFC 5348, 5.1: a packet is lost when three later ones have arrived. Twice as many leave no doubt.
const LATER: usize = 2 * NDUPACK;

/// The feature with which both endpoints agree on RTT Estimates (RFC 6323, section 3.1).
const SEND_RTT_ESTIMATE: u8 = 128;

/// The most loss events for the hole before one packet (`docs/security.md`, "What a packet costs").
const EVENTS_AT_ONCE: u64 = 112;

/// Records an arriving packet that may be valid. Call it before the packet is entered into the records.
pub(crate) fn on_arrival(
    books: &mut Books,
    key: Key,
    packet: &Packet<'_>,
    (seq, judged, ecn): (Seq, Validity, Ecn),
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
    // RFC 5348, 5.1: the third packet behind a hole ends it, so up to three packets wait. A mark is congestion at once,
    // so it also ends the wait of these packets.
    if is_data {
        events.in_step += if ecn == Ecn::Ce { NDUPACK as u64 } else { 1 };
    }
    // A packet that is not newer than all that came before these records began may also have been too late.
    if is_data && conn.newest_came.is_none_or(|newest| seq.is_after(newest)) {
        events.first.get_or_insert(seq);
    }
    let Some(first) = events.first.filter(|&first| !seq.is_before(first)) else {
        return;
    };
    if judged == Validity::Invalid {
        return;
    }
    let (place, ccval) = (first.distance(seq), u64::from(packet.ccval));
    let is_late = events.is_late(place, is_data && ecn == Ecn::Ce);
    if !is_data {
        return;
    }
    let Some((newest, counter)) = events.newest else {
        if events.base > 0 {
            // RFC 4342, 10.2: the last event before these records lasts for a round trip. Its counter was at most that
            // of the first packet in them. If no data came earlier, it was 0, the initial value of counters (8.1).
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

/// Returns whether the arrival is data that may have come with a counter.
fn is_counted(arrival: &Arrival) -> bool {
    arrival.counts && matches!(arrival.packet_type, PacketType::Data | PacketType::DataAck)
}

/// Records a packet that is sent.
pub(crate) fn on_sent(books: &mut Books, key: Key, packet: &Packet<'_>) {
    if let Some(conn) = books.conn_mut(key) {
        conn.events.is_stated |= packet.options.iter().any(states);
    }
}

/// Returns whether this option states a round-trip time, or confirms that they are stated (RFC 6323, 3.2 and 3.3).
///
/// The receiver uses them from the Confirm that it sends on, whether or not the sender has received it.
fn states(raw: RawOption<'_>) -> bool {
    match DccpOption::decode(raw) {
        Ok(DccpOption::RttEstimate(_)) => true,
        Ok(DccpOption::ConfirmL { feature, value } | DccpOption::ConfirmR { feature, value }) => {
            feature == SEND_RTT_ESTIMATE && value.first() == Some(&1)
        }
        _ => false,
    }
}

/// Checks the loss events after a step.
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
    let rated = acknowledges(stats.receive_ccid) == Some(false) && ccid == stats.receive_ccid;
    let stated = conn.events.is_stated;
    // RFC 4340, 10.5: congestion control restarts as on a new connection.
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

/// Counts the loss events of the holes that are beyond doubt. Returns the least number of events.
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
            |left: &SentPacket| matches!(left.packet_type, PacketType::Data | PacketType::DataAck);
        // A packet that came before these records began, or too late, is not in them, but was not lost.
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
