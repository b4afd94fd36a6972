//! Why an option was not understood.

use std::fmt;

/// A known option whose value is invalid.
///
/// It is ignored as if it were not there (RFC 4340, section 5.8), unless Mandatory came before
/// it: then the connection is reset with code 6 (section 5.8.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum OptionError {
    /// An option of this type cannot have that many bytes of data.
    Length {
        /// The option's type.
        option_type: u8,
        /// Bytes of data, without type and length.
        data: usize,
    },
    /// A Loss Intervals option skips more packets than NDUPACK (RFC 4342, section 8.6.1).
    SkipLength {
        /// Packets skipped, more than 3.
        skip: u8,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { option_type, data } => {
                write!(f, "option {option_type} with {data} bytes of data")
            }
            Self::SkipLength { skip } => {
                write!(f, "loss intervals after {skip} skipped packets, 3 at most")
            }
        }
    }
}

impl std::error::Error for OptionError {}
