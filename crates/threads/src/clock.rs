//! A clock that the models move.

use std::cell::Cell;

use fairwire_units::{Duration, Instant};

thread_local! {
    /// The time of the model that runs; all tasks of a model are on one thread of the system.
    static NOW: Cell<Instant> = const { Cell::new(Instant::START) };
}

/// The time that passes between two looks at the clock.
const TICK: Duration = Duration::from_nanos(100);

/// Begins a new model at time zero.
pub(crate) fn reset() {
    NOW.set(Instant::START);
}

/// Moves the time on to `instant`, never back.
pub(crate) fn advance_to(instant: Instant) {
    NOW.set(NOW.get().max(instant));
}

/// Returns the time without moving it.
pub(crate) fn peek() -> Instant {
    NOW.get()
}

/// Stands where `crates/io` has the system's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock;

impl Clock {
    pub(crate) fn start() -> Self {
        Self
    }

    /// The model's time, which every look moves on a little.
    #[expect(
        clippy::unused_self,
        clippy::trivially_copy_pass_by_ref,
        reason = "the shape of the clock it stands for"
    )]
    pub(crate) fn now(&self) -> Instant {
        let now = NOW.get() + TICK;
        NOW.set(now);
        now
    }
}
