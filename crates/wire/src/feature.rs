//! Features: their reconciliation rules, initial values, ranges and encodings (RFC 4340, section 6.4).
//!
//! Feature numbers from 128 up belong to a CCID (RFC 4340, section 10.3); those listed here belong to CCID 3 and 4.
//! Every known server-priority feature has one-byte values, so the bytes of a preference list are the values
//! themselves, most preferred first.

use std::fmt;
use std::ops::RangeInclusive;

/// A feature that this crate knows.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Feature {
    /// 1: the congestion control that the sender at the feature location uses (RFC 4340, section 10).
    Ccid = 1,
    /// 2: whether the feature location may send 24-bit sequence numbers (RFC 4340, section 7.6.1).
    AllowShortSeqnos = 2,
    /// 3: the width of the window of the feature location's sequence numbers (RFC 4340, section 7.5.2).
    SequenceWindow = 3,
    /// 4: whether the feature location is unable to read ECN marks (RFC 4340, section 12.1).
    EcnIncapable = 4,
    /// 5: data packets of the feature location per acknowledgement (RFC 4340, section 11.3).
    ///
    /// Zero leaves the choice to the receiver (section 11.3 with erratum 1049 to section 6.6.8).
    AckRatio = 5,
    /// 6: whether the feature location must send Ack Vectors (RFC 4340, section 11.5).
    SendAckVector = 6,
    /// 7: whether the feature location must send NDP Counts (RFC 4340, section 7.7.2).
    SendNdpCount = 7,
    /// 8: which Checksum Coverages the feature location accepts (RFC 4340, section 9.2.1).
    MinimumChecksumCoverage = 8,
    /// 9: whether the feature location must check Data Checksums (RFC 4340, section 9.3.1).
    CheckDataChecksum = 9,
    /// 120: whether the feature location may send datagrams again, each copy with
    /// [`DccpOption::CopyOf`](crate::DccpOption::CopyOf), and the other end delivers each datagram once.
    ///
    /// It is an experimental feature of ours (RFC 4340, section 19.4, reserves 120 to 126 for experiments).
    AllowCopies = 120,
    /// 121: whether the feature location may send messages of several datagrams, each part with
    /// [`DccpOption::PartOf`](crate::DccpOption::PartOf).
    ///
    /// It is an experimental feature of ours.
    AllowParts = 121,
    /// 128: whether the data sender must send RTT Estimates (RFC 6323, section 3.2.2).
    SendRttEstimate = 128,
    /// 192: whether the data receiver must send Loss Event Rates (RFC 4342, section 8.4).
    SendLossEventRate = 192,
}

/// The rule by which two endpoints agree on a feature's value (RFC 4340, sections 6.3.1 and 6.3.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Rule {
    /// The first entry of the server's list that is also in the client's list.
    ServerPriority,
    /// The feature location decides; the other endpoint accepts any valid value.
    NonNegotiable,
}

impl Feature {
    /// Every known feature, in numerical order.
    pub const ALL: [Self; 13] = [
        Self::Ccid,
        Self::AllowShortSeqnos,
        Self::SequenceWindow,
        Self::EcnIncapable,
        Self::AckRatio,
        Self::SendAckVector,
        Self::SendNdpCount,
        Self::MinimumChecksumCoverage,
        Self::CheckDataChecksum,
        Self::AllowCopies,
        Self::AllowParts,
        Self::SendRttEstimate,
        Self::SendLossEventRate,
    ];

    /// Returns the feature with this number, if it is known.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.number() == number)
    }

    /// Returns the number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the rule by which the value is agreed on.
    pub const fn rule(self) -> Rule {
        match self {
            Self::SequenceWindow | Self::AckRatio => Rule::NonNegotiable,
            _ => Rule::ServerPriority,
        }
    }

    /// Returns the value at the start of a connection (RFC 4340, section 6.4, table 4).
    pub const fn initial(self) -> u64 {
        match self {
            Self::Ccid | Self::AckRatio => 2,
            Self::SequenceWindow => 100,
            _ => 0,
        }
    }

    /// Returns the length of one value in bytes.
    pub const fn value_len(self) -> usize {
        match self {
            Self::SequenceWindow => 6,
            Self::AckRatio => 2,
            _ => 1,
        }
    }

    /// Returns the range of meaningful values.
    ///
    /// A value outside it is invalid for a non-negotiable feature. In the preference list of a server-priority feature
    /// it is allowed, but is never chosen (RFC 4340, section 6.6.8).
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

    /// Returns whether every implementation must understand the feature.
    ///
    /// If so, an empty Confirm resets the connection with code 5 (RFC 4340, sections 6.4 and 6.6.7).
    pub const fn is_required(self) -> bool {
        matches!(
            self,
            Self::Ccid | Self::AllowShortSeqnos | Self::SequenceWindow
        )
    }

    /// Decodes the value of a non-negotiable Change, or one value of a server-priority feature.
    ///
    /// # Errors
    /// [`ValueError`], if the length is not [`Feature::value_len`], or if the feature is non-negotiable and the value
    /// is outside [`Feature::values`].
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

    /// Encodes a value. A value too large for [`Feature::value_len`] bytes is replaced by the largest.
    pub fn encode_value(self, value: u64) -> FeatureValue {
        let len = self.value_len();
        let largest = (1u64 << (8 * len)) - 1;
        FeatureValue {
            bytes: value.min(largest).to_be_bytes(),
            len,
        }
    }

    /// Decodes the preference list of a server-priority Change.
    ///
    /// # Errors
    /// [`ValueError::Length`], if the list is empty or the feature is non-negotiable.
    pub fn decode_list(self, bytes: &[u8]) -> Result<&[u8], ValueError> {
        if bytes.is_empty() || self.rule() == Rule::NonNegotiable {
            return Err(self.bad_length(bytes));
        }
        Ok(bytes)
    }

    /// Decodes a Confirm.
    ///
    /// # Errors
    /// [`ValueError`]; such a Confirm resets the connection with code 5 (RFC 4340, section 6.6.8).
    pub fn decode_confirm(self, bytes: &[u8]) -> Result<Confirmed<'_>, ValueError> {
        // RFC 4340, 6.2 and 6.6.7: an empty Confirm means that the peer did not understand the Change.
        if bytes.is_empty() {
            return Ok(Confirmed::Empty);
        }
        let (value, preferences) = match self.rule() {
            Rule::NonNegotiable => (bytes, &[][..]),
            // RFC 4340, 6.3.1: the chosen value, then optionally the confirmer's list.
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
            Self::AllowCopies => "Allow Copies",
            Self::AllowParts => "Allow Parts",
            Self::SendRttEstimate => "Send RTT Estimate",
            Self::SendLossEventRate => "Send Loss Event Rate",
        })
    }
}

/// Returns whether the meaning of this feature number depends on a CCID (RFC 4340, section 6.4).
pub const fn is_ccid_specific(number: u8) -> bool {
    number >= 128
}

/// Returns whether the CCID-specific feature with this number is located at the data receiver (RFC 4340, section 10.3).
///
/// Numbers 192 to 255 are located at the data receiver, 128 to 191 at the data sender.
pub const fn is_at_receiver(number: u8) -> bool {
    number >= 192
}

/// An encoded feature value; see [`Feature::encode_value`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FeatureValue {
    bytes: [u8; 8],
    len: usize,
}

impl FeatureValue {
    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[8 - self.len..]
    }
}

impl AsRef<[u8]> for FeatureValue {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// The content of a Confirm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confirmed<'a> {
    /// The peer did not understand the Change; the value does not change.
    Empty,
    /// The peer chose a value.
    Value {
        /// The chosen value.
        value: u64,
        /// The confirmer's preference list, if it sent one.
        preferences: &'a [u8],
    },
}

/// An invalid feature value.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// The length is wrong.
    #[error("a value of {feature} cannot have {got} bytes")]
    Length {
        /// The feature.
        feature: Feature,
        /// Length of the value, in bytes.
        got: usize,
    },
    /// The value is outside [`Feature::values`].
    #[error(
        "{value} is not a value of {feature}: expected {} to {}",
        .feature.values().start(),
        .feature.values().end()
    )]
    Range {
        /// The feature.
        feature: Feature,
        /// The value.
        value: u64,
    },
}

#[cfg(test)]
mod tests;
