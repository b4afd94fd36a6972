//! The connections that follow their peers to other addresses, by their ports.

use std::collections::BTreeSet;

use crate::flow::Flow;

/// How many connections with the packet's ports are asked whether its numbers are valid.
const ASKED: usize = 64;

/// The connections that follow their peers, by their two DCCP ports.
#[derive(Debug, Default)]
pub(super) struct Followers {
    slots: BTreeSet<(u16, u16, usize)>,
    /// The slot from which the next packet asks.
    turn: usize,
}

impl Followers {
    pub(super) fn insert(&mut self, flow: &Flow, slot: usize) {
        self.slots.insert((flow.local_port, flow.remote_port, slot));
    }

    pub(super) fn remove(&mut self, flow: &Flow, slot: usize) {
        self.slots
            .remove(&(flow.local_port, flow.remote_port, slot));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the slots of connections with these ports, as many as one packet may ask. The next packet asks the others
    /// first.
    pub(super) fn ask(&mut self, flow: &Flow) -> Vec<usize> {
        let (local, remote) = (flow.local_port, flow.remote_port);
        let from = |slot| (local, remote, slot);
        let (first, last) = (from(0), from(usize::MAX));
        let turn = from(self.turn);
        let these = self.slots.range(turn..=last);
        let asked = these.chain(self.slots.range(first..turn)).take(ASKED);
        let asked: Vec<usize> = asked.map(|&(_, _, slot)| slot).collect();
        if asked.len() == ASKED {
            self.turn = asked.last().map_or(0, |last| last + 1);
        }
        asked
    }
}
