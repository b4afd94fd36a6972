//! Errors of decoding an option.

/// A known option with an invalid value.
///
/// The receiver ignores the option (RFC 4340, section 5.8). If Mandatory came before it, the receiver resets the
/// connection with code 6 (section 5.8.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// The length is invalid for this type of option.
    #[error("option {option_type} with {data} bytes of data")]
    Length {
        /// The option's type.
        option_type: u8,
        /// Length of the data in bytes, without the type and length bytes.
        data: usize,
    },
    /// A Loss Intervals option skips more packets than NDUPACK (RFC 4342, section 8.6.1).
    #[error("Loss Intervals with Skip Length {skip}, expected at most 3")]
    SkipLength {
        /// The Skip Length in packets, more than 3.
        skip: u8,
    },
}
