//! Feature negotiation (RFC 4340, section 6): what counts, and what is answered.

use fairwire_proto::Inspection;
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, Packet, PacketType, Seq, option_type};

use super::Verdict;
use super::books::{Books, Key};
use super::kept::{Features, Judged};

/// How long a Confirm may take (RFC 4340, 6.6.2, asks for one and sets no time): it goes with the next packet,
/// and one is sent for it.
const ANSWER: Duration = Duration::from_secs(3);

/// A Change that comes in the state UNSTABLE is ignored (RFC 4340, 6.6.2), and its sender repeats it: so often
/// without an answer is once too often.
const COPIES: u32 = 3;

/// The features whose value is the one that the Change names (RFC 4340, 6.3.2): Sequence Window, Ack Ratio.
const NON_NEGOTIABLE: [u8; 2] = [3, 5];

/// Features below this are the connection's, the others belong to a CCID (RFC 4340, 6.4).
const OF_CCID: u8 = 128;

/// A packet came that may count.
pub(crate) fn came(books: &mut Books, key: Key, packet: &Packet<'_>, (seq, judged): (Seq, Judged)) {
    let now = books.now;
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    // RFC 4340, 6: on Data they mean nothing.
    if packet.packet_type() == PacketType::Data {
        return;
    }
    // RFC 4340, 8.5, step 7: late packets of the handshake get a Sync, and nothing in them counts.
    let late = matches!(
        packet.packet_type(),
        PacketType::Request | PacketType::Response
    );
    let is_open = conn.state() == Some("OPEN") && judged == Judged::Valid && !late;
    // What shows that GSR was forged takes it back, and FGSR with it, before its own options are read.
    let syncs = matches!(packet.packet_type(), PacketType::Sync | PacketType::SyncAck);
    let gsr = conn.last.as_ref().map(|(.., seen)| seen.gsr);
    let may_recede = syncs && judged == Judged::Unsure && gsr.is_some_and(|gsr| gsr.is_after(seq));
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
        // RFC 4340, 6.6.4: those of a packet that is not newer are ignored.
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
    if negotiates && judged == Judged::Valid {
        features.fgsr = Some(fgsr.map_or(seq, |fgsr| Seq::max(fgsr, seq)));
    }
}

/// A packet leaves: its Confirms answer Changes that count.
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
        // What came before the connection was known is not in these books.
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

/// RFC 4340, 6.3.1: is `chosen` the first entry of the server's list that the client's has, too? Without a shared one
/// the value stays as it was.
fn is_chosen(is_server: bool, chosen: u8, ours: &[u8], theirs: &[u8]) -> bool {
    let (server, client) = if is_server {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let shared = server.iter().find(|value| client.contains(value));
    shared.is_none_or(|shared| *shared == chosen)
}

/// A step is over. RFC 4340, 6.6.2 and 6.6.6: each Change is answered, also one that changes nothing.
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
    // RFC 4340, 6.6.1: an endpoint need not send a packet for negotiation more often than once a round
    // trip, and behind a long queue that is many seconds.
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

/// FGSR is a number that came, so it is not after GSR. Where it would be, GSR was forged and has been taken back (see
/// `sequence::Verdict::Recede`), and all that is newer than the GSR of now is in order again. Of what came up to
/// that, nobody knows which number was the greatest that negotiated.
fn follow_gsr(features: &mut Features, gsr: Seq) {
    features.fgsr = features.fgsr.filter(|fgsr| !fgsr.is_after(gsr));
    features.newest = features
        .newest
        .map(|newest| if newest.is_after(gsr) { gsr } else { newest });
}
