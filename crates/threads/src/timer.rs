//! A timer that fires when the model lets time pass.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use fairwire_units::Instant;

use crate::clock;

thread_local! {
    /// Who waits for which time. All tasks of a model are on one thread of the system.
    static WAITING: RefCell<Vec<(Instant, Waker)>> = const { RefCell::new(Vec::new()) };
}

/// Begins a new model with no timer.
pub(crate) fn reset() {
    WAITING.take();
}

/// Moves the time on to the next timer and fires it. False if none is set.
pub(crate) fn fire_next() -> bool {
    let mut waiting = WAITING.take();
    let Some(next) = waiting.iter().map(|(at, _)| *at).min() else {
        return false;
    };
    clock::advance_to(next);
    for (_, waker) in waiting.extract_if(.., |(at, _)| *at <= next) {
        waker.wake();
    }
    WAITING.with_borrow_mut(|later| later.append(&mut waiting));
    true
}

/// Stands where `crates/io` has a timer of the system.
#[derive(Debug)]
pub(crate) struct Timer {
    fires: Option<Instant>,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self { fires: None }
    }

    /// Fires at `deadline` or earlier; `None` leaves it alone.
    pub(crate) fn set(&mut self, _now: Instant, deadline: Option<Instant>) {
        let Some(deadline) = deadline else { return };
        if self.fires.is_none_or(|fires| deadline < fires) {
            self.fires = Some(deadline);
        }
    }

    /// Waits until it fires; for ever if it is not set.
    pub(crate) async fn fired(&mut self) {
        poll_fn(|context| match self.fires {
            Some(at) if at <= clock::peek() => Poll::Ready(()),
            Some(at) => {
                let waker = context.waker();
                WAITING.with_borrow_mut(|waiting| {
                    waiting.retain(|(_, other)| !other.will_wake(waker));
                    waiting.push((at, waker.clone()));
                });
                Poll::Pending
            }
            None => Poll::Pending,
        })
        .await;
        self.fires = None;
    }
}
