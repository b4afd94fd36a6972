//! Features: their rules, initial values and ranges, and values as bytes (RFC 4340, section 6.4).
//!
//! Numbers from 128 up belong to a CCID (RFC 4340, section 10.3); those here are the ones of CCID
//! 3 and 4. Every server-priority feature known has values of one byte, so that a preference list
//! is the bytes themselves, most preferred first.

use std::fmt;
use std::ops::RangeInclusive;

/// A feature that this crate knows.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Feature {
    /// 1: which congestion control the sender at the location uses (RFC 4340, section 10).
    Ccid = 1,
    /// 2: may the location send 24-bit sequence numbers (RFC 4340, section 7.6.1)?
    AllowShortSeqnos = 2,
    /// 3: how wide the window of the location's sequence numbers is (RFC 4340, section 7.5.2).
    SequenceWindow = 3,
    /// 4: is the location unable to read ECN marks (RFC 4340, section 12.1)?
    EcnIncapable = 4,
    /// 5: data packets of the location per acknowledgement (RFC 4340, section 11.3); zero leaves
    /// it to the receiver (section 11.3 with erratum 1049 to section 6.6.8).
    AckRatio = 5,
    /// 6: must the location send Ack Vectors (RFC 4340, section 11.5)?
    SendAckVector = 6,
    /// 7: must the location send NDP Counts (RFC 4340, section 7.7.2)?
    SendNdpCount = 7,
    /// 8: what Checksum Coverage the location accepts (RFC 4340, section 9.2.1).
    MinimumChecksumCoverage = 8,
    /// 9: must the location check Data Checksums (RFC 4340, section 9.3.1)?
    CheckDataChecksum = 9,
    /// 128: must the data sender send RTT Estimates (RFC 6323, section 3.2.2)?
    SendRttEstimate = 128,
    /// 192: must the data receiver send Loss Event Rates (RFC 4342, section 8.4)?
    SendLossEventRate = 192,
}

/// How two ends agree on a feature's value (RFC 4340, sections 6.3.1 and 6.3.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Rule {
    /// The first entry of the server's list that is in the client's too.
    ServerPriority,
    /// The location says, the other end accepts any valid value.
    NonNegotiable,
}

impl Feature {
    /// Every feature known, in the order of the numbers.
    pub const ALL: [Self; 11] = [
        Self::Ccid,
        Self::AllowShortSeqnos,
        Self::SequenceWindow,
        Self::EcnIncapable,
        Self::AckRatio,
        Self::SendAckVector,
        Self::SendNdpCount,
        Self::MinimumChecksumCoverage,
        Self::CheckDataChecksum,
        Self::SendRttEstimate,
        Self::SendLossEventRate,
    ];

    /// The feature with this number, if it is known.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.number() == number)
    }

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// How its value is agreed on.
    pub const fn rule(self) -> Rule {
        match self {
            Self::SequenceWindow | Self::AckRatio => Rule::NonNegotiable,
            _ => Rule::ServerPriority,
        }
    }

    /// The value of a new connection (RFC 4340, section 6.4, table 4).
    pub const fn initial(self) -> u64 {
        match self {
            Self::Ccid | Self::AckRatio => 2,
            Self::SequenceWindow => 100,
            _ => 0,
        }
    }

    /// Bytes of one value.
    pub const fn value_len(self) -> usize {
        match self {
            Self::SequenceWindow => 6,
            Self::AckRatio => 2,
            _ => 1,
        }
    }

    /// The values that mean something.
    ///
    /// For a non-negotiable feature anything else is invalid; in the list of a server-priority
    /// feature it is just never chosen (RFC 4340, section 6.6.8).
    pub const fn values(self) -> RangeInclusive<u64> {
        match self {
            Self::Ccid => 0..=255,
            // RFC 4340, 7.5.2: Wmin and Wmax.
            Self::SequenceWindow => 32..=(1 << 46) - 1,
            Self::AckRatio => 0..=0xFFFF,
            Self::MinimumChecksumCoverage => 0..=15,
            _ => 0..=1,
        }
    }

    /// Must every implementation understand it? Then an empty Confirm resets the connection with
    /// code 5 (RFC 4340, sections 6.4 and 6.6.7).
    pub const fn is_required(self) -> bool {
        matches!(
            self,
            Self::Ccid | Self::AllowShortSeqnos | Self::SequenceWindow
        )
    }

    /// Reads the value of a non-negotiable Change, or one value of a server-priority feature.
    ///
    /// # Errors
    /// [`ValueError`], if the length is not [`Feature::value_len`], or if the feature is
    /// non-negotiable and the number not in [`Feature::values`].
    pub fn decode_value(self, bytes: &[u8]) -> Result<u64, ValueError> {
        if bytes.len() != self.value_len() {
            return Err(self.bad_length(bytes));
        }
        let value = bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
        if self.rule() == Rule::NonNegotiable && !self.values().contains(&value) {
            return Err(ValueError::Range {
                feature: self,
                value,
            });
        }
        Ok(value)
    }

    /// A value as bytes; one too large for [`Feature::value_len`] bytes becomes the largest.
    pub fn encode_value(self, value: u64) -> FeatureValue {
        let len = self.value_len();
        let largest = (1u64 << (8 * len)) - 1;
        FeatureValue {
            bytes: value.min(largest).to_be_bytes(),
            len,
        }
    }

    /// Reads the preference list of a server-priority Change.
    ///
    /// # Errors
    /// [`ValueError::Length`], if it is empty or the feature is non-negotiable.
    pub fn decode_list(self, bytes: &[u8]) -> Result<&[u8], ValueError> {
        if bytes.is_empty() || self.rule() == Rule::NonNegotiable {
            return Err(self.bad_length(bytes));
        }
        Ok(bytes)
    }

    /// Reads a Confirm.
    ///
    /// # Errors
    /// [`ValueError`]; such a Confirm resets the connection with code 5 (RFC 4340, section 6.6.8).
    pub fn decode_confirm(self, bytes: &[u8]) -> Result<Confirmed<'_>, ValueError> {
        // RFC 4340, 6.2 and 6.6.7: empty, the peer did not understand.
        if bytes.is_empty() {
            return Ok(Confirmed::Empty);
        }
        let (value, preferences) = match self.rule() {
            Rule::NonNegotiable => (bytes, &[][..]),
            // RFC 4340, 6.3.1: the value chosen, then perhaps the confirmer's list.
            Rule::ServerPriority => bytes
                .split_at_checked(self.value_len())
                .ok_or_else(|| self.bad_length(bytes))?,
        };
        Ok(Confirmed::Value {
            value: self.decode_value(value)?,
            preferences,
        })
    }

    fn bad_length(self, bytes: &[u8]) -> ValueError {
        ValueError::Length {
            feature: self,
            got: bytes.len(),
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ccid => "CCID",
            Self::AllowShortSeqnos => "Allow Short Seqnos",
            Self::SequenceWindow => "Sequence Window",
            Self::EcnIncapable => "ECN Incapable",
            Self::AckRatio => "Ack Ratio",
            Self::SendAckVector => "Send Ack Vector",
            Self::SendNdpCount => "Send NDP Count",
            Self::MinimumChecksumCoverage => "Minimum Checksum Coverage",
            Self::CheckDataChecksum => "Check Data Checksum",
            Self::SendRttEstimate => "Send RTT Estimate",
            Self::SendLossEventRate => "Send Loss Event Rate",
        })
    }
}

/// Does the meaning of this feature number depend on a CCID (RFC 4340, section 6.4)?
pub const fn is_ccid_specific(number: u8) -> bool {
    number >= 128
}

/// Is a CCID-specific feature with this number located at the data receiver, 192 to 255, and not
/// at the data sender, 128 to 191 (RFC 4340, section 10.3)?
pub const fn is_at_receiver(number: u8) -> bool {
    number >= 192
}

/// A feature's value as bytes; see [`Feature::encode_value`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FeatureValue {
    bytes: [u8; 8],
    len: usize,
}

impl FeatureValue {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[8 - self.len..]
    }
}

impl AsRef<[u8]> for FeatureValue {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// What a Confirm says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confirmed<'a> {
    /// The Change was not understood; the value stays.
    Empty,
    /// A value was chosen.
    Value {
        /// The value.
        value: u64,
        /// The confirmer's preference list, if it sent one.
        preferences: &'a [u8],
    },
}

/// A feature's value that is invalid.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ValueError {
    /// Its length is wrong.
    Length {
        /// The feature.
        feature: Feature,
        /// Bytes there were.
        got: usize,
    },
    /// It is not in [`Feature::values`].
    Range {
        /// The feature.
        feature: Feature,
        /// The value.
        value: u64,
    },
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { feature, got } => {
                write!(f, "{got} bytes are no value of {feature}")
            }
            Self::Range { feature, value } => write!(
                f,
                "{value} is no value of {feature}, which has {} to {}",
                feature.values().start(),
                feature.values().end()
            ),
        }
    }
}

impl std::error::Error for ValueError {}

#[cfg(test)]
mod tests;
