//! A loss model with its settings.

use std::fmt;

use super::process::Loss;
use crate::LinkContext;

/// The settings of a loss model, from which the model of each link is built.
pub trait LossModel: fmt::Debug + Send + Sync + 'static {
    /// Builds the model for `link`, or returns `None` if it loses nothing.
    fn build(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>>;

    /// Returns whether the model draws random numbers, so that seeds give different results.
    fn is_random(&self) -> bool;

    /// Returns the setting that conflicts with the others, and a message that says what to write instead.
    fn problem(&self) -> Option<(&'static str, String)> {
        None
    }
}
