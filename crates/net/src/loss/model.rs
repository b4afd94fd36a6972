//! A way of losing packets with its settings.

use std::fmt;

use super::process::Loss;
use crate::LinkContext;

/// A way of losing packets with its settings, of which each link has one made for itself.
pub trait LossModel: fmt::Debug + Send + Sync + 'static {
    /// What loses packets on `link`; none if it loses nothing.
    fn build(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>>;

    /// Does it draw random numbers, so that seeds differ?
    fn is_random(&self) -> bool;

    /// The setting that does not go with the others, and what would.
    fn problem(&self) -> Option<(&'static str, String)> {
        None
    }
}
