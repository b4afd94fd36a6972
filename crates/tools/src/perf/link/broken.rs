//! The end of a link.

use crate::perf::PerfError;

/// The peer is gone, or cannot be reached.
#[derive(Clone, Debug)]
pub(crate) struct Broken(pub String);

impl From<Broken> for PerfError {
    fn from(broken: Broken) -> Self {
        Self::Peer(broken.0)
    }
}
