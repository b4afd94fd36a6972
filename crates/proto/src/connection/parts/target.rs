//! The target bitrate, and what the application knows of it.

use fairwire_cc::{TargetBitrate, TargetEstimator};

/// The estimate of the bitrate that the application can follow.
#[derive(Debug, Default)]
pub(crate) struct Target {
    pub(crate) estimator: TargetEstimator,
    /// The target that the application took last.
    pub(crate) taken: Option<TargetBitrate>,
    /// Whether the application was told of another one, which it has not taken.
    pub(crate) is_told: bool,
}

impl Target {
    /// Starts again without history.
    pub(crate) fn restart(&mut self) {
        self.estimator = TargetEstimator::default();
    }
}
