//! Values that our Changes of a non-negotiable feature named: a Confirm of one may come late.

use fairwire_wire::feature::Feature;

/// How many are known one by one.
const NEWEST: usize = 4;

/// What Changes of one feature named before the offer of now: the value that was agreed on last, and all
/// since that had no answer. How many Changes are lost in a row has no bound, so of older ones only the
/// range is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierValues {
    /// Oldest first; at first the same value again and again.
    newest: [u64; NEWEST],
    /// The least and the greatest of those before.
    older: [u64; 2],
}

/// Where the earlier values of a feature stand among those of the two that have any.
pub(super) fn index(feature: Feature) -> Option<usize> {
    match feature {
        Feature::SequenceWindow => Some(0),
        Feature::AckRatio => Some(1),
        _ => None,
    }
}

impl EarlierValues {
    /// Only this one.
    pub(super) const fn new(value: u64) -> Self {
        Self {
            newest: [value; NEWEST],
            older: [value; 2],
        }
    }

    /// These and, newest of all, `value`.
    pub(super) fn and(mut self, value: u64) -> Self {
        let [least, greatest] = self.older;
        let oldest = self.newest[0];
        self.older = [least.min(oldest), greatest.max(oldest)];
        self.newest.rotate_left(1);
        self.newest[NEWEST - 1] = value;
        self
    }

    /// May a Change have named it?
    pub(super) fn contains(&self, value: u64) -> bool {
        let [least, greatest] = self.older;
        self.newest.contains(&value) || (least..=greatest).contains(&value)
    }
}
