//! The error of a link.

use crate::perf::PerfError;

/// The peer is gone or cannot be reached; the text says why.
#[derive(Clone, Debug)]
pub(crate) struct Broken(pub String);

impl From<Broken> for PerfError {
    fn from(broken: Broken) -> Self {
        Self::Peer(broken.0)
    }
}
