//! An allocator that counts for each thread, so that a target can state what one input may take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of work took of the heap.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Taken {
    /// Calls that asked for memory, those that made a block larger or smaller included.
    pub calls: u64,
    /// Bytes that were asked for in all.
    pub bytes: u64,
    /// The most bytes held at one time, beyond what was held before.
    pub peak: u64,
    /// Bytes still held at the end, beyond what was held before.
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
pub fn held() -> i64 {
    COUNTERS.get().held
}

/// Returns how often this thread has asked for memory.
pub fn calls() -> u64 {
    COUNTERS.get().calls
}

/// Does `work` and says what this thread took of the heap meanwhile.
pub fn measure<R>(work: impl FnOnce() -> R) -> (R, Taken) {
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
    let taken = Taken {
        calls: after.calls - before.calls,
        bytes: after.bytes - before.bytes,
        peak: u64::try_from(after.most - before.held).unwrap_or(0),
        kept: u64::try_from(after.held - before.held).unwrap_or(0),
    };
    (result, taken)
}

/// Does `work`, which must not touch the heap.
///
/// # Panics
/// If it asks for memory.
pub fn without_allocation<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let (result, taken) = measure(work);
    assert!(taken.calls == 0, "{what} allocates: {taken:?}");
    result
}

/// The system's allocator, with counters.
#[derive(Debug)]
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(asked: usize, grown: i64) {
    // A thread that ends has no counters any more; nobody asks for them then.
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

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

// SAFETY: every call is passed on to the system's allocator with the arguments it came with, so
// its guarantees hold for ours; counting touches no memory that is handed out.
#[expect(
    unsafe_code,
    reason = "an allocator can be written in no other way, and only fuzz targets use it"
)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), signed(layout.size()));
        // SAFETY: our caller's promises about the layout are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), signed(layout.size()));
        // SAFETY: our caller's promises about the layout are the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, signed(size) - signed(layout.size()));
        // SAFETY: the pointer came from the system with this layout, and our caller's promises
        // about the size are the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -signed(layout.size()));
        // SAFETY: the pointer came from the system with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::{measure, without_allocation};

    /// What is asked for, held and kept is counted apart, inside another measurement too.
    #[test]
    fn counts_are_exact() {
        let ((kept, inner), outer) = measure(|| {
            drop(vec![0_u8; 1_000]);
            measure(|| {
                drop(vec![0_u8; 100]);
                vec![1_u8; 10]
            })
        });
        assert_eq!(
            (inner.calls, inner.bytes, inner.peak, inner.kept),
            (2, 110, 100, 10)
        );
        assert_eq!(
            (outer.calls, outer.bytes, outer.peak, outer.kept),
            (3, 1_110, 1_000, 10)
        );
        drop(kept);
    }

    /// Another thread's work is not ours.
    #[test]
    fn threads_count_apart() {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                for _ in 0..1_000 {
                    drop(Box::new([0_u8; 64]));
                }
            });
            without_allocation("adding", || (0..1_000_u64).sum::<u64>());
            other.join().expect("it only allocates");
        });
    }

    /// Memory that is asked for where none may be is a failure.
    #[test]
    #[should_panic(expected = "a box allocates")]
    fn an_allocation_is_noticed() {
        drop(without_allocation("a box", || Box::new([7_u8; 32])));
    }
}
