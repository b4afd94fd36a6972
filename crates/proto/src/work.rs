//! How many steps loops take whose length a packet decides: tests bound them, a build does not count.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    /// Steps so far, and how many there may be.
    static STEPS: Cell<(u64, u64)> = const { Cell::new((0, u64::MAX)) };
}

/// One step of such a loop.
///
/// # Panics
/// In tests, beyond the bound of [`within`]: a loop without a bound then fails at once.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.with(|steps| {
        let (done, most) = steps.get();
        steps.set((done + 1, most));
        assert!(done < most, "more than {most} steps");
    });
}

/// Gives what `run` gives and the steps that it took, which may be `most`.
#[cfg(test)]
pub(crate) fn within<T>(most: u64, run: impl FnOnce() -> T) -> (T, u64) {
    STEPS.with(|steps| steps.set((0, most)));
    let value = run();
    (value, STEPS.with(|steps| steps.replace((0, u64::MAX)).0))
}
