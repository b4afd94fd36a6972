//! Datagrams as an application gets them.

use bytes::Bytes;
use fairwire_proto::Payload;
use fairwire_units::Ecn;
use fairwire_wire::Seq;

/// A datagram received.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Received {
    /// Its data; may be empty.
    pub data: Bytes,
    /// The ECN field it arrived with: [`Ecn::Ce`] if a router met congestion.
    pub ecn: Ecn,
    /// Datagrams of the peer that are missing between the one read before and this one. A peer that checks
    /// our reports ([`Config::check_feedback`](crate::Config::check_feedback)) passes a number over now and
    /// then, one in some hundreds or thousands; that counts as a missing datagram here.
    pub lost_before: u64,
    /// Its name in [`Connection::report_dropped`](crate::Connection::report_dropped).
    pub id: ReceivedId,
    /// Does its Data Checksum contradict the data? Only with [`DamagedData::Deliver`](crate::DamagedData::Deliver).
    pub corrupt: bool,
}

/// A datagram received into the caller's buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ReceivedInto {
    /// The datagram's length; if it is larger than the buffer, the rest of the data is gone.
    pub len: usize,
    /// As [`Received::ecn`].
    pub ecn: Ecn,
    /// As [`Received::lost_before`].
    pub lost_before: u64,
    /// As [`Received::id`].
    pub id: ReceivedId,
    /// As [`Received::corrupt`].
    pub corrupt: bool,
}

/// Names a datagram received, within its connection.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ReceivedId(pub(crate) Seq);

impl Received {
    pub(crate) fn of(received: fairwire_proto::Received) -> Self {
        Self {
            ecn: received.ecn,
            lost_before: received.lost_before,
            id: ReceivedId(received.seq),
            corrupt: received.corrupt,
            data: match received.payload {
                Payload::Bytes(data) => data,
                Payload::Synthetic { len, .. } => Bytes::from(vec![0; len as usize]),
            },
        }
    }
}
