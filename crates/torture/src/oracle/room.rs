//! The send queue: who was refused learns of room (`Event::Writable`). Hard.

use fairwire_proto::{Event, Inspection, SendError};

use super::Verdict;
use super::books::{Books, Conn, Key};

/// A datagram was offered.
pub(crate) fn offered(conn: &mut Conn, error: Option<SendError>) {
    conn.heard.refused |= error == Some(SendError::Full);
}

/// The endpoint reported an event.
pub(crate) fn see_event(conn: &mut Conn, event: &Event) {
    if matches!(event, Event::Writable | Event::NotListening) {
        conn.heard.refused = false;
    }
}

/// A step is over: an empty queue has room.
pub(crate) fn see(books: &Books, key: Key, seen: &Inspection) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let goes_on = seen.state == "OPEN" && conn.asked.end.is_none();
    hold!(
        !conn.heard.refused || !goes_on || seen.send_queue.0 > 0,
        "send-writable",
        "the queue refused a datagram and is empty now, and nobody was told"
    );
    Ok(())
}
