//! Feature negotiation (RFC 4340, section 6): which options count, and how they are answered.

use fairwire_proto::Inspection;
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, Packet, PacketType, Seq, option_type};

use super::Verdict;
use super::books::{Books, Key};
use super::records::{Features, Validity};

/// The longest time for a Confirm. RFC 4340, 6.6.2, requires one without a time limit.
///
/// The endpoint sends it with the next packet, and sends a packet for it if there is none.
const ANSWER: Duration = Duration::from_secs(3);

/// The number of copies of a Change without an answer that is too many.
///
/// A Change that comes in the state UNSTABLE is ignored (RFC 4340, 6.6.2), and its sender repeats it.
const COPIES: u32 = 3;

/// The features that take the value in the Change (RFC 4340, 6.3.2): Sequence Window, Ack Ratio.
const NON_NEGOTIABLE: [u8; 2] = [3, 5];

/// Features below this number belong to the connection, the others to a CCID (RFC 4340, 6.4).
const OF_CCID: u8 = 128;

/// Records the negotiation options of an arriving packet that may be valid.
pub(crate) fn on_arrival(
    books: &mut Books,
    key: Key,
    packet: &Packet<'_>,
    (seq, judged): (Seq, Validity),
) {
    let now = books.now;
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    // RFC 4340, 6: these options are ignored on Data.
    if packet.packet_type() == PacketType::Data {
        return;
    }
    // RFC 4340, 8.5, step 7: late handshake packets are answered with a Sync, and their options are ignored.
    let late = matches!(
        packet.packet_type(),
        PacketType::Request | PacketType::Response
    );
    let is_open = conn.state() == Some("OPEN") && judged == Validity::Valid && !late;
    // The packet that began the connection set FGSR. A copy of it has the same number, so its options are ignored.
    if conn.last.as_ref().is_some_and(|(.., seen)| seen.isr == seq) {
        return;
    }
    // A packet which shows that GSR was forged takes back GSR and FGSR before its own options are read.
    let syncs = matches!(packet.packet_type(), PacketType::Sync | PacketType::SyncAck);
    let gsr = conn.last.as_ref().map(|(.., seen)| seen.gsr);
    let may_recede =
        syncs && judged == Validity::Unsure && gsr.is_some_and(|gsr| gsr.is_after(seq));
    let features = &mut conn.features;
    let (mut negotiates, fgsr) = (false, features.fgsr);
    let counts = is_open && features.newest.is_none_or(|newest| seq.is_after(newest));
    for raw in packet.options {
        let (change, feature, value) = match DccpOption::decode(raw) {
            Ok(DccpOption::ChangeL { feature, value }) => (option_type::CHANGE_L, feature, value),
            Ok(DccpOption::ChangeR { feature, value }) => (option_type::CHANGE_R, feature, value),
            Ok(DccpOption::ConfirmL { .. } | DccpOption::ConfirmR { .. }) => {
                negotiates = true;
                continue;
            }
            _ => continue,
        };
        negotiates = true;
        // RFC 4340, 6.6.4: the options of a packet that is not newer are ignored.
        if fgsr.is_some_and(|fgsr| !seq.is_after(fgsr)) && !may_recede {
            continue;
        }
        let asked = features.asked.entry((change, feature)).or_default();
        if counts {
            asked.clear();
        }
        if !asked.iter().any(|known| known == value) {
            asked.push(value.to_vec());
        }
        if is_open && feature < OF_CCID {
            let open = features.open.entry((change, feature));
            open.or_insert((now, 0)).1 += 1;
        }
    }
    if negotiates {
        let newest = features.newest;
        features.newest = Some(newest.map_or(seq, |newest| Seq::max(newest, seq)));
    }
    if negotiates && judged == Validity::Valid {
        features.fgsr = Some(fgsr.map_or(seq, |fgsr| Seq::max(fgsr, seq)));
    }
}

/// Checks that the Confirms of a packet that is sent answer Changes that count.
pub(crate) fn check(books: &mut Books, key: Key, packet: &Packet<'_>) -> Verdict {
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    for raw in packet.options {
        let (change, feature, value) = match DccpOption::decode(raw) {
            Ok(DccpOption::ConfirmL { feature, value }) => (option_type::CHANGE_R, feature, value),
            Ok(DccpOption::ConfirmR { feature, value }) => (option_type::CHANGE_L, feature, value),
            _ => continue,
        };
        conn.features.open.remove(&(change, feature));
        // Changes that came before the connection was known are not in these records.
        let Some(asked) = conn.features.asked.get(&(change, feature)) else {
            continue;
        };
        let answers = |asked: &Vec<u8>| match value {
            _ if NON_NEGOTIABLE.contains(&feature) => asked == value,
            [chosen, ours @ ..] => is_chosen(conn.is_server, *chosen, ours, asked),
            [] => true,
        };
        hold!(
            value.is_empty() || asked.iter().any(answers) || conn.last.is_none(),
            "feature-old-change",
            "a Confirm gives feature {feature} the value {value:?}, and Changes in order asked for {asked:?}"
        );
    }
    Ok(())
}

/// Returns whether `chosen` is the first entry of the server's list that is also in the client's (RFC 4340, 6.3.1).
///
/// Without a shared entry the value does not change.
fn is_chosen(is_server: bool, chosen: u8, ours: &[u8], theirs: &[u8]) -> bool {
    let (server, client) = if is_server {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let shared = server.iter().find(|value| client.contains(value));
    shared.is_none_or(|shared| *shared == chosen)
}

/// Checks after a step that each Change is answered, also if it changes nothing (RFC 4340, 6.6.2 and 6.6.6).
pub(crate) fn see(books: &mut Books, key: Key, seen: &Inspection) -> Verdict {
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    if matches!(seen.state, "PARTOPEN" | "OPEN") {
        follow_gsr(&mut conn.features, seen.gsr);
    }
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    if seen.state != "OPEN" || !books.is_honest(key) {
        return Ok(());
    }
    // RFC 4340, 6.6.1: an endpoint need not send a packet for negotiation more than once per round trip. Behind a long
    // queue that can be many seconds.
    let patience = ANSWER.max(seen.rtt * 2);
    for ((_, feature), &(since, copies)) in &conn.features.open {
        let waited = books.now.saturating_since(since);
        hold!(
            waited <= patience || copies < COPIES,
            "feature-unanswered",
            "a Change of feature {feature} came {waited} ago, {copies} times in all, and no Confirm has left"
        );
    }
    Ok(())
}

/// Lowers FGSR and the newest number to GSR.
///
/// FGSR is a number that arrived, so it is never after GSR. If it were, GSR was forged and has been taken back (see
/// `sequence::Verdict::Recede`), and every number after the current GSR is in order again. Which number up to it was
/// the greatest that negotiated is then unknown.
fn follow_gsr(features: &mut Features, gsr: Seq) {
    features.fgsr = features.fgsr.filter(|fgsr| !fgsr.is_after(gsr));
    features.newest = features
        .newest
        .map(|newest| if newest.is_after(gsr) { gsr } else { newest });
}
