//! Why endpoints could not be joined.

use crate::error::BindError;

/// Why a link or a network could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The link has a rate of zero at the start, and no later rate.
    #[error("a link needs a rate above zero, for example Rate::from_bits_per_s(2_000_000)")]
    NoRate,
    /// The share of lost packets is not from 0 to 1.
    #[error(
        "a loss of {share} is not a share of packets: write a number from 0 to 1, for example 0.01"
    )]
    Loss {
        /// The share.
        share: f64,
    },
    /// The path MTU is below the 576 bytes that every IPv4 host takes, or above the 1,500 bytes of the hosts.
    #[error("a path MTU of {bytes} bytes is not possible: write 576 to 1500")]
    PathMtu {
        /// The size, bytes of IP packet.
        bytes: u32,
    },
    /// A setting of a queue or loss model conflicts with the others.
    #[error("{setting}: {problem}")]
    Setting {
        /// The name of the setting.
        setting: &'static str,
        /// What is wrong and what to write instead.
        problem: String,
    },
    /// There is no tokio runtime, or it has no timers.
    #[error(
        "there is no tokio runtime with timers: make the network inside one, for example in a #[tokio::test]"
    )]
    NoRuntime,
    /// An endpoint could not be made.
    #[error(transparent)]
    Bind(#[from] BindError),
}
