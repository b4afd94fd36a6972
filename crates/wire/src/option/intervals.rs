//! Loss intervals and their drop counts, as receivers of CCID 3 and 4 report them (RFC 4342, section 8.6, and RFC 5622,
//! section 8.7).

/// One loss interval. The first two lengths count sequence numbers, the third counts data packets.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct LossInterval {
    /// Length of the part without a loss, below 2^24.
    pub lossless_length: u32,
    /// Parity of the ECN nonces received in the part without a loss.
    pub ecn_nonce: bool,
    /// Length of the part that starts and ends with a loss, below 2^23.
    pub loss_length: u32,
    /// Data packets in the whole interval, below 2^24.
    pub data_length: u32,
}

const MAX_24: u32 = (1 << 24) - 1;
const MAX_23: u32 = (1 << 23) - 1;

impl LossInterval {
    /// Length of an encoded interval in bytes.
    pub const LEN: usize = 9;
    /// The most intervals in one option.
    pub const MAX_PER_OPTION: usize = 28;

    /// Decodes the nine bytes of an interval.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let [a0, a1, a2, b0, b1, b2, c0, c1, c2] = bytes;
        Self {
            lossless_length: u32::from_be_bytes([0, a0, a1, a2]),
            ecn_nonce: b0 & 0x80 != 0,
            loss_length: u32::from_be_bytes([0, b0 & 0x7F, b1, b2]),
            data_length: u32::from_be_bytes([0, c0, c1, c2]),
        }
    }

    /// Encodes the interval. A length too large for its field is replaced by the largest.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let [_, a0, a1, a2] = self.lossless_length.min(MAX_24).to_be_bytes();
        let nonce = u32::from(self.ecn_nonce) << 23;
        let [_, b0, b1, b2] = (self.loss_length.min(MAX_23) | nonce).to_be_bytes();
        let [_, c0, c1, c2] = self.data_length.min(MAX_24).to_be_bytes();
        [a0, a1, a2, b0, b1, b2, c0, c1, c2]
    }
}

/// The intervals of one Loss Intervals option, newest first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LossIntervals<'a>(pub(crate) &'a [[u8; LossInterval::LEN]]);

impl<'a> LossIntervals<'a> {
    /// Creates the list from the encoded intervals.
    pub const fn new(intervals: &'a [[u8; LossInterval::LEN]]) -> Self {
        Self(intervals)
    }

    /// Returns the intervals, newest first.
    pub fn iter(self) -> impl ExactSizeIterator<Item = LossInterval> + use<'a> {
        self.0.iter().copied().map(LossInterval::from_bytes)
    }
}

/// The counts of one Dropped Packets option, newest interval first.
///
/// Each count is the number of lost and marked packets of a loss interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DropCounts<'a>(pub(crate) &'a [[u8; 3]]);

impl<'a> DropCounts<'a> {
    /// The most counts in one option.
    pub const MAX_PER_OPTION: usize = 84;
    /// The largest count.
    pub const MAX_COUNT: u32 = MAX_24;

    /// Creates the list from the encoded counts.
    pub const fn new(counts: &'a [[u8; 3]]) -> Self {
        Self(counts)
    }

    /// Returns the counts, newest interval first.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.0
            .iter()
            .map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }
}

#[cfg(test)]
mod tests {
    use super::LossInterval;

    /// RFC 4342, 8.6.1: the nonce is the high bit of the loss length's field.
    ///
    /// A length that does not fit is replaced by the largest, and does not overflow into the next field.
    #[test]
    fn fields_do_not_spill() {
        let interval = LossInterval {
            lossless_length: 0x00AB_CDEF,
            ecn_nonce: true,
            loss_length: 3,
            data_length: 0x0001_0203,
        };
        let bytes = interval.to_bytes();
        assert_eq!(bytes, [0xAB, 0xCD, 0xEF, 0x80, 0, 3, 1, 2, 3]);
        assert_eq!(LossInterval::from_bytes(bytes), interval);
        let too_large = LossInterval {
            lossless_length: u32::MAX,
            ecn_nonce: false,
            loss_length: u32::MAX,
            data_length: 1 << 24,
        };
        let bytes = too_large.to_bytes();
        assert_eq!(bytes, [255, 255, 255, 0x7F, 255, 255, 255, 255, 255]);
    }
}
