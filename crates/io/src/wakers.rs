//! Lists of the tasks that wait for one thing.

use std::task::{Context, Waker};

use slab::Slab;

/// A list that was emptied keeps memory for this many tasks at most.
const KEPT: usize = 16;

/// Tasks that wait for one thing.
#[derive(Default)]
pub(crate) struct Wakers {
    slots: Slab<Waker>,
    /// The task that polled last, by hand: it cannot say when it stops.
    polled: Option<Waker>,
    /// How often all of them were taken.
    turn: u64,
}

/// A slot among the [`Wakers`] of one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    slot: usize,
    turn: u64,
}

impl Wakers {
    /// Takes all, to be woken by the caller after it let go of the lock.
    pub(crate) fn take(&mut self, into: &mut Vec<Waker>) {
        into.extend(self.polled.take());
        if self.slots.is_empty() {
            return;
        }
        self.turn += 1;
        into.extend(self.slots.drain());
        if self.slots.capacity() > KEPT {
            self.slots = Slab::new();
        }
    }

    /// Wakes this task too, next time. Gives the waker that it replaces.
    pub(crate) fn enter(
        &mut self,
        ticket: &mut Option<Ticket>,
        context: &Context<'_>,
    ) -> Option<Waker> {
        let waker = context.waker();
        let held = ticket.filter(|held| held.turn == self.turn);
        if let Some(slot) = held.and_then(|held| self.slots.get_mut(held.slot)) {
            let same = slot.will_wake(waker);
            return (!same).then(|| std::mem::replace(slot, waker.clone()));
        }
        *ticket = Some(Ticket {
            slot: self.slots.insert(waker.clone()),
            turn: self.turn,
        });
        None
    }

    /// Wakes this task too, next time, in place of the one that polled before. Gives the waker that it replaces.
    pub(crate) fn enter_polled(&mut self, context: &Context<'_>) -> Option<Waker> {
        self.polled.replace(context.waker().clone())
    }

    /// Wakes this task no more. Gives its waker, unless it was taken before.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        if ticket.turn != self.turn {
            return None;
        }
        self.slots.try_remove(ticket.slot)
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}
