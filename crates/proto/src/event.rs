//! Events that the application receives.

use std::net::SocketAddr;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::{Ccid, DropCode, ResetCode, Seq};

use crate::error_text::ErrorText;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;
use crate::security::SecurityError;
use crate::transmit::Unreachable;

/// What became of a datagram. Each datagram id gets exactly one fate.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Fate {
    /// Not sent: it waited in the send queue longer than its age limit, or until after its deadline.
    Expired,
    /// Not sent: a newer datagram pushed it out of the send queue, the application purged the queue, or the connection
    /// ended first.
    Refused,
    /// Not sent: another member of its group expired, was dropped from the send queue or was lost
    /// ([`SendOptions::group`](crate::SendOptions::group)).
    GroupBroken,
    /// Not sent: the path MTU fell after it was queued, and it no longer fits.
    TooLarge,
    /// Sent, and nothing more will be known: the CCID does not acknowledge single packets, or the connection ended
    /// first.
    Sent,
    /// It arrived at the peer's endpoint; the peer does not report whether its application read it.
    ///
    /// If a full receive queue drops it later, for example under [`DropOldest`](crate::ReceiveQueuePolicy::DropOldest),
    /// it keeps this fate, and [`Stats::dropped_by_peer`](crate::Stats::dropped_by_peer) counts it.
    Acknowledged,
    /// It arrived with a congestion mark.
    Marked,
    /// The peer reported it missing, or sent no feedback at all. For a datagram that may be sent again
    /// ([`Resend`](crate::Resend)): this, and no copy was in time.
    Lost,
    /// It arrived, but the peer reported that its application did not get it as usual (RFC 4340, section 11.7).
    ///
    /// A report that comes after the acknowledgement does not change the fate;
    /// [`Stats::dropped_by_peer`](crate::Stats::dropped_by_peer) counts it anyway.
    Dropped {
        /// The reason that the peer gave.
        code: DropCode,
    },
}

/// Why a connection is over.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The closing handshake is complete; either side may have begun it.
    Closed,
    /// The closing handshake is complete, and the peer's application has said why it closed
    /// ([`Endpoint::close_with`](crate::Endpoint::close_with)). This end may have begun to close, too.
    ///
    /// With DTLS this is authentic and secret. In clear text anybody on the path can read and forge it, as the Close
    /// itself.
    ApplicationClosed {
        /// A number that means what the applications agree on.
        code: u32,
        /// The explanation, if it is not empty.
        text: Option<ErrorText>,
    },
    /// The peer reset the connection.
    Reset {
        /// The reason. [`ResetCode::Aborted`] means that the peer's application aborted or dropped the connection.
        code: ResetCode,
        /// The three data bytes of the Reset (RFC 4340, section 5.6).
        data: [u8; 3],
        /// The peer's explanation, if it sent one.
        text: Option<ErrorText>,
    },
    /// We reset the connection because of what the peer sent.
    PeerError {
        /// The Reset Code that we sent.
        code: ResetCode,
        /// The three data bytes of our Reset.
        data: [u8; 3],
    },
    /// The peer did not answer within the connect timeout.
    ConnectTimeout,
    /// The network or the peer's host reports that packets do not reach the peer.
    ///
    /// An attempt to connect ends at once on a hard error, or after `Config::connect_timeout` if the error was soft. An
    /// open connection ends when the peer's host has reported twice that its port or protocol is gone.
    Unreachable {
        /// The reported reason.
        why: Unreachable,
    },
    /// Our own packets are sent back from the peer's address: there is no peer.
    Reflected,
    /// The peer was silent for longer than the idle timeout.
    IdleTimeout,
    /// The peer did not answer our Close within `Config::close_timeout`. Or this end of an encrypted connection has sent
    /// datagrams, and the peer has not acknowledged the end of the handshake within `Config::drain_timeout`: it may never
    /// have read them.
    CloseTimeout,
    /// The application aborted the connection, or dropped it without closing it.
    Aborted,
    /// Its encryption failed ([`Endpoint::secure`](crate::Endpoint::secure)).
    Security {
        /// Why.
        error: SecurityError,
    },
}

impl CloseReason {
    /// Returns whether the closing handshake is complete.
    pub fn is_orderly(&self) -> bool {
        matches!(self, Self::Closed | Self::ApplicationClosed { .. })
    }
}

/// One of the two directions of a connection's data, as seen from our end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// The data we send.
    Send,
    /// The data the peer sends.
    Receive,
}

/// Something that happened to a connection and that the application may act on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A connection that we started is open.
    Connected,
    /// A listener has a new open connection. The connection id of this event is new.
    Accepted {
        /// The DCCP port of the listener.
        port: u16,
    },
    /// The peer of an encrypted connection has sent its first datagram.
    Heard,
    /// The encryption of the connection is complete ([`Endpoint::secure`](crate::Endpoint::secure)): each end has
    /// accepted the other. The application's datagrams leave from now on. Until the peer is known to have all keys, they
    /// are at most 16, with 24 KiB; others wait.
    Secured,
    /// Data is in the receive queue, which was empty before.
    Readable,
    /// The send queue has room again after it refused a datagram.
    Writable,
    /// The path MTU changed, and with it the size of the largest datagram. Queued datagrams that no longer fit get
    /// [`Fate::TooLarge`].
    PathMtu {
        /// Size of the largest IP packet that the path takes, as far as is known, bytes.
        mtu: u16,
        /// Size of the largest datagram, bytes.
        max_datagram: usize,
    },
    /// What became of a datagram; only with `Config::report_fates`.
    Fate {
        /// The datagram.
        id: DatagramId,
        /// What became of it.
        fate: Fate,
    },
    /// The target bitrate has changed enough to matter ([`TargetBitrate::has_left`]): take it with
    /// [`Endpoint::take_target_change`]. The event is not repeated until then, and comes at most once in a round trip
    /// and in 50 ms.
    ///
    /// [`TargetBitrate::has_left`]: crate::TargetBitrate::has_left
    /// [`Endpoint::take_target_change`]: crate::Endpoint::take_target_change
    TargetBitrate,
    /// The peer asks for no more data than it gets now (RFC 4340, section 11.6). The event is not repeated until a
    /// round trip has passed without such a request.
    SlowReceiver,
    /// The peer's application has stopped reading for good: nothing more is sent, and queued datagrams are refused (RFC
    /// 4340, section 11.7.2). The peer may still send data.
    NotListening,
    /// The negotiation of a CCID in mid-connection has ended; either side may have begun it
    /// ([`Endpoint::change_ccid`]). The CCID in force is still the old one if the peer refused the change.
    ///
    /// [`Endpoint::change_ccid`]: crate::Endpoint::change_ccid
    Ccid {
        /// The direction of the data.
        direction: Direction,
        /// The CCID in force.
        ccid: Ccid,
    },
    /// The client of an encrypted connection has another address, and everything goes there from now on
    /// ([`Config::migration`](crate::Config::migration)). A server is told the addresses of its client, and a client its
    /// own.
    PathChanged {
        /// The client's address before.
        from: SocketAddr,
        /// Its address from now on.
        to: SocketAddr,
    },
    /// The connection is over. Data that was already received can still be read.
    Closed {
        /// Why it is over.
        reason: CloseReason,
    },
}

/// A received datagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// Its data; it may be empty (RFC 4340, section 5.4).
    pub payload: Payload,
    /// The ECN field it arrived with.
    pub ecn: Ecn,
    /// When it arrived.
    pub at: Instant,
    /// Number of the peer's data packets that are missing between the datagram read before and this one. It includes
    /// datagrams dropped from a full receive queue, and sequence numbers that the peer skipped to check our feedback
    /// (its `Config::check_feedback`). A datagram that arrives after the peer sent it again is subtracted from the next
    /// such number; each of its lost copies counts.
    pub lost_before: u64,
    /// The sequence number of its packet, for [`Endpoint::report_dropped`](crate::Endpoint::report_dropped).
    pub seq: Seq,
    /// Whether the data does not match its Data Checksum; only with
    /// [`DamagedData::Deliver`](crate::DamagedData::Deliver).
    pub corrupt: bool,
    /// Whether this is a copy that the peer sent after the loss of the first one ([`Resend`](crate::Resend)). Newer
    /// datagrams may have arrived before it.
    pub resent: bool,
}

/// An event and the connection it is about.
pub(crate) type ConnectionEvent = (ConnectionId, Event);
