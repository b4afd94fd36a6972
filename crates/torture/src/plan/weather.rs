//! The weather: the kinds of faults in a run.

use crate::dice::Dice;

/// The kinds of faults in a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Weather {
    /// Full queues only.
    Calm,
    /// Packets are lost, duplicated, delayed and marked.
    Rough,
    /// Packets are damaged, and may be affected as in rough weather.
    Damage,
    /// Hosts restart, clocks jump, addresses change.
    Upheaval,
    /// Paths change and their MTU decreases.
    Paths,
    /// Attackers send or change packets.
    Hostile,
    /// All kinds of faults.
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
