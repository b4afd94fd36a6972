//! A discipline with its settings.

use std::fmt;

use super::discipline::Queue;
use super::limit::QueueLimit;
use crate::LinkContext;

/// A queue discipline with its settings, of which each link has a queue made for itself.
pub trait QueueModel: fmt::Debug + Send + Sync + 'static {
    /// An empty queue for `link`.
    fn build(&self, link: &LinkContext<'_>) -> Box<dyn Queue>;

    /// How much waits at most.
    fn limit(&self) -> QueueLimit;

    /// Does it draw random numbers, so that seeds differ?
    fn is_random(&self) -> bool {
        false
    }

    /// The setting that does not go with the others, and what would.
    fn problem(&self) -> Option<(&'static str, String)> {
        None
    }
}
