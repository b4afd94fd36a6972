//! A timer that fires when the model lets time pass.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use fairwire_units::Instant;

use crate::clock;
use crate::error::BindError;

thread_local! {
    /// The waiting tasks, each with its time. All tasks of a model run on one system thread.
    static WAITING: RefCell<Vec<(Instant, Waker)>> = const { RefCell::new(Vec::new()) };
}

/// Starts a new model without timers.
pub(crate) fn reset() {
    WAITING.take();
}

/// Moves the time forward to the next timer and fires it. Returns false if none is set.
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

/// The replacement for the check of the runtime: a model has its own timers.
#[expect(clippy::unnecessary_wraps, reason = "the shape of what it stands for")]
pub(crate) fn check() -> Result<(), BindError> {
    Ok(())
}

/// The replacement for the rule of `crates/io`: times of a model have no grain.
pub(crate) fn earliest(
    fires: Option<Instant>,
    _now: Instant,
    deadline: Option<Instant>,
) -> Option<Instant> {
    Instant::earliest([fires, deadline])
}

/// The replacement for the timer of `crates/io`.
#[derive(Debug)]
pub(crate) struct Timer {
    fires: Option<Instant>,
}

impl Timer {
    pub(crate) fn new(_clock: clock::Clock) -> Self {
        Self { fires: None }
    }

    pub(crate) fn coarse() -> Self {
        Self { fires: None }
    }

    /// Returns when the timer would fire if it were set.
    pub(crate) fn fires_at(&self, now: Instant, deadline: Option<Instant>) -> Option<Instant> {
        earliest(self.fires, now, deadline)
    }

    /// Makes the timer fire at `deadline` or earlier; `None` changes nothing.
    pub(crate) fn set(&mut self, now: Instant, deadline: Option<Instant>) {
        self.fires = self.fires_at(now, deadline);
    }

    /// Waits until the timer fires; forever if it is not set.
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
