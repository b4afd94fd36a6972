//! Received datagrams, as an application gets them.

use bytes::Bytes;
use fairwire_proto::Payload;
use fairwire_units::Ecn;
use fairwire_wire::Seq;
use tokio::time::Instant;

use crate::clock::Clock;

/// A received datagram.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Received {
    /// The data; it may be empty.
    pub data: Bytes,
    /// The ECN field of the packet: [`Ecn::Ce`] if a router signalled congestion.
    pub ecn: Ecn,
    /// When it arrived: when the endpoint took it from the socket, however long it then waited to be read. Datagrams that
    /// were taken together have the same time. [`Instant::into_std`] makes it one of the standard library.
    pub at: Instant,
    /// The number of the peer's datagrams that are missing between the previous datagram read and this one. A peer that
    /// checks our reports ([`Config::check_feedback`](crate::Config::check_feedback)) skips a sequence number now and
    /// then, one in some hundreds or thousands. Each skipped number counts as a missing datagram here. With DTLS so
    /// does a datagram whose record is forged, a replay or very late, and each lost datagram of DTLS itself.
    pub lost_before: u64,
    /// The id for [`Connection::report_dropped`](crate::Connection::report_dropped).
    pub id: ReceivedId,
    /// Whether the Data Checksum does not match the data. True only with
    /// [`DamagedData::Deliver`](crate::DamagedData::Deliver).
    pub corrupt: bool,
    /// Whether the peer sent it again after a loss ([`SendOptions::resend`](crate::SendOptions::resend)). Newer
    /// datagrams may have been read before it.
    pub resent: bool,
}

/// A datagram that was received into the caller's buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ReceivedInto {
    /// The length of the datagram, bytes. If it is larger than the buffer, the rest of the data is lost.
    pub len: usize,
    /// The same as [`Received::ecn`].
    pub ecn: Ecn,
    /// The same as [`Received::at`].
    pub at: Instant,
    /// The same as [`Received::lost_before`].
    pub lost_before: u64,
    /// The same as [`Received::id`].
    pub id: ReceivedId,
    /// The same as [`Received::corrupt`].
    pub corrupt: bool,
    /// The same as [`Received::resent`].
    pub resent: bool,
}

/// The id of a received datagram, unique within its connection.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ReceivedId(pub(crate) Seq);

impl Received {
    /// Makes it of a datagram that arrived by this `clock`.
    pub(crate) fn of(received: fairwire_proto::Received, clock: Clock) -> Self {
        Self {
            ecn: received.ecn,
            at: clock.moment(received.at),
            lost_before: received.lost_before,
            id: ReceivedId(received.seq),
            corrupt: received.corrupt,
            resent: received.resent,
            data: match received.payload {
                Payload::Bytes(data) => data,
                payload @ Payload::Synthetic { .. } => payload.to_bytes(),
            },
        }
    }
}
