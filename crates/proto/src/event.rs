//! What the application learns.

use fairwire_units::{Ecn, Instant};
use fairwire_wire::{Ccid, DropCode, ResetCode, Seq};

use crate::error_text::ErrorText;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;
use crate::transmit::Unreachable;

/// What became of a datagram. Each id gets one fate, once.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Fate {
    /// It waited in the send queue longer than its age limit and never left.
    Expired,
    /// It never left: a newer datagram pushed it out, or the connection ended before its turn.
    Refused,
    /// It never left: the path turned out to take less than it did when the datagram was queued.
    TooLarge,
    /// It left, and nothing more will be known: the CCID does not acknowledge packets one by
    /// one, or the connection ended first.
    Sent,
    /// It arrived at the peer's endpoint. Whether its application read it, nobody says: a datagram that
    /// a full receive queue drops later, as one that drops the oldest does, keeps this fate, and
    /// [`Stats::dropped_there`](crate::Stats::dropped_there) counts it.
    Acknowledged,
    /// It arrived with a congestion mark.
    Marked,
    /// The peer reported it missing, or nothing came back.
    Lost,
    /// It arrived, and the peer reported that its application did not get it as usual (RFC 4340,
    /// section 11.7). A report that comes after the datagram was acknowledged changes no fate;
    /// [`Stats::dropped_there`](crate::Stats::dropped_there) counts it all the same.
    Dropped {
        /// Why.
        code: DropCode,
    },
}

/// Why a connection is over.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// Both sides agreed: the closing handshake ended, whoever began it.
    Closed,
    /// The peer reset the connection.
    Reset {
        /// Why. A peer's application that aborts, or is dropped, has [`ResetCode::Aborted`].
        code: ResetCode,
        /// The three data bytes of the Reset (RFC 4340, section 5.6).
        data: [u8; 3],
        /// Why, in its words, if it has any.
        text: Option<ErrorText>,
    },
    /// We reset it because of what the peer sent.
    PeerError {
        /// What we told it.
        code: ResetCode,
        /// The three data bytes that went with it.
        data: [u8; 3],
    },
    /// Nobody answered within the connect timeout.
    ConnectTimeout,
    /// The network, or the peer's host, says that packets do not get to the peer: an attempt ended
    /// at once by a hard error, or after `Config::connect_timeout` if the error was soft; or an open
    /// connection whose peer's host twice said that its port or protocol is gone.
    Unreachable {
        /// What it says.
        why: Unreachable,
    },
    /// What answers at the peer's address sends our own packets back: no peer is there.
    Echoed,
    /// The peer fell silent for longer than the idle timeout.
    IdleTimeout,
    /// The peer did not answer our Close in the time that `Config::close_timeout` sets.
    CloseTimeout,
    /// The application aborted it, or let go of it without closing it.
    Aborted,
}

/// One of a connection's two streams of data, seen from our end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// What we send.
    Send,
    /// What the peer sends.
    Receive,
}

/// Something the application may want to act on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A connection that we asked for is open.
    Connected,
    /// A listener has a new open connection: this event's connection id is new.
    Accepted {
        /// The DCCP port it came to.
        port: u16,
    },
    /// Data waits in the receive queue, which was empty.
    Readable,
    /// The send queue, which had refused a datagram, has room again.
    Writable,
    /// The path MTU changed, and with it the largest datagram that is taken. Queued datagrams that
    /// no longer fit get the fate [`Fate::TooLarge`].
    PathMtu {
        /// Bytes of the largest IP packet that the path takes, as far as is known.
        mtu: u16,
        /// Bytes of the largest datagram.
        max_datagram: usize,
    },
    /// What became of a datagram; only where `Config::report_fates` asks for it.
    Fate {
        /// Which one.
        id: DatagramId,
        /// What became of it.
        fate: Fate,
    },
    /// The peer can hardly keep up and should not get more than it gets now (RFC 4340, section
    /// 11.6). Told once until a round trip has passed without such a word.
    SlowReceiver,
    /// The peer's application stopped reading, for good: nothing more is sent, and what was
    /// queued is refused (RFC 4340, section 11.7.2). Data of the peer may still come.
    NotListening,
    /// A CCID was negotiated in mid-connection, at our wish ([`Endpoint::change_ccid`]) or the peer's:
    /// this one is in force now. It is the old one if the peer would not have another.
    ///
    /// [`Endpoint::change_ccid`]: crate::Endpoint::change_ccid
    Ccid {
        /// Of which data.
        direction: Direction,
        /// The CCID in force.
        ccid: Ccid,
    },
    /// The connection is over; data already received can still be read.
    Closed {
        /// Why.
        reason: CloseReason,
    },
}

/// One datagram received.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its data; may be empty (RFC 4340, section 5.4).
    pub payload: Payload,
    /// The ECN field it arrived with.
    pub ecn: Ecn,
    /// When it arrived.
    pub at: Instant,
    /// Data packets of the peer that are missing between the last one handed out and this one,
    /// those dropped from a full receive queue included, and numbers that a peer passed over to check
    /// our reports (`Config::check_feedback` of its own).
    pub lost_before: u64,
    /// The sequence number of its packet; names it in
    /// [`Endpoint::report_dropped`](crate::Endpoint::report_dropped).
    pub seq: Seq,
    /// Does the Data Checksum contradict the data? Only with [`DamagedData::Deliver`](crate::DamagedData::Deliver).
    pub corrupt: bool,
}

/// An event and the connection it is about.
pub(crate) type ConnectionEvent = (ConnectionId, Event);
