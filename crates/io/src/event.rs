//! Events that a connection reports to its application.

use std::net::SocketAddr;

use fairwire_proto::{Direction, Event};
use fairwire_wire::Ccid;

/// A change of a connection that an application may want to react to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// The largest datagram changed, because the path takes larger or smaller packets than before. Queued datagrams
    /// that no longer fit get the fate [`Fate::TooLarge`](crate::Fate::TooLarge).
    MaxDatagramSize {
        /// The size of the largest datagram from now on, bytes.
        bytes: usize,
    },
    /// The CCID of one direction was negotiated during the connection.
    ///
    /// This side ([`change_ccid`](crate::Connection::change_ccid)) or the peer asked for it. If the peer refused a
    /// change, `ccid` is the old one.
    Ccid {
        /// The direction of the data that it applies to.
        direction: Direction,
        /// The CCID in use.
        ccid: Ccid,
    },
    /// The peer can hardly keep up and should not get a higher rate (Slow Receiver, RFC 4340, section 11.6).
    ///
    /// Reported once, and again only after a round trip without this option.
    /// [`is_receiver_slow`](crate::Connection::is_receiver_slow) returns whether it still holds.
    SlowReceiver,
    /// The peer's application stopped reading, for good. Nothing more can be sent (RFC 4340, section 11.7.2), but its
    /// data may still arrive.
    NotListening,
    /// The client has another address, and the connection goes on there: its NAT gave it another port, or its host has
    /// another address or route. A server is told the addresses of its client
    /// ([`Connection::remote`](crate::Connection::remote)), and a client its own
    /// ([`Connection::local`](crate::Connection::local)).
    ///
    /// If more than a port is new, congestion control has begun anew. This happens only with DTLS
    /// ([`Config::migration`](crate::Config::migration)).
    PathChanged {
        /// The client's address before.
        from: SocketAddr,
        /// Its address from now on.
        to: SocketAddr,
    },
}

impl ConnectionEvent {
    /// Converts a protocol event, unless the application learns of it in another way.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        match *event {
            Event::PathMtu { max_datagram, .. } => Some(Self::MaxDatagramSize {
                bytes: max_datagram,
            }),
            Event::Ccid { direction, ccid } => Some(Self::Ccid { direction, ccid }),
            Event::SlowReceiver => Some(Self::SlowReceiver),
            Event::NotListening => Some(Self::NotListening),
            Event::PathChanged { from, to } => Some(Self::PathChanged { from, to }),
            _ => None,
        }
    }
}
