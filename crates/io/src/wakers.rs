//! Lists of tasks that wait for the same thing.

use std::task::{Context, Waker};

use slab::Slab;

/// The largest capacity that a list keeps when it is emptied.
const KEPT: usize = 16;

/// The tasks that wait for one thing.
#[derive(Default)]
pub(crate) struct Wakers {
    slots: Slab<Waker>,
    /// The task that polled last by hand. It cannot say when it stops waiting.
    polled: Option<Waker>,
    /// How often the list was emptied.
    turn: u64,
}

/// A task's slot in the [`Wakers`], valid for one turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    slot: usize,
    turn: u64,
}

impl Wakers {
    /// Moves all wakers to `into`. The caller wakes them after it has released the lock.
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

    /// Registers this task for the next event. Returns the waker that it replaces.
    pub(crate) fn register(
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

    /// Registers this task for the next event, in place of the one that polled before. Returns the waker that it
    /// replaces.
    pub(crate) fn register_polled(&mut self, context: &Context<'_>) -> Option<Waker> {
        self.polled.replace(context.waker().clone())
    }

    /// Removes the registration of this task. Returns its waker, unless it was already taken.
    pub(crate) fn unregister(&mut self, ticket: Ticket) -> Option<Waker> {
        if ticket.turn != self.turn {
            return None;
        }
        self.slots.try_remove(ticket.slot)
    }

    /// Returns how many tasks wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}
