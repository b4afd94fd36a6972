//! What a handshake repeats until it is answered: Requests, acknowledgements in PARTOPEN, closes (RFC 4340,
//! sections 8.1.1, 8.1.5 and 8.3). Hard. Times are the observer's, so that a clock that jumps changes none.

use fairwire_proto::Inspection;
use fairwire_units::{Duration, Instant};
use fairwire_wire::PacketType;

use super::Verdict;
use super::books::{Books, Conn, Key};

/// RFC 4340, 8.1.1, 8.1.5 and 8.3: the timers back off to 64 seconds.
const LONGEST: Duration = Duration::from_secs(64);

/// The first wait is a second (8.1.1), some 200 ms (8.1.5), or two round trips (8.3); a longer round trip may
/// make it longer.
const FIRST: Duration = Duration::from_secs(1);

/// What was sent in a state that repeats.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repeats {
    state: Option<&'static str>,
    count: u32,
    at: Instant,
    /// The round trip when the first of them left, by which the first wait was chosen: the longer one of those
    /// before and after that step. The others double it, whatever becomes of the round trip.
    rtt: Duration,
    is_rtt_known: bool,
}

impl Repeats {
    /// How long the wait that follows the last packet may be: each is twice the one before at most.
    fn most(self) -> Duration {
        let first = FIRST.max(self.rtt * 2);
        let doubled = first * (1 << self.count.saturating_sub(1).min(20));
        // A host's clock may lose a tenth.
        doubled.min(LONGEST) * 5 / 4
    }
}

/// The state that repeats packets of this type; in PARTOPEN all packets do (8.1.5).
fn state_of(conn: &Conn, packet_type: PacketType) -> Option<&'static str> {
    match packet_type {
        PacketType::Request => Some("REQUEST"),
        PacketType::CloseReq => Some("CLOSEREQ"),
        PacketType::Close => Some("CLOSING"),
        PacketType::Reset | PacketType::Listen => None,
        _ => conn.state().filter(|&state| state == "PARTOPEN"),
    }
}

/// A packet leaves.
pub(crate) fn sent(books: &mut Books, key: Key, packet_type: PacketType) -> Verdict {
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

/// A step is over.
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
