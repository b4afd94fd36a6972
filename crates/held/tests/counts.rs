//! The counts of the process and of each thread follow allocation, enlargement and freeing.
//!
//! Tests here run one after the other, because the first count covers the entire process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fairwire_held::Counting;
use fairwire_held::thread::{measure, without_allocation};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that the harness's own threads may allocate meanwhile. The blocks below are far larger.
const HARNESS: isize = 64 << 10;

/// Waits until no other test runs. One of them fails on purpose.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A block counts while it is held, with its new size when it is enlarged; the peak stays until it is reset.
#[test]
fn blocks_count_while_they_are_held() {
    let _turn = alone();
    let near = |held: isize, expected: isize| (held - expected).abs() < HARNESS;
    let start = fairwire_held::bytes();
    let mut block: Vec<u8> = Vec::with_capacity(1 << 20);
    assert!(near(fairwire_held::bytes(), start + (1 << 20)));
    block.push(1);
    block.reserve_exact((4 << 20) - 1);
    assert!(near(fairwire_held::bytes(), start + (4 << 20)));
    drop(block);
    assert!(near(fairwire_held::bytes(), start));
    assert!(fairwire_held::peak() >= start + (4 << 20) - HARNESS);
    fairwire_held::reset_peak();
    assert!(near(fairwire_held::peak(), start));
}

/// Calls, bytes, peak and kept bytes are counted exactly, also by a measurement inside another one.
#[test]
fn counts_are_exact() {
    let _turn = alone();
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
    let _turn = alone();
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
    let _turn = alone();
    drop(without_allocation("a box", || Box::new([7_u8; 32])));
}
