//! The heap use of a thread is counted exactly and separately from other threads.

use fairwire_held::Counting;
use fairwire_held::thread::{measure, without_allocation};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls, bytes, peak and kept bytes are counted exactly, also by a measurement inside another one.
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

/// The allocations of another thread are not counted.
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

/// An allocation where none is allowed fails the test.
#[test]
#[should_panic(expected = "a box allocates")]
fn an_allocation_is_noticed() {
    drop(without_allocation("a box", || Box::new([7_u8; 32])));
}
