//! What a connection tells its application unasked.

use fairwire_proto::Direction;

use super::Connection;
use crate::error::ConnectionClosed;

/// Something that changed and that an application may want to act on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// The path takes larger or smaller packets than before. Queued datagrams that no longer fit get the
    /// fate [`Fate::TooLarge`](crate::Fate::TooLarge).
    MaxDatagramSize {
        /// The largest datagram from now on, bytes.
        bytes: usize,
    },
    /// The CCID of one direction was negotiated in mid-connection, at our wish
    /// ([`change_ccid`](Connection::change_ccid)) or the peer's. It is the old one if the peer would not have
    /// another.
    Ccid {
        /// Of which data.
        direction: Direction,
        /// The CCID in force.
        ccid: u8,
    },
    /// The peer can hardly keep up: it should not get more than it gets now (Slow Receiver, RFC 4340, section
    /// 11.6). Told once until a round trip has passed without such a word;
    /// [`is_receiver_slow`](Connection::is_receiver_slow) says whether it still holds.
    SlowReceiver,
    /// The peer's application stopped reading, for good: nothing more can be sent (RFC 4340, section 11.7.2).
    /// Its data may still come.
    NotListening,
}

impl Connection {
    /// Waits for the next event. The newest 64 are kept for an application that does not ask. Cancelling
    /// loses none; with several tasks that wait, each event goes to one of them.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and all events are told.
    pub async fn event(&self) -> Result<ConnectionEvent, ConnectionClosed> {
        self.wait(|link| match link.events.pop_front() {
            Some(event) => Some(Ok(event)),
            None => link.closed.map(|reason| Err(ConnectionClosed { reason })),
        })
        .await
    }
}
