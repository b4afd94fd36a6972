//! Constants that several modules share.

use fairwire_units::Duration;
use fairwire_wire::Ccid;

/// Twice the maximum segment lifetime of two minutes (RFC 4340, section 3.4).
pub(crate) const TWO_MSL: Duration = Duration::from_secs(240);

/// The CCID with which connections start (RFC 4340, section 10).
pub(crate) const DEFAULT_CCID: Ccid = Ccid::TCP_LIKE;

/// The Ack Ratio of a new connection (RFC 4340, section 11.3).
pub(crate) const DEFAULT_ACK_RATIO: u16 = 2;

/// The smallest path MTU, bytes: every IPv4 host takes packets of this size (RFC 791, 3.1).
pub(crate) const MIN_PATH_MTU: u16 = 576;

/// The widest Sequence Window with which 24-bit numbers are used, packets. A Data packet forged with a random number is
/// then sequence-valid once in 2^24 / 1,024 = 16,384 tries (RFC 4340, 7.5.5).
pub(crate) const MAX_SHORT_WINDOW: u64 = 1_024;

/// Maximum rate at which 24-bit sequence numbers are used, numbers per second.
///
/// RFC 4340, 7.6.2: a number must not come again while an old packet with it can still be on its way, for two segment
/// lifetimes or 240 s. At this rate the numbers wrap after 256 s. Initial sequence numbers advance at the same rate
/// (section 7.2).
pub(crate) const MAX_SHORT_RATE: u64 = 1 << 16;

/// Bytes that each datagram in a receive queue counts in addition to its payload.
///
/// It covers the queue's entry, twice because the queue doubles its memory when it grows, and the allocator's overhead.
/// `Config::receive_queue_bytes` limits the sum over all queued datagrams.
pub const DATAGRAM_OVERHEAD: usize = 176;
