//! Errors of decoding an option.

use std::fmt;

/// A known option with an invalid value.
///
/// The receiver ignores the option (RFC 4340, section 5.8). If Mandatory came before it, the receiver resets the
/// connection with code 6 (section 5.8.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum OptionError {
    /// The length is invalid for this type of option.
    Length {
        /// The option's type.
        option_type: u8,
        /// Length of the data in bytes, without the type and length bytes.
        data: usize,
    },
    /// A Loss Intervals option skips more packets than NDUPACK (RFC 4342, section 8.6.1).
    SkipLength {
        /// The Skip Length in packets, more than 3.
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
                write!(
                    f,
                    "Loss Intervals with Skip Length {skip}, expected at most 3"
                )
            }
        }
    }
}

impl std::error::Error for OptionError {}
