//! The error of a link.

use crate::perf::PerfError;

/// The peer is gone or cannot be reached; the text says why.
#[derive(Clone, Debug)]
pub(crate) struct LinkError(pub String);

impl From<LinkError> for PerfError {
    fn from(broken: LinkError) -> Self {
        Self::Peer(broken.0)
    }
}
