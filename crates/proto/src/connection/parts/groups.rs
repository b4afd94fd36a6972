//! Which groups of datagrams are broken: a member expired, was dropped from the send queue or was lost.
//!
//! The memory is bounded: the last broken groups, and the members that are in flight.

use std::collections::{BTreeMap, VecDeque};

use fairwire_wire::DropCode;

use crate::event::Fate;
use crate::id::DatagramId;

/// The number of broken groups that a connection remembers: more than a second of video frames.
const REMEMBERED: usize = 64;

/// The broken groups, and whose loss breaks another one.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Oldest first.
    broken: VecDeque<u64>,
    /// The groups of datagrams that left and have no fate yet.
    sent: BTreeMap<DatagramId, u64>,
    /// Groups with a lost member whose waiting members were not dropped yet; empty between calls.
    fallen: Vec<u64>,
}

impl Groups {
    /// Returns whether a group is broken.
    pub(crate) fn is_broken(&self, group: u64) -> bool {
        self.broken.contains(&group)
    }

    /// Marks a group as broken.
    pub(crate) fn break_up(&mut self, group: u64) {
        if self.is_broken(group) {
            return;
        }
        if self.broken.len() == REMEMBERED {
            self.broken.pop_front();
        }
        self.broken.push_back(group);
    }

    /// Notes that a member of a group left.
    pub(crate) fn on_sent(&mut self, id: DatagramId, group: u64) {
        self.sent.insert(id, group);
    }

    /// Notes the fate of a datagram that left. If it breaks a group, [`Self::take_fallen`] returns the group.
    #[inline]
    pub(crate) fn on_fate(&mut self, id: DatagramId, fate: Fate) {
        if self.sent.is_empty() {
            return;
        }
        if let Some(group) = self.sent.remove(&id)
            && is_missing(fate)
        {
            self.fallen.push(group);
        }
    }

    /// Forgets a member that left, because it is dropped and its group breaks, if it was not broken before.
    pub(crate) fn forget(&mut self, id: DatagramId) {
        self.sent.remove(&id);
    }

    /// Returns a group that has lost a member.
    #[inline]
    pub(crate) fn take_fallen(&mut self) -> Option<u64> {
        self.fallen.pop()
    }

    /// Returns the memory of its members, bytes.
    pub(crate) fn footprint(&self) -> usize {
        // An entry of a B-tree is in a node that is at least half full.
        let sent = 2 * self.sent.len() * size_of::<(DatagramId, u64)>();
        sent + (self.broken.capacity() + self.fallen.capacity()) * size_of::<u64>()
    }
}

/// Returns whether the peer's application did not get a datagram with this fate.
pub(crate) fn is_missing(fate: Fate) -> bool {
    match fate {
        Fate::Lost => true,
        Fate::Dropped { code } => code != DropCode::DeliveredCorrupt,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{DatagramId, DropCode, Fate, Groups, REMEMBERED};

    /// A group is remembered until 64 others have broken after it, so a server that runs for months needs no more
    /// memory for them.
    #[test]
    fn the_last_broken_groups_are_remembered() {
        let mut groups = Groups::default();
        for group in 0..=REMEMBERED as u64 {
            groups.break_up(group);
            groups.break_up(group);
        }
        assert!(!groups.is_broken(0));
        assert!((1..=REMEMBERED as u64).all(|group| groups.is_broken(group)));
    }

    /// A member breaks its group if the peer's application did not get it; one that was delivered although it is
    /// corrupt does not.
    #[test]
    fn a_member_that_is_missing_breaks_its_group() {
        let dropped = |code| Fate::Dropped { code };
        for (fate, breaks) in [
            (Fate::Lost, true),
            (dropped(DropCode::ReceiveBuffer), true),
            (dropped(DropCode::DeliveredCorrupt), false),
            (Fate::Acknowledged, false),
            (Fate::Marked, false),
            (Fate::Sent, false),
        ] {
            let mut groups = Groups::default();
            groups.on_sent(DatagramId(7), 3);
            groups.on_fate(DatagramId(6), Fate::Lost);
            groups.on_fate(DatagramId(7), fate);
            assert_eq!(groups.take_fallen(), breaks.then_some(3), "{fate:?}");
            assert!(groups.sent.is_empty());
        }
    }
}
