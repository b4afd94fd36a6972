//! What CCID 4 (RFC 5622) does differently from CCID 3.
//!
//! The equation speaks of segments of 1,460 bytes, headers count, packets keep 10 ms apart, and
//! short loss intervals count by their losses. Everything else is one code.

use fairwire_cc::tfrc::SegmentSize;
use fairwire_units::Duration;

use crate::config::{Ccid3Config, Segment};

/// The nominal segment size, bytes (RFC 5622, section 5.3).
pub(super) const NOMINAL: u32 = 1_460;
/// Bytes that IP and TCP take of a packet: what is left is TCP's segment.
const TCP_HEADERS: u16 = 40;
/// What the headers of a data packet count as, bytes: IPv4, and DCCP-Data with 48-bit numbers
/// (RFC 5622, section 5).
const HEADER: u32 = 36;
/// The same with 24-bit numbers.
const SHORT_HEADER: u32 = 32;
/// The least time between two data packets (RFC 5622, section 5).
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// Which of the TFRC profiles a half runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Profile {
    /// CCID 3.
    Ccid3,
    /// CCID 4, for small packets.
    Ccid4 {
        /// The nominal segment size, bytes.
        nominal: u32,
        /// What the headers of a data packet count as, bytes.
        header: u32,
    },
}

impl Profile {
    /// CCID 4 where IP packets have at most `path_mtu` bytes; `short` says that data packets have
    /// 24-bit sequence numbers.
    pub(crate) fn small_packets(path_mtu: u16, short: bool) -> Self {
        // RFC 4828, 3: where the path takes less than 1460 bytes of TCP's, that is what TCP sends.
        let segment = u32::from(path_mtu.saturating_sub(TCP_HEADERS));
        Self::Ccid4 {
            nominal: segment.min(NOMINAL),
            header: if short { SHORT_HEADER } else { HEADER },
        }
    }

    pub(super) const fn is_small(self) -> bool {
        matches!(self, Self::Ccid4 { .. })
    }

    /// The segment size of the equation.
    pub(super) fn segment(self, config: &Ccid3Config) -> SegmentSize {
        match (self, config.segment) {
            (Self::Ccid4 { nominal, header }, _) => SegmentSize::Small { nominal, header },
            (Self::Ccid3, Segment::Mean) => SegmentSize::Mean,
            (Self::Ccid3, Segment::Mps) => SegmentSize::Mps,
            (Self::Ccid3, Segment::Fixed(size)) => SegmentSize::Fixed(size),
            (Self::Ccid3, Segment::Literal(size)) => SegmentSize::Literal(size),
        }
    }

    /// The least time between two data packets.
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

    /// RFC 5622, 5: headers are 36 bytes with 48-bit numbers, 32 with 24-bit ones. RFC 4828, 3: a
    /// path that is too narrow for segments of 1460 bytes lowers the nominal size.
    #[test]
    fn nominal_sizes() {
        let of = |nominal, header| Profile::Ccid4 { nominal, header };
        assert_eq!(Profile::small_packets(1_500, false), of(1_460, 36));
        assert_eq!(Profile::small_packets(9_000, true), of(1_460, 32));
        assert_eq!(Profile::small_packets(1_499, false), of(1_459, 36));
        assert_eq!(Profile::small_packets(576, false), of(536, 36));
    }
}
