//! Tasks that wait for something, and the end of their waits.
//!
//! Each waiting task has its own slot and releases it when its future is dropped. So the memory is bounded by the
//! number of tasks that wait at one time. An event wakes all tasks that wait for it. So no task depends on another one
//! that was woken and then cancelled.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker, ready};

use fairwire_proto::ConnectionId;
use tokio::task::coop;

use crate::state::{Shared, State};
use crate::wakers::{Ticket, Wakers};

/// What a task waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// A datagram to read.
    Readable(ConnectionId),
    /// Room to send.
    Writable(ConnectionId),
    /// The handshake, the end, a fate or an event.
    Changed(ConnectionId),
    /// Another target bitrate.
    Rate(ConnectionId),
    /// A connection on this port.
    Acceptable(u16),
    /// No connection is left.
    Idle,
}

impl Awaited {
    fn wakers(self, state: &mut State) -> Option<&mut Wakers> {
        match self {
            Self::Readable(id) => state.connections.get_mut(&id).map(|link| &mut link.readers),
            Self::Writable(id) => state.connections.get_mut(&id).map(|link| &mut link.writers),
            Self::Changed(id) => state
                .connections
                .get_mut(&id)
                .map(|link| &mut link.watchers),
            Self::Rate(id) => {
                let link = state.connections.get_mut(&id);
                link.map(|link| &mut link.rate_watchers)
            }
            Self::Acceptable(port) => {
                let backlog = state.backlogs.get_mut(&port);
                backlog.map(|backlog| &mut backlog.acceptors)
            }
            Self::Idle => Some(&mut state.idlers),
        }
    }
}

/// The registration of a waiting task. Wakers are dropped without the lock: the last waker of a task may drop the task,
/// and everything that the task owns.
struct Registration<'a> {
    shared: &'a Shared,
    awaited: Awaited,
    ticket: Option<Ticket>,
}

impl Registration<'_> {
    fn register(&mut self, state: &mut State, context: &Context<'_>) -> Option<Waker> {
        let wakers = self.awaited.wakers(state);
        debug_assert!(wakers.is_some(), "a task waits only for what exists");
        wakers.and_then(|wakers| wakers.register(&mut self.ticket, context))
    }

    fn unregister(&mut self, state: &mut State) -> Option<Waker> {
        let ticket = self.ticket.take()?;
        self.awaited.wakers(state)?.unregister(ticket)
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            let mut state = self.shared.lock();
            let waker = self.unregister(&mut state);
            drop(state);
            drop(waker);
        }
    }
}

impl Shared {
    /// Calls `ready_value` once, and registers the task of `context` to be woken if it returns nothing.
    ///
    /// Only the last task that was registered this way for the same thing is woken.
    pub(crate) fn poll<T>(
        &self,
        awaited: Awaited,
        context: &mut Context<'_>,
        ready_value: impl FnOnce(&mut State) -> Option<T>,
    ) -> Poll<T> {
        let budget = ready!(coop::poll_proceed(context));
        let mut state = self.lock();
        let seen = ready_value(&mut state);
        let mut replaced = None;
        if seen.is_none()
            && let Some(wakers) = awaited.wakers(&mut state)
        {
            replaced = wakers.register_polled(context);
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

    /// Waits for `awaited` until `ready_value` returns a value.
    ///
    /// If that does not exist, `ready_value` must return a value. Cancelling leaves nothing behind. The wait takes part in
    /// tokio's cooperative budget: a task that never has to wait still lets other tasks run, the driver included.
    pub(crate) async fn wait<T>(
        &self,
        awaited: Awaited,
        mut ready_value: impl FnMut(&mut State) -> Option<T>,
    ) -> T {
        let mut stay = Registration {
            shared: self,
            awaited,
            ticket: None,
        };
        poll_fn(|context| {
            let budget = ready!(coop::poll_proceed(context));
            let mut state = self.lock();
            let seen = ready_value(&mut state);
            let waker = match &seen {
                Some(_) => stay.unregister(&mut state),
                None => stay.register(&mut state, context),
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
