//! Retransmissions of a handshake until it is answered: Requests, acknowledgements in PARTOPEN, closes (RFC 4340,
//! sections 8.1.1, 8.1.5 and 8.3).
//!
//! Hard invariants. Times are the observer's, so a clock that jumps does not matter.

use fairwire_proto::Inspection;
use fairwire_units::Instant;
use fairwire_wire::PacketType;

use super::Verdict;
use super::books::{Books, Conn, Key};
use super::records::{FIRST, Repeats};

/// Returns the state that repeats packets of this type; PARTOPEN repeats packets of all types (8.1.5).
fn state_of(conn: &Conn, packet_type: PacketType) -> Option<&'static str> {
    match packet_type {
        PacketType::Request => Some("REQUEST"),
        PacketType::CloseReq => Some("CLOSEREQ"),
        PacketType::Close => Some("CLOSING"),
        PacketType::Reset | PacketType::Listen => None,
        _ => conn.state().filter(|&state| state == "PARTOPEN"),
    }
}

/// Records and checks a packet that is sent.
pub(crate) fn on_sent(books: &mut Books, key: Key, packet_type: PacketType) -> Verdict {
    let now = books.now;
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    let Some(state) = state_of(conn, packet_type) else {
        return Ok(());
    };
    if conn.repeats.state != Some(state) {
        conn.repeats = Repeats::default();
        conn.repeats.state = Some(state);
        let last = conn.last.as_ref();
        conn.repeats.rtt = last.map_or(FIRST, |(.., seen)| seen.rtt);
    }
    in_time(conn, state, now)?;
    conn.repeats.count += 1;
    conn.repeats.at = now;
    Ok(())
}

/// Checks the time since the last packet after a step.
pub(crate) fn see(books: &mut Books, key: Key, seen: &Inspection) -> Verdict {
    let now = books.now;
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    if conn.repeats.state != Some(seen.state) {
        return Ok(());
    }
    if !std::mem::replace(&mut conn.repeats.is_rtt_known, true) {
        conn.repeats.rtt = conn.repeats.rtt.max(seen.rtt);
    }
    in_time(conn, seen.state, now)
}

fn in_time(conn: &Conn, state: &str, now: Instant) -> Verdict {
    let waited = now.saturating_since(conn.repeats.at);
    let most = conn.repeats.most();
    hold!(
        conn.repeats.count == 0 || waited <= most,
        "repeat-in-time",
        "{state}: nothing for {waited} after packet {} of the state, and {most} are the most",
        conn.repeats.count
    );
    Ok(())
}
