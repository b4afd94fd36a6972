//! The send queue: an application whose datagram was refused learns of room (`Event::Writable`). A hard invariant.

use fairwire_proto::{Event, Inspection, SendError};

use super::Verdict;
use super::books::{Books, Conn, Key};

/// Records that a datagram was offered to the send queue.
pub(crate) fn offered(conn: &mut Conn, error: Option<SendError>) {
    conn.heard.refused |= error == Some(SendError::Full);
}

/// Records an event that the endpoint reported.
pub(crate) fn see_event(conn: &mut Conn, event: &Event) {
    if matches!(event, Event::Writable | Event::NotListening) {
        conn.heard.refused = false;
    }
}

/// Checks after a step that room in an empty queue was announced.
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
