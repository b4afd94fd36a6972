//! Numbers that several parts go by.

use fairwire_units::Duration;
use fairwire_wire::Ccid;

/// Twice the maximum segment lifetime of two minutes (RFC 4340, section 3.4).
pub(crate) const TWO_MSL: Duration = Duration::from_secs(240);

/// The CCID with which connections start (RFC 4340, section 10).
pub(crate) const DEFAULT_CCID: Ccid = Ccid::TCP_LIKE;

/// The smallest path MTU: what every IPv4 host takes (RFC 791, 3.1).
pub(crate) const MIN_PATH_MTU: u16 = 576;

/// The widest Sequence Window beside which 24-bit numbers are used: a Data packet forged with any
/// number then belongs to the connection once in 2^24 / 1,024 = 16,384 tries (RFC 4340, 7.5.5).
pub(crate) const MAX_SHORT_WINDOW: u64 = 1_024;

/// Where 24-bit numbers are sent, numbers used up in a second at most. RFC 4340, 7.6.2: no number may
/// come round again while an old packet with it can still be on its way, two segment lifetimes or 240 s;
/// at this rate the circle lasts 256 s. Initial numbers move on at the same pace (section 7.2).
pub(crate) const MAX_SHORT_RATE: u64 = 1 << 16;

/// Bytes that a datagram in a receive queue counts beside its payload: its entry, twice, because
/// the queue's memory doubles when it grows, and what an allocator adds to an allocation.
/// `Config::receive_queue_bytes` bounds the sum over all that wait.
pub const DATAGRAM_OVERHEAD: usize = 160;

/// The CCIDs that there are.
pub(crate) const CCIDS: [Ccid; 3] = [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP];
