//! Tasks that wait for something, and how they stop.
//!
//! A task that waits has a slot of its own and leaves it when its future is dropped, so what is held
//! is bounded by the tasks that wait at one time. An event wakes all who wait for it: none of them
//! depends on another one that was woken and then cancelled.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker, ready};

use fairwire_proto::ConnectionId;
use tokio::task::coop;

use crate::state::{Shared, State};
use crate::wakers::{Ticket, Wakers};

/// What a task waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A datagram to read.
    Readable(ConnectionId),
    /// Room to send.
    Writable(ConnectionId),
    /// The handshake, the end, a fate or another path MTU.
    Changed(ConnectionId),
    /// A connection on this port.
    Acceptable(u16),
    /// That no connection is left.
    Idle,
}

impl Place {
    fn among(self, state: &mut State) -> Option<&mut Wakers> {
        match self {
            Self::Readable(id) => state.links.get_mut(&id).map(|link| &mut link.readers),
            Self::Writable(id) => state.links.get_mut(&id).map(|link| &mut link.writers),
            Self::Changed(id) => state.links.get_mut(&id).map(|link| &mut link.watchers),
            Self::Acceptable(port) => {
                let backlog = state.backlogs.get_mut(&port);
                backlog.map(|backlog| &mut backlog.acceptors)
            }
            Self::Idle => Some(&mut state.idlers),
        }
    }
}

/// A task's stay at a place. Wakers are dropped without the lock: the last one of a task takes the
/// task along, and whatever that owns.
struct Stay<'a> {
    shared: &'a Shared,
    place: Place,
    ticket: Option<Ticket>,
}

impl Stay<'_> {
    fn enter(&mut self, state: &mut State, context: &Context<'_>) -> Option<Waker> {
        let wakers = self.place.among(state);
        debug_assert!(
            wakers.is_some(),
            "who waits looked first whether it is there"
        );
        wakers.and_then(|wakers| wakers.enter(&mut self.ticket, context))
    }

    fn leave(&mut self, state: &mut State) -> Option<Waker> {
        let ticket = self.ticket.take()?;
        self.place.among(state)?.leave(ticket)
    }
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let mut state = self.shared.lock();
            let waker = self.leave(&mut state);
            drop(state);
            drop(waker);
        }
    }
}

impl Shared {
    /// Looks once, and has the task of `context` woken if `look` sees nothing; only the last task that asked so at
    /// this place is woken.
    pub(crate) fn poll<T>(
        &self,
        place: Place,
        context: &mut Context<'_>,
        look: impl FnOnce(&mut State) -> Option<T>,
    ) -> Poll<T> {
        let budget = ready!(coop::poll_proceed(context));
        let mut state = self.lock();
        let seen = look(&mut state);
        let mut replaced = None;
        if seen.is_none()
            && let Some(wakers) = place.among(&mut state)
        {
            replaced = wakers.enter_polled(context);
        }
        // Wakers are dropped without the lock.
        drop(state);
        drop(replaced);
        match seen {
            Some(seen) => {
                budget.made_progress();
                Poll::Ready(seen)
            }
            None => Poll::Pending,
        }
    }

    /// Waits at `place` until `look` sees what it waits for. `look` has to see something if the place
    /// does not exist. Cancelling leaves nothing behind.
    ///
    /// Takes part in tokio's cooperative budget: a task that always finds what it waits for lets
    /// others run all the same, the driver among them.
    pub(crate) async fn wait<T>(
        &self,
        place: Place,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> T {
        let mut stay = Stay {
            shared: self,
            place,
            ticket: None,
        };
        poll_fn(|context| {
            let budget = ready!(coop::poll_proceed(context));
            let mut state = self.lock();
            let seen = look(&mut state);
            let waker = match &seen {
                Some(_) => stay.leave(&mut state),
                None => stay.enter(&mut state, context),
            };
            drop(state);
            drop(waker);
            match seen {
                Some(seen) => {
                    budget.made_progress();
                    Poll::Ready(seen)
                }
                None => Poll::Pending,
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests;
