//! How a datagram is to be sent, and what the sender of a connection waits for.

use fairwire_units::Instant;

use crate::part::Part;

/// How one datagram is to be sent ([`Endpoint::send_with`](crate::Endpoint::send_with)).
///
/// The default is what [`Endpoint::send`](crate::Endpoint::send) does: no deadline, priority 0, no group, sent once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct SendOptions {
    /// The last moment at which the datagram may leave. A datagram that still waits after it is dropped with the fate
    /// [`Fate::Expired`](crate::Fate::Expired), so it never leaves late. `None` sets no limit but
    /// [`QueueLimits::age`](crate::QueueLimits::age), which always applies. Both also hold for a datagram that waits to
    /// be sent again.
    pub deadline: Option<Instant>,
    /// Datagrams with a higher priority leave first. Datagrams with the same priority leave in the order in which they
    /// were queued. Priorities are strict: while one of a higher priority waits, none of a lower priority leaves.
    pub priority: i8,
    /// Datagrams that are of use only together, such as the parts of a video frame. The application chooses the number.
    ///
    /// When one member of a group expires, is dropped from the send queue or is lost, the group is broken. Members that
    /// still wait are dropped with [`Fate::GroupBroken`](crate::Fate::GroupBroken), and further ones are refused with
    /// [`SendError::GroupBroken`](crate::SendError::GroupBroken). A connection remembers the last 64 broken groups, so
    /// a number can be used for another group after 64 others. The last 2^32 numbers are those of
    /// [messages](crate::Endpoint::send_message). CCIDs 3 and 4 report no single losses: under them a
    /// group breaks only in the send queue.
    pub group: Option<u64>,
    /// Whether the datagram is sent again if it is lost.
    pub resend: Resend,
    /// Its place in its message, if it is a part of one.
    pub(crate) part: Option<Part>,
}

/// Whether a datagram is sent again if it is lost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Resend {
    /// It is sent once.
    #[default]
    Never,
    /// It is sent again, each time that it is reported lost or dropped, as long as it can leave by this time and by its
    /// deadline. The peer's application gets it once, out of order.
    ///
    /// The time is the last moment at which a copy may *leave*. To be of use when it arrives, a copy needs half a round
    /// trip more. A loss is known about a round trip after the datagram left, so less than that allows no copy.
    ///
    /// A copy keeps the datagram's id, priority and group, and so leaves before newer datagrams of its priority. It is
    /// queued even if the send queue is at its limits. The datagram has one fate, when it has arrived or cannot be sent
    /// again. If its copy was not in time, the fate is [`Fate::Lost`](crate::Fate::Lost). Its group breaks only then.
    ///
    /// It needs [`Config::resend`](crate::Config::resend) at both ends, and CCID 2, because CCIDs 3 and 4 report no
    /// single losses: see [`SendError`](crate::SendError). A datagram for whose data there is no memory is sent once.
    Until(Instant),
}

impl SendOptions {
    /// Returns whether what stands in front of the data on an encrypted connection says what it is.
    pub(crate) fn is_framed(&self) -> bool {
        self.resend != Resend::Never || self.part.is_some()
    }

    /// Returns the last moment at which a copy of the datagram may leave, if it may be sent again at all.
    pub fn resend_until(&self) -> Option<Instant> {
        match self.resend {
            Resend::Never => None,
            Resend::Until(until) => {
                Some(self.deadline.map_or(until, |deadline| deadline.min(until)))
            }
        }
    }
}

/// What the datagram that leaves next waits for ([`Endpoint::waits_for`](crate::Endpoint::waits_for)).
///
/// Nothing waits for the path MTU. When it falls, datagrams that no longer fit are dropped at once
/// ([`Fate::TooLarge`](crate::Fate::TooLarge)), and path MTU discovery delays no data.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Waiting {
    /// For nothing: the send queue is empty, or the datagram may leave now.
    Nothing,
    /// For acknowledgements: the congestion window is full, or half of the Sequence Window (RFC 4340, section 7.5.2) is
    /// in flight.
    Window,
    /// For the time at which the rate permits it: TFRC (CCID 3 and 4) sends one packet after the other, and a window of
    /// bytes no large bursts. Or for [`Config::max_rate`](crate::Config::max_rate).
    Pacing,
    /// For the peer: the handshake is not complete, the features that data needs are not agreed on, or the peer has
    /// reported that it cannot take data now (Drop Code 0, RFC 4340, section 11.7.2).
    Peer,
}
