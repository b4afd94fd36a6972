//! A queue discipline with its settings.

use std::fmt;

use super::discipline::Queue;
use super::limit::QueueLimit;
use crate::LinkContext;

/// The settings of a queue discipline, from which the queue of each link is built.
pub trait QueueModel: fmt::Debug + Send + Sync + 'static {
    /// Builds an empty queue for `link`.
    fn build(&self, link: &LinkContext<'_>) -> Box<dyn Queue>;

    /// Returns the most that waits.
    fn limit(&self) -> QueueLimit;

    /// Returns whether the queue marks ECN-capable packets where it would drop others.
    fn marks(&self) -> bool {
        false
    }

    /// Returns whether the queue draws random numbers, so that seeds give different results.
    fn is_random(&self) -> bool {
        false
    }

    /// Returns the setting that conflicts with the others, and a message that says what to write instead.
    fn problem(&self) -> Option<(&'static str, String)> {
        None
    }
}
