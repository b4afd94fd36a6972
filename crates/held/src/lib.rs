//! Counts of the heap bytes that a process or a thread holds.
//!
//! Tests, benchmarks and fuzz targets use them to show a bound on memory. The binary sets the global allocator once and
//! then reads the counts:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;
//!
//! let before = fairwire_held::bytes();
//! let held = vec![0_u8; 1_000];
//! assert!(fairwire_held::bytes() >= before + 1_000);
//! drop(held);
//! ```
//!
//! These counts cover the entire process, all threads together. A test that needs exact figures must be the only test
//! of its binary, or it counts what its own thread does ([`thread`]).

pub mod thread;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

/// The bytes held now. Signed, because a thread may see a free before the matching allocation.
static HELD: AtomicIsize = AtomicIsize::new(0);

/// The most bytes held at one time since [`reset_peak`].
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// The system's allocator with a count of the bytes it holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

/// Returns the number of bytes held now: those asked for, without the allocator's overhead.
pub fn bytes() -> isize {
    HELD.load(Ordering::Relaxed)
}

/// Returns the most bytes held at one time since the start or the last [`reset_peak`].
pub fn peak() -> isize {
    PEAK.load(Ordering::Relaxed)
}

/// Resets the peak to the bytes held now.
pub fn reset_peak() {
    PEAK.store(bytes(), Ordering::Relaxed);
}

fn grow(bytes: usize) {
    let bytes = bytes.cast_signed();
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

fn shrink(bytes: usize) {
    HELD.fetch_sub(bytes.cast_signed(), Ordering::Relaxed);
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

// SAFETY: every call goes to the system's allocator with unchanged arguments, so its guarantees hold here. Counting
// touches no memory that is handed out and allocates none.
#[expect(
    unsafe_code,
    reason = "an allocator can be written in no other way, and only tests, benchmarks and fuzz targets use it"
)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about the layout are those the system's allocator asks for.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            grow(layout.size());
            thread::count(layout.size(), signed(layout.size()));
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about the layout are those the system's allocator asks for.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            grow(layout.size());
            thread::count(layout.size(), signed(layout.size()));
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        thread::count(0, -signed(layout.size()));
        // SAFETY: the pointer came from this allocator, which took it from the system with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`; the caller's promises about the size are those the system's allocator asks for.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            grow(size);
            shrink(layout.size());
            thread::count(size, signed(size) - signed(layout.size()));
        }
        moved
    }
}
