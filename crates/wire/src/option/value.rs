//! What each option says.

use super::option_type as ty;
use super::{AckCells, DropBlocks, DropCounts, LossIntervals, OptionError, RawOption};

/// The value of [`DccpOption::LossEventRate`] before any loss (RFC 4342, section 8.5).
pub const NO_LOSS: u32 = u32::MAX;

/// The value of [`DccpOption::RttEstimate`] for a round trip too long to say (RFC 6323,
/// section 3.2.1). It is the largest there is.
pub const RTT_TOO_LARGE: u32 = 0x00FF_FFFF;

/// Packets a Loss Intervals option may skip: NDUPACK (RFC 4342, section 8.6.1).
const MAX_SKIP: u8 = 3;

/// An option and what it says.
///
/// Numbers from 128 up mean something only together with a CCID (RFC 4340, section 10.3); here
/// they are read as CCID 3 and 4 use them (RFC 4342, 5622, 6323). Whoever runs another CCID reads
/// the [`RawOption`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DccpOption<'a> {
    /// Nothing.
    Padding,
    /// The next option must be understood, or the connection is reset.
    Mandatory,
    /// The receiver can hardly keep up.
    SlowReceiver,
    /// The sender, where the feature is located, proposes values.
    ChangeL {
        /// The feature's number.
        feature: u8,
        /// A preference list or a value; see [`feature`](crate::feature).
        value: &'a [u8],
    },
    /// The answer to a [`Self::ChangeR`]; empty if that was not understood.
    ConfirmL {
        /// The feature's number.
        feature: u8,
        /// The value, then perhaps a preference list.
        value: &'a [u8],
    },
    /// The sender proposes values for a feature located at the other end.
    ChangeR {
        /// The feature's number.
        feature: u8,
        /// A preference list.
        value: &'a [u8],
    },
    /// The answer to a [`Self::ChangeL`]; empty if that was not understood.
    ConfirmR {
        /// The feature's number.
        feature: u8,
        /// The value, then perhaps a preference list.
        value: &'a [u8],
    },
    /// State of a server that keeps none; opaque to everyone else.
    InitCookie(&'a [u8]),
    /// How many packets without data came just before this one, below 2^48.
    NdpCount(u64),
    /// What became of the packets up to the Acknowledgement Number.
    AckVector {
        /// Parity of the ECN nonces of the packets reported received.
        nonce: bool,
        /// The cells.
        cells: AckCells<'a>,
    },
    /// Which received data did not reach the application.
    DataDropped(DropBlocks<'a>),
    /// The sender's clock, in units of 10 microseconds.
    Timestamp(u32),
    /// A timestamp sent back.
    TimestampEcho {
        /// The timestamp, as it came.
        timestamp: u32,
        /// How long ago it came, in units of 10 microseconds; [`u32::MAX`] for 42950 s or more.
        elapsed: Option<u32>,
    },
    /// How long ago the acknowledged packet came, in units of 10 microseconds; [`u32::MAX`] for
    /// 42950 s or more.
    ElapsedTime(u32),
    /// CRC-32c of the payload.
    DataChecksum(u32),
    /// Round-trip time as the sender estimates it, in microseconds; 0 if it has no sample yet,
    /// [`RTT_TOO_LARGE`] for more than 16.7 s.
    RttEstimate(u32),
    /// Inverse of the loss event rate, rounded up: packets per loss interval; [`NO_LOSS`] before
    /// the first loss.
    LossEventRate(u32),
    /// The receiver's loss intervals.
    LossIntervals {
        /// Packets up to the Acknowledgement Number that belong to no interval, at most 3.
        skip: u8,
        /// The intervals, at least one.
        intervals: LossIntervals<'a>,
    },
    /// The rate at which the receiver got data, in bytes per second.
    ReceiveRate(u32),
    /// Lost and marked packets per loss interval.
    DroppedPackets(DropCounts<'a>),
    /// An option of a type not listed here.
    Unknown {
        /// Its type.
        option_type: u8,
        /// Its data; empty for types 0 to 31.
        data: &'a [u8],
    },
}

impl<'a> RawOption<'a> {
    /// What it says.
    ///
    /// # Errors
    /// [`OptionError`], if it is of a known type and its data are not.
    #[inline]
    pub fn decode(self) -> Result<DccpOption<'a>, OptionError> {
        DccpOption::decode(self)
    }

    /// The three Data bytes of a Reset that blames this option: its type and its first two bytes
    /// of data, zero where there are none (RFC 4340, section 5.6, codes 5 and 6).
    pub const fn blame(self) -> [u8; 3] {
        match *self.data {
            [] => [self.option_type, 0, 0],
            [first] => [self.option_type, first, 0],
            [first, second, ..] => [self.option_type, first, second],
        }
    }
}

impl<'a> DccpOption<'a> {
    /// Reads what `raw` says.
    ///
    /// # Errors
    /// [`OptionError`], if its type is known and its data are invalid for it.
    #[inline]
    pub fn decode(raw: RawOption<'a>) -> Result<Self, OptionError> {
        let data = raw.data;
        let bad_length = OptionError::Length {
            option_type: raw.option_type,
            data: data.len(),
        };
        match raw.option_type {
            ty::PADDING => Ok(Self::Padding),
            ty::MANDATORY => Ok(Self::Mandatory),
            ty::SLOW_RECEIVER => Ok(Self::SlowReceiver),
            ty::CHANGE_L..=ty::CONFIRM_R => {
                // RFC 4340, 6.1 and 6.2: the first byte is the feature's number.
                let (&feature, value) = data.split_first().ok_or(bad_length)?;
                Ok(negotiation(raw.option_type, feature, value))
            }
            ty::INIT_COOKIE => Ok(Self::InitCookie(data)),
            ty::NDP_COUNT => big_endian(data, 6).map(Self::NdpCount).ok_or(bad_length),
            // An empty vector says nothing about any packet; RFC 4340, 11.4, has the first byte
            // speak of the acknowledged one.
            ty::ACK_VECTOR_0 | ty::ACK_VECTOR_1 if !data.is_empty() => Ok(Self::AckVector {
                nonce: raw.option_type == ty::ACK_VECTOR_1,
                cells: AckCells(data),
            }),
            ty::DATA_DROPPED if !data.is_empty() => Ok(Self::DataDropped(DropBlocks(data))),
            ty::TIMESTAMP => word(data).map(Self::Timestamp).ok_or(bad_length),
            ty::TIMESTAMP_ECHO => timestamp_echo(data).ok_or(bad_length),
            ty::ELAPSED_TIME => elapsed(data).map(Self::ElapsedTime).ok_or(bad_length),
            // RFC 4340, 5.8: of any other length it is ignored.
            ty::DATA_CHECKSUM => word(data).map(Self::DataChecksum).ok_or(bad_length),
            ty::RTT_ESTIMATE => rtt_estimate(data).ok_or(bad_length),
            ty::LOSS_EVENT_RATE => word(data).map(Self::LossEventRate).ok_or(bad_length),
            ty::LOSS_INTERVALS => loss_intervals(data).unwrap_or(Err(bad_length)),
            ty::RECEIVE_RATE => word(data).map(Self::ReceiveRate).ok_or(bad_length),
            ty::DROPPED_PACKETS => drop_counts(data).ok_or(bad_length),
            ty::ACK_VECTOR_0 | ty::ACK_VECTOR_1 | ty::DATA_DROPPED => Err(bad_length),
            option_type => Ok(Self::Unknown { option_type, data }),
        }
    }

    /// Its type's number.
    pub const fn option_type(&self) -> u8 {
        match self {
            Self::Padding => ty::PADDING,
            Self::Mandatory => ty::MANDATORY,
            Self::SlowReceiver => ty::SLOW_RECEIVER,
            Self::ChangeL { .. } => ty::CHANGE_L,
            Self::ConfirmL { .. } => ty::CONFIRM_L,
            Self::ChangeR { .. } => ty::CHANGE_R,
            Self::ConfirmR { .. } => ty::CONFIRM_R,
            Self::InitCookie(_) => ty::INIT_COOKIE,
            Self::NdpCount(_) => ty::NDP_COUNT,
            Self::AckVector { nonce: false, .. } => ty::ACK_VECTOR_0,
            Self::AckVector { nonce: true, .. } => ty::ACK_VECTOR_1,
            Self::DataDropped(_) => ty::DATA_DROPPED,
            Self::Timestamp(_) => ty::TIMESTAMP,
            Self::TimestampEcho { .. } => ty::TIMESTAMP_ECHO,
            Self::ElapsedTime(_) => ty::ELAPSED_TIME,
            Self::DataChecksum(_) => ty::DATA_CHECKSUM,
            Self::RttEstimate(_) => ty::RTT_ESTIMATE,
            Self::LossEventRate(_) => ty::LOSS_EVENT_RATE,
            Self::LossIntervals { .. } => ty::LOSS_INTERVALS,
            Self::ReceiveRate(_) => ty::RECEIVE_RATE,
            Self::DroppedPackets(_) => ty::DROPPED_PACKETS,
            Self::Unknown { option_type, .. } => *option_type,
        }
    }
}

/// A Change or Confirm; `option_type` is one of the four.
fn negotiation(option_type: u8, feature: u8, value: &[u8]) -> DccpOption<'_> {
    match option_type {
        ty::CHANGE_L => DccpOption::ChangeL { feature, value },
        ty::CONFIRM_L => DccpOption::ConfirmL { feature, value },
        ty::CHANGE_R => DccpOption::ChangeR { feature, value },
        _ => DccpOption::ConfirmR { feature, value },
    }
}

/// A number of one to `most` bytes.
fn big_endian(data: &[u8], most: usize) -> Option<u64> {
    (1..=most)
        .contains(&data.len())
        .then(|| data.iter().fold(0, |number, &b| number << 8 | u64::from(b)))
}

/// A number of exactly four bytes.
fn word(data: &[u8]) -> Option<u32> {
    data.try_into().ok().map(u32::from_be_bytes)
}

/// An elapsed time in either of its sizes (RFC 4340, section 13.2).
fn elapsed(data: &[u8]) -> Option<u32> {
    match *data {
        [a, b] => Some(u32::from(u16::from_be_bytes([a, b]))),
        _ => word(data),
    }
}

/// RFC 4340, 13.3: a timestamp alone, or with an elapsed time of two or four bytes.
fn timestamp_echo<'a>(data: &[u8]) -> Option<DccpOption<'a>> {
    let (timestamp, rest) = data.split_first_chunk()?;
    let elapsed = match rest {
        [] => None,
        rest => Some(elapsed(rest)?),
    };
    Some(DccpOption::TimestampEcho {
        timestamp: u32::from_be_bytes(*timestamp),
        elapsed,
    })
}

/// RFC 6323, 3.2.1: one to three bytes.
fn rtt_estimate<'a>(data: &[u8]) -> Option<DccpOption<'a>> {
    let us = big_endian(data, 3)?;
    u32::try_from(us).ok().map(DccpOption::RttEstimate)
}

/// RFC 4342, 8.6.1: a byte of skip length, then one interval or more. `None` is a wrong length.
fn loss_intervals(data: &[u8]) -> Option<Result<DccpOption<'_>, OptionError>> {
    let (&skip, rest) = data.split_first()?;
    let (intervals, []) = rest.as_chunks() else {
        return None;
    };
    if intervals.is_empty() {
        return None;
    }
    if skip > MAX_SKIP {
        return Some(Err(OptionError::SkipLength { skip }));
    }
    Some(Ok(DccpOption::LossIntervals {
        skip,
        intervals: LossIntervals(intervals),
    }))
}

/// RFC 5622, 8.7: one count of three bytes or more.
fn drop_counts(data: &[u8]) -> Option<DccpOption<'_>> {
    match data.as_chunks() {
        (counts, []) if !counts.is_empty() => Some(DccpOption::DroppedPackets(DropCounts(counts))),
        _ => None,
    }
}
