//! The clock of a model, which the model moves.

use std::cell::Cell;

use crate::tls::Date;
use fairwire_units::{Duration, Instant};

thread_local! {
    /// The time of the running model; all tasks of a model run on one system thread.
    static NOW: Cell<Instant> = const { Cell::new(Instant::START) };
}

/// The time that passes between two reads of the clock.
const TICK: Duration = Duration::from_nanos(100);

/// Starts a new model at time zero.
pub(crate) fn reset() {
    NOW.set(Instant::START);
}

/// Moves the time forward to `instant`, never back.
pub(crate) fn advance_to(instant: Instant) {
    NOW.set(NOW.get().max(instant));
}

/// Returns the time without moving it.
pub(crate) fn peek() -> Instant {
    NOW.get()
}

/// The replacement for the clock of `crates/io`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock;

impl Clock {
    pub(crate) fn start() -> Self {
        Self
    }

    /// Returns a moment of tokio's clock. No model uses it.
    #[expect(
        clippy::unused_self,
        clippy::trivially_copy_pass_by_ref,
        reason = "the shape of the clock it stands for"
    )]
    pub(crate) fn at(&self, _moment: tokio::time::Instant) -> Instant {
        NOW.get()
    }

    /// Returns a moment of tokio's clock. No model looks at it.
    #[expect(
        clippy::unused_self,
        clippy::trivially_copy_pass_by_ref,
        reason = "the shape of the clock it stands for"
    )]
    pub(crate) fn moment(&self, _at: Instant) -> tokio::time::Instant {
        tokio::time::Instant::now()
    }

    /// Returns the model's time, and moves it forward a little.
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

/// The replacement for the date of `crates/io`. No model uses it.
pub(crate) fn date() -> Date {
    Date::from_unix_seconds(0)
}
