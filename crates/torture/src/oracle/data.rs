//! What the application gets: what arrived, once, in the order of arrival. Hard.

use fairwire_proto::{ConnectionId, Inspection, Received};
use fairwire_wire::Seq;

use super::Verdict;
use super::books::{Books, Key};
use super::packet::{Digest, bytes};

/// The application read a datagram.
pub(crate) fn see(
    books: &mut Books,
    host: usize,
    id: ConnectionId,
    received: &Received,
) -> Verdict {
    let Some(key) = books.key(host, id) else {
        hold!(false, "data-known", "data of {id:?}, which is nobody");
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
    // RFC 4340, 5.4: Data and DataAck carry datagrams, and of the handshake those that have bytes.
    hold!(
        arrival.is_data,
        "data-type",
        "{:?} carries no datagram",
        arrival.packet_type
    );
    // RFC 4340, 7: copies that the network made are told by their numbers.
    hold!(
        !arrival.delivered,
        "data-once",
        "packet {seq:?} is delivered twice"
    );
    arrival.delivered = true;
    let digest = Digest::of(&bytes(&received.payload));
    arrival.delivered_forged = arrival.forged.contains(&digest);
    let same = arrival
        .payloads
        .iter()
        .any(|&(came, ecn, at)| came == digest && ecn == received.ecn && at == received.at);
    hold!(
        same,
        "data-same",
        "packet {seq:?} is delivered with other bytes, another mark or another time than it came with"
    );
    // Datagrams wait in the order of arrival.
    let order = arrival.order;
    hold!(
        !honest || newest.is_none_or(|newest| newest < order),
        "data-order",
        "packet {seq:?} is delivered after one that came later"
    );
    conn.heard.newest_delivered = Some(order);
    Ok(())
}

/// A step is over. A GSR that goes back was forged: the peer has shown that it never sent the numbers
/// beyond the new one (`sequence::Verdict::Recede`), so its own packets with these are yet to come, and
/// are new. That excuses what a stranger's packet brought, and nothing that the peer's own brought.
pub(crate) fn see_gsr(books: &mut Books, key: Key, seen: &Inspection) {
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let Some((.., last)) = &conn.last else {
        return;
    };
    if !seen.gsr.is_before(last.gsr) {
        return;
    }
    for (&seq, arrival) in &mut conn.arrivals {
        let taken_back = Seq::new(seq).in_window(seen.gsr.next(), last.gsr);
        if taken_back && arrival.delivered_forged {
            arrival.delivered = false;
        }
    }
}
