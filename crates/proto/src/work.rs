//! How many steps loops take whose length a packet decides: tests bound them, a build does not count.

#[cfg(any(test, feature = "inspect"))]
use std::cell::Cell;

#[cfg(any(test, feature = "inspect"))]
thread_local! {
    /// Steps so far, and how many there may be.
    static STEPS: Cell<(u64, u64)> = const { Cell::new((0, u64::MAX)) };
}

/// One step of such a loop.
///
/// # Panics
/// In tests, beyond the bound of `within`: a loop without a bound then fails at once.
#[inline]
pub(crate) fn step() {
    #[cfg(any(test, feature = "inspect"))]
    STEPS.with(|steps| {
        let (done, most) = steps.get();
        steps.set((done + 1, most));
        assert!(done < most, "more than {most} steps");
    });
}

/// Gives what `run` gives and the steps that it took, which may be `most` (feature `inspect`).
///
/// Steps are those of loops whose length a packet decides: a word of a bit field, a byte of an
/// option, an entry of a queue.
///
/// # Panics
/// When `run` takes more steps, in the middle of it.
#[cfg(any(test, feature = "inspect"))]
pub fn within<T>(most: u64, run: impl FnOnce() -> T) -> (T, u64) {
    STEPS.with(|steps| steps.set((0, most)));
    let value = run();
    (value, STEPS.with(|steps| steps.replace((0, u64::MAX)).0))
}
