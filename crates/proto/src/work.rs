//! A step counter for loops whose length a packet decides. Tests limit the steps; production builds do not count.

#[cfg(any(test, feature = "inspect"))]
use std::cell::Cell;

#[cfg(any(test, feature = "inspect"))]
thread_local! {
    /// Steps so far, and their limit.
    static STEPS: Cell<(u64, u64)> = const { Cell::new((0, u64::MAX)) };
}

/// Counts one step of such a loop.
///
/// # Panics
/// In tests, if the limit of `within` is exceeded, so that an endless loop fails at once.
#[inline]
pub(crate) fn step() {
    #[cfg(any(test, feature = "inspect"))]
    STEPS.with(|steps| {
        let (done, most) = steps.get();
        steps.set((done + 1, most));
        assert!(done < most, "more than {most} steps");
    });
}

/// Runs `run` with at most `most` steps, and returns its result and the steps taken (feature `inspect`).
///
/// Steps are counted in loops whose length a packet decides: a word of a bit field, a byte of an option, an entry of a
/// queue.
///
/// # Panics
/// If `run` takes more steps, at the step that exceeds the limit.
#[cfg(any(test, feature = "inspect"))]
pub fn within<T>(most: u64, run: impl FnOnce() -> T) -> (T, u64) {
    STEPS.with(|steps| steps.set((0, most)));
    let value = run();
    (value, STEPS.with(|steps| steps.replace((0, u64::MAX)).0))
}
