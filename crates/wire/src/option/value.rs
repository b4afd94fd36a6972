//! The values of the options.

use super::option_type as ty;
use super::{AckEntries, DropBlocks, DropCounts, LossIntervals, OptionError, RawOption};
use crate::Seq;

/// The value of [`DccpOption::LossEventRate`] before any loss (RFC 4342, section 8.5).
pub const NO_LOSS: u32 = u32::MAX;

/// The value of [`DccpOption::RttEstimate`] for a round trip that is too long to encode (RFC 6323, section 3.2.1).
///
/// It is the largest value.
pub const RTT_TOO_LARGE: u32 = 0x00FF_FFFF;

/// The largest Skip Length of a Loss Intervals option: NDUPACK packets (RFC 4342, section 8.6.1).
const MAX_SKIP: u8 = 3;

/// A decoded option.
///
/// The meaning of types from 128 up depends on the CCID (RFC 4340, section 10.3). They are decoded here as CCID 3 and 4
/// define them (RFC 4342, 5622, 6323). An implementation of another CCID reads the [`RawOption`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DccpOption<'a> {
    /// A byte that fills the options area up to a multiple of four bytes.
    Padding,
    /// The receiver must understand the next option, or reset the connection.
    Mandatory,
    /// The receiver has trouble keeping up with the sender.
    SlowReceiver,
    /// A proposal for a feature located at the sender of the option.
    ChangeL {
        /// The number of the feature.
        feature: u8,
        /// A preference list or a value; see [`feature`](crate::feature).
        value: &'a [u8],
    },
    /// The answer to a [`Self::ChangeR`]. It is empty if the Change was not understood.
    ConfirmL {
        /// The number of the feature.
        feature: u8,
        /// The value, then optionally a preference list.
        value: &'a [u8],
    },
    /// A proposal for a feature located at the receiver of the option.
    ChangeR {
        /// The number of the feature.
        feature: u8,
        /// A preference list.
        value: &'a [u8],
    },
    /// The answer to a [`Self::ChangeL`]. It is empty if the Change was not understood.
    ConfirmR {
        /// The number of the feature.
        feature: u8,
        /// The value, then optionally a preference list.
        value: &'a [u8],
    },
    /// The state of a server that keeps none before the handshake ends. It is opaque to the client.
    InitCookie(&'a [u8]),
    /// The number of consecutive non-data packets just before this one, below 2^48.
    NdpCount(u64),
    /// The state of each packet up to the Acknowledgement Number.
    AckVector {
        /// Parity of the ECN nonces of the packets reported as received.
        nonce: bool,
        /// The entries.
        entries: AckEntries<'a>,
    },
    /// The received packets whose data did not reach the application.
    DataDropped(DropBlocks<'a>),
    /// The sender's clock, in units of 10 microseconds.
    Timestamp(u32),
    /// The echo of a Timestamp.
    TimestampEcho {
        /// The timestamp that was received.
        timestamp: u32,
        /// The time since it was received, in units of 10 microseconds; [`u32::MAX`] for 42950 s or more.
        elapsed: Option<u32>,
    },
    /// The time since the acknowledged packet was received, in units of 10 microseconds; [`u32::MAX`] for 42950 s or
    /// more.
    ElapsedTime(u32),
    /// The CRC-32c of the payload.
    DataChecksum(u32),
    /// The data of this packet was sent before, first in the packet with this number.
    ///
    /// It is an experimental option of ours, with the number as six bytes. It has this meaning only if the feature
    /// Allow Copies was agreed on for the data of its sender.
    CopyOf(Seq),
    /// What the application of its sender says as it closes: on a Close or `CloseReq`, at least four bytes.
    ///
    /// It is an experimental option of ours. In clear text the value is a code of 32 bits and a text in UTF-8. On a
    /// connection with DTLS it is a record that holds these.
    CloseCode(&'a [u8]),
    /// The data of this packet is a part of a message.
    ///
    /// It is an experimental option of ours: four bytes, one and one. It has this meaning only if the feature Allow Parts
    /// was agreed on for the data of its sender.
    PartOf {
        /// The number of the message.
        message: u32,
        /// The number of the part, from 0.
        index: u8,
        /// The number of the last part.
        last: u8,
    },
    /// The sender's estimate of the round-trip time, in microseconds.
    ///
    /// It is 0 before the first sample, and [`RTT_TOO_LARGE`] for more than 16.7 s.
    RttEstimate(u32),
    /// The inverse of the loss event rate, rounded up: packets per loss interval. [`NO_LOSS`] before the first loss.
    LossEventRate(u32),
    /// The receiver's loss intervals.
    LossIntervals {
        /// Packets up to the Acknowledgement Number that belong to no interval, at most 3.
        skip: u8,
        /// The intervals, at least one.
        intervals: LossIntervals<'a>,
    },
    /// The rate at which the receiver received data, in bytes per second.
    ReceiveRate(u32),
    /// The number of lost and marked packets of each loss interval.
    DroppedPackets(DropCounts<'a>),
    /// An option of a type that is not listed here.
    Unknown {
        /// The option type.
        option_type: u8,
        /// The data; empty for types 0 to 31.
        data: &'a [u8],
    },
}

impl<'a> RawOption<'a> {
    /// Decodes the option.
    ///
    /// # Errors
    /// [`OptionError`], if the type is known and the data are invalid for it.
    #[inline]
    pub fn decode(self) -> Result<DccpOption<'a>, OptionError> {
        DccpOption::decode(self)
    }

    /// Returns the three Data bytes of a Reset that names this option: its type and the first two bytes of its data.
    ///
    /// Missing bytes are zero (RFC 4340, section 5.6, codes 5 and 6).
    pub const fn reset_data(self) -> [u8; 3] {
        match *self.data {
            [] => [self.option_type, 0, 0],
            [first] => [self.option_type, first, 0],
            [first, second, ..] => [self.option_type, first, second],
        }
    }
}

impl<'a> DccpOption<'a> {
    /// Decodes `raw`.
    ///
    /// # Errors
    /// [`OptionError`], if the type is known and the data are invalid for it.
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
            // An empty vector reports on no packet, but RFC 4340, 11.4, assigns the first byte to the acknowledged
            // packet.
            ty::ACK_VECTOR_0 | ty::ACK_VECTOR_1 if !data.is_empty() => Ok(Self::AckVector {
                nonce: raw.option_type == ty::ACK_VECTOR_1,
                entries: AckEntries(data),
            }),
            ty::DATA_DROPPED if !data.is_empty() => Ok(Self::DataDropped(DropBlocks(data))),
            ty::TIMESTAMP => word(data).map(Self::Timestamp).ok_or(bad_length),
            ty::TIMESTAMP_ECHO => timestamp_echo(data).ok_or(bad_length),
            ty::ELAPSED_TIME => elapsed(data).map(Self::ElapsedTime).ok_or(bad_length),
            // RFC 4340, 5.8: an option of any other length is ignored.
            ty::DATA_CHECKSUM => word(data).map(Self::DataChecksum).ok_or(bad_length),
            ty::COPY_OF => number(data).map(Self::CopyOf).ok_or(bad_length),
            ty::CLOSE_CODE if data.len() >= 4 => Ok(Self::CloseCode(data)),
            ty::PART_OF => part(data).ok_or(bad_length),
            ty::RTT_ESTIMATE => rtt_estimate(data).ok_or(bad_length),
            ty::LOSS_EVENT_RATE => word(data).map(Self::LossEventRate).ok_or(bad_length),
            ty::LOSS_INTERVALS => loss_intervals(data).unwrap_or(Err(bad_length)),
            ty::RECEIVE_RATE => word(data).map(Self::ReceiveRate).ok_or(bad_length),
            ty::DROPPED_PACKETS => drop_counts(data).ok_or(bad_length),
            ty::ACK_VECTOR_0 | ty::ACK_VECTOR_1 | ty::DATA_DROPPED | ty::CLOSE_CODE => {
                Err(bad_length)
            }
            option_type => Ok(Self::Unknown { option_type, data }),
        }
    }

    /// Returns the option type.
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
            Self::CopyOf(_) => ty::COPY_OF,
            Self::CloseCode(_) => ty::CLOSE_CODE,
            Self::PartOf { .. } => ty::PART_OF,
            Self::RttEstimate(_) => ty::RTT_ESTIMATE,
            Self::LossEventRate(_) => ty::LOSS_EVENT_RATE,
            Self::LossIntervals { .. } => ty::LOSS_INTERVALS,
            Self::ReceiveRate(_) => ty::RECEIVE_RATE,
            Self::DroppedPackets(_) => ty::DROPPED_PACKETS,
            Self::Unknown { option_type, .. } => *option_type,
        }
    }
}

/// Builds a Change or Confirm option; `option_type` is one of these four types.
fn negotiation(option_type: u8, feature: u8, value: &[u8]) -> DccpOption<'_> {
    match option_type {
        ty::CHANGE_L => DccpOption::ChangeL { feature, value },
        ty::CONFIRM_L => DccpOption::ConfirmL { feature, value },
        ty::CHANGE_R => DccpOption::ChangeR { feature, value },
        _ => DccpOption::ConfirmR { feature, value },
    }
}

/// Decodes a big-endian number of one to `most` bytes.
fn big_endian(data: &[u8], most: usize) -> Option<u64> {
    (1..=most)
        .contains(&data.len())
        .then(|| data.iter().fold(0, |number, &b| number << 8 | u64::from(b)))
}

/// Decodes a big-endian number of exactly four bytes.
fn word(data: &[u8]) -> Option<u32> {
    data.try_into().ok().map(u32::from_be_bytes)
}

/// Decodes a sequence number of exactly six bytes.
fn number(data: &[u8]) -> Option<Seq> {
    let number = big_endian(data, 6).filter(|_| data.len() == 6);
    number.map(Seq::new)
}

/// Decodes the place of a part in its message: exactly six bytes.
fn part<'a>(data: &[u8]) -> Option<DccpOption<'a>> {
    let &[a, b, c, d, index, last] = data else {
        return None;
    };
    Some(DccpOption::PartOf {
        message: u32::from_be_bytes([a, b, c, d]),
        index,
        last,
    })
}

/// Decodes an elapsed time of two or four bytes (RFC 4340, section 13.2).
fn elapsed(data: &[u8]) -> Option<u32> {
    match *data {
        [a, b] => Some(u32::from(u16::from_be_bytes([a, b]))),
        _ => word(data),
    }
}

/// Decodes a timestamp, alone or with an elapsed time of two or four bytes (RFC 4340, section 13.3).
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

/// Decodes an RTT Estimate of one to three bytes (RFC 6323, section 3.2.1).
fn rtt_estimate<'a>(data: &[u8]) -> Option<DccpOption<'a>> {
    let us = big_endian(data, 3)?;
    u32::try_from(us).ok().map(DccpOption::RttEstimate)
}

/// Decodes a Skip Length and one or more intervals (RFC 4342, section 8.6.1). `None` means a wrong length.
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

/// Decodes one or more counts of three bytes each (RFC 5622, section 8.7).
fn drop_counts(data: &[u8]) -> Option<DccpOption<'_>> {
    match data.as_chunks() {
        (counts, []) if !counts.is_empty() => Some(DccpOption::DroppedPackets(DropCounts(counts))),
        _ => None,
    }
}
