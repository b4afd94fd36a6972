//! What an application is told of its connections.

use fairwire_proto::{Direction, Event};
use fairwire_wire::Ccid;

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
    /// ([`change_ccid`](crate::Connection::change_ccid)) or the peer's. It is the old one if the peer would not have
    /// another.
    Ccid {
        /// Of which data.
        direction: Direction,
        /// The CCID in force.
        ccid: Ccid,
    },
    /// The peer can hardly keep up: it should not get more than it gets now (Slow Receiver, RFC 4340, section
    /// 11.6). Told once until a round trip has passed without such a word;
    /// [`is_receiver_slow`](crate::Connection::is_receiver_slow) says whether it still holds.
    SlowReceiver,
    /// The peer's application stopped reading, for good: nothing more can be sent (RFC 4340, section 11.7.2).
    /// Its data may still come.
    NotListening,
}

impl ConnectionEvent {
    /// What the application is told of `event`, where it does not see it in another way.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        match *event {
            Event::PathMtu { max_datagram, .. } => Some(Self::MaxDatagramSize {
                bytes: max_datagram,
            }),
            Event::Ccid { direction, ccid } => Some(Self::Ccid { direction, ccid }),
            Event::SlowReceiver => Some(Self::SlowReceiver),
            Event::NotListening => Some(Self::NotListening),
            _ => None,
        }
    }
}
