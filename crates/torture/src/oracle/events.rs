//! Loss events of TFRC receivers (RFC 5348, section 5.2, and RFC 4342, section 8.1): losses more than a round
//! trip apart, by the window counters of the packets around them, are different events.

use std::collections::BTreeMap;

use fairwire_proto::{Inspection, Stats};
use fairwire_wire::{DccpOption, Packet, PacketType, Seq};

use super::Verdict;
use super::books::{Books, Key};
use super::windows::Judged;

/// RFC 4342, 8.1: the counter grows by four in a round trip; what differs by more is of different ones.
const ROUND_TRIP: u64 = 4;

/// RFC 5348, 5.1: a packet is lost when three later ones have come; twice that leaves no doubt.
const LATER: usize = 6;

/// `docs/adversarial.md`, finding 2: what one packet makes at most.
const EVENTS_AT_ONCE: u64 = 112;

/// What a receiver knows from the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// Data that came and were not judged yet: by place behind `first`, with their counters.
    came: BTreeMap<u64, u64>,
    first: Option<Seq>,
    /// Newest place and its counter.
    newest: Option<(u64, u64)>,
    /// Loss events that there are at least, and the counter behind the first loss of the last one.
    least: u64,
    event: Option<u64>,
    /// Does the sender state round trips (RFC 6323)? They count instead of the counters.
    is_stated: bool,
    /// Events counted before.
    base: u64,
    /// Data that came in this step.
    in_step: u64,
}

/// A packet came that may count. To be called before it is entered into the books.
pub(crate) fn came(books: &mut Books, key: Key, packet: &Packet<'_>, (seq, judged): (Seq, Judged)) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let is_data = matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck);
    if !is_data || conn.took(seq).is_some() {
        return;
    }
    let events = &mut conn.events;
    events.in_step += 1;
    let states = |raw| matches!(DccpOption::decode(raw), Ok(DccpOption::RttEstimate(_)));
    events.is_stated |= packet.options.iter().any(states);
    let first = *events.first.get_or_insert(seq);
    if judged == Judged::Invalid || seq.is_before(first) {
        return;
    }
    let (place, ccval) = (first.distance(seq), u64::from(packet.ccval));
    let Some((newest, counter)) = events.newest else {
        events.newest = Some((place, 16 + ccval));
        events.came.insert(place, 16 + ccval);
        return;
    };
    if place > newest {
        let counter = counter + (16 + ccval - counter % 16) % 16;
        events.newest = Some((place, counter));
        events.came.insert(place, counter);
    } else if events
        .came
        .first_key_value()
        .is_some_and(|(&oldest, _)| place > oldest)
    {
        let back = (16 + counter % 16 - ccval) % 16;
        events.came.insert(place, counter.saturating_sub(back));
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
        "{told} loss events became {} by {} packets",
        stats.loss_events_seen,
        conn.events.in_step
    );
    let rated = matches!(stats.receive_ccid, Some(3 | 4)) && ccid == stats.receive_ccid;
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
        let hole = peer.out.place(first.add(before + 1))..peer.out.place(first.add(after));
        let mut lost =
            peer.out.packets.range(hole).filter(|(_, left)| {
                matches!(left.packet_type, PacketType::Data | PacketType::DataAck)
            });
        if lost.next().is_none() {
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
