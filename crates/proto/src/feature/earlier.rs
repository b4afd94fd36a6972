//! Earlier values in our Changes of a non-negotiable feature: a Confirm of one may arrive late.

use fairwire_wire::feature::Feature;

/// The number of values that are remembered one by one.
const NEWEST: usize = 4;

/// The values that Changes of one feature named before the current offer: the value agreed on last, and all unanswered
/// ones since. Any number of Changes in a row may be lost, so of older values only the range is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierValues {
    /// Oldest first; initially the same value repeated.
    newest: [u64; NEWEST],
    /// The least and the greatest of the older values.
    older: [u64; 2],
}

/// Returns the index of a feature among the two that have earlier values.
pub(super) fn index(feature: Feature) -> Option<usize> {
    match feature {
        Feature::SequenceWindow => Some(0),
        Feature::AckRatio => Some(1),
        _ => None,
    }
}

impl EarlierValues {
    /// Creates a set with this value only.
    pub(super) const fn new(value: u64) -> Self {
        Self {
            newest: [value; NEWEST],
            older: [value; 2],
        }
    }

    /// Returns this set with `value` added as the newest.
    pub(super) fn with(mut self, value: u64) -> Self {
        let [least, greatest] = self.older;
        let oldest = self.newest[0];
        self.older = [least.min(oldest), greatest.max(oldest)];
        self.newest.rotate_left(1);
        self.newest[NEWEST - 1] = value;
        self
    }

    /// Returns whether a Change may have named this value.
    pub(super) fn contains(&self, value: u64) -> bool {
        let [least, greatest] = self.older;
        self.newest.contains(&value) || (least..=greatest).contains(&value)
    }
}
