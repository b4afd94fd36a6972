//! Exact counts of one thread's heap use, for tests that run beside others and for fuzz targets.

use std::cell::Cell;

/// The heap use of a piece of work.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HeapUse {
    /// The number of calls that asked for memory, calls that resized a block included.
    pub calls: u64,
    /// The sum of all bytes asked for.
    pub bytes: u64,
    /// The most bytes held at one time, beyond those held before the work.
    pub peak: u64,
    /// The bytes still held at the end, beyond those held before the work.
    pub kept: u64,
}

#[derive(Clone, Copy)]
struct Counters {
    calls: u64,
    bytes: u64,
    held: i64,
    most: i64,
}

thread_local! {
    // Constant and without a destructor, so that reading it allocates nothing.
    static COUNTERS: Cell<Counters> = const {
        Cell::new(Counters { calls: 0, bytes: 0, held: 0, most: 0 })
    };
}

/// Returns the bytes that this thread has allocated, less those that it has freed.
pub fn bytes() -> i64 {
    COUNTERS.get().held
}

/// Returns how often this thread has asked for memory.
pub fn calls() -> u64 {
    COUNTERS.get().calls
}

/// Runs `work` and returns its result and the heap use of this thread meanwhile.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, HeapUse) {
    let before = COUNTERS.get();
    COUNTERS.set(Counters {
        most: before.held,
        ..before
    });
    let result = work();
    let after = COUNTERS.get();
    COUNTERS.set(Counters {
        most: after.most.max(before.most),
        ..after
    });
    let heap_use = HeapUse {
        calls: after.calls - before.calls,
        bytes: after.bytes - before.bytes,
        peak: u64::try_from(after.most - before.held).unwrap_or(0),
        kept: u64::try_from(after.held - before.held).unwrap_or(0),
    };
    (result, heap_use)
}

/// Runs `work`, which must not use the heap, and returns its result.
///
/// # Panics
/// If `work` asks for memory.
pub fn without_allocation<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let (result, heap_use) = measure(work);
    assert!(heap_use.calls == 0, "{what} allocates: {heap_use:?}");
    result
}

/// Counts a call that asked for `asked` bytes and changed the bytes held by `grown`.
pub(crate) fn count(asked: usize, grown: i64) {
    // A thread that is ending has no counters any more, and nobody reads them then.
    let _ = COUNTERS.try_with(|cell| {
        let now = cell.get();
        let held = now.held + grown;
        cell.set(Counters {
            calls: now.calls + u64::from(asked > 0),
            bytes: now.bytes + asked as u64,
            held,
            most: now.most.max(held),
        });
    });
}
