//! The differences between CCID 4 (RFC 5622) and CCID 3.
//!
//! In CCID 4 the equation uses segments of 1,460 bytes, the rate includes headers, packets leave at least 10 ms apart,
//! and a short loss interval is divided by its number of losses. All other code is shared.

use fairwire_cc::tfrc::SegmentSize;
use fairwire_units::Duration;

use crate::config::{Ccid3Config, Segment};

/// The nominal segment size, bytes (RFC 5622, section 5.3).
pub(super) const NOMINAL: u32 = 1_460;
/// Bytes of the IP and TCP headers; the rest of a packet is the TCP segment.
const TCP_HEADERS: u16 = 40;
/// The header size of a data packet that the rate includes, bytes: IPv4, and DCCP-Data with 48-bit numbers (RFC 5622,
/// section 5).
const HEADER: u32 = 36;
/// The same size with 24-bit sequence numbers, bytes.
const SHORT_HEADER: u32 = 32;
/// The least time between two data packets (RFC 5622, section 5).
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The TFRC profile of a half-connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Profile {
    /// CCID 3.
    Ccid3,
    /// CCID 4, for small packets.
    Ccid4 {
        /// The nominal segment size, bytes.
        nominal: u32,
        /// The header size of a data packet that the rate includes, bytes.
        header: u32,
    },
}

impl Profile {
    /// Returns CCID 4 for a path whose IP packets have at most `path_mtu` bytes. `short` says that data packets have
    /// 24-bit sequence numbers.
    pub(crate) fn small_packets(path_mtu: u16, short: bool) -> Self {
        // RFC 4828, 3: where the path cannot carry TCP segments of 1460 bytes, the nominal size is the largest that it
        // carries.
        let segment = u32::from(path_mtu.saturating_sub(TCP_HEADERS));
        Self::Ccid4 {
            nominal: segment.min(NOMINAL),
            header: if short { SHORT_HEADER } else { HEADER },
        }
    }

    pub(super) const fn is_small(self) -> bool {
        matches!(self, Self::Ccid4 { .. })
    }

    /// Returns the segment size of the equation.
    pub(super) fn segment(self, config: &Ccid3Config) -> SegmentSize {
        match (self, config.segment) {
            (Self::Ccid4 { nominal, header }, _) => SegmentSize::Small { nominal, header },
            (Self::Ccid3, Segment::Mean) => SegmentSize::Mean,
            (Self::Ccid3, Segment::Mps) => SegmentSize::Mps,
            (Self::Ccid3, Segment::Fixed(size)) => SegmentSize::Fixed(size),
            (Self::Ccid3, Segment::Literal(size)) => SegmentSize::Literal(size),
        }
    }

    /// Returns the least time between two data packets.
    pub(super) const fn min_interval(self) -> Duration {
        match self {
            Self::Ccid3 => Duration::ZERO,
            Self::Ccid4 { .. } => MIN_INTERVAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;

    /// RFC 5622, 5: headers are 36 bytes with 48-bit numbers, 32 with 24-bit ones. RFC 4828, 3: a path too narrow for
    /// segments of 1460 bytes lowers the nominal size.
    #[test]
    fn nominal_sizes() {
        let of = |nominal, header| Profile::Ccid4 { nominal, header };
        assert_eq!(Profile::small_packets(1_500, false), of(1_460, 36));
        assert_eq!(Profile::small_packets(9_000, true), of(1_460, 32));
        assert_eq!(Profile::small_packets(1_499, false), of(1_459, 36));
        assert_eq!(Profile::small_packets(576, false), of(536, 36));
    }
}
