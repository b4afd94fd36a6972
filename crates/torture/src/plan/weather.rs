//! Which kinds of trouble a run meets.

use crate::dice::Dice;

/// Which kinds of trouble a run meets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Weather {
    /// Full queues at most.
    Calm,
    /// Packets are lost, doubled, late and marked.
    Rough,
    /// Their bytes change, too.
    Damage,
    /// Hosts restart, clocks jump, addresses change.
    Upheaval,
    /// Paths change and become narrow.
    Paths,
    /// Somebody lies.
    Hostile,
    /// All of it.
    Everything,
}

impl Weather {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        match dice.below(100) {
            0..10 => Self::Calm,
            10..40 => Self::Rough,
            40..54 => Self::Damage,
            54..64 => Self::Upheaval,
            64..74 => Self::Paths,
            74..92 => Self::Hostile,
            _ => Self::Everything,
        }
    }
}
