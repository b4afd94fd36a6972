//! Why endpoints could not be joined.

use std::error::Error;
use std::fmt;

use crate::error::BindError;

/// Why a link or a network could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The link has a rate of zero at the start, and no later rate.
    NoRate,
    /// The share of lost packets is not from 0 to 1.
    Loss {
        /// The share.
        share: f64,
    },
    /// The path MTU is below the 576 bytes that every IPv4 host takes, or above the 1,500 bytes of the hosts.
    PathMtu {
        /// The size, bytes of IP packet.
        bytes: u32,
    },
    /// A setting of a queue or loss model conflicts with the others.
    Setting {
        /// The name of the setting.
        setting: &'static str,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// There is no tokio runtime.
    NoRuntime,
    /// An endpoint could not be made.
    Bind(BindError),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRate => f.write_str(
                "a link needs a rate above zero, for example Rate::from_bits_per_s(2_000_000)",
            ),
            Self::Loss { share } => write!(
                f,
                "a loss of {share} is not a share of packets: write a number from 0 to 1, for example 0.01"
            ),
            Self::PathMtu { bytes } => write!(
                f,
                "a path MTU of {bytes} bytes is not possible: write 576 to 1500"
            ),
            Self::Setting { setting, problem } => write!(f, "{setting}: {problem}"),
            Self::NoRuntime => f.write_str(
                "there is no tokio runtime: make the network inside one, for example in a #[tokio::test]",
            ),
            Self::Bind(error) => error.fmt(f),
        }
    }
}

impl Error for LinkError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Bind(error) => error.source(),
            _ => None,
        }
    }
}

impl From<BindError> for LinkError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}
