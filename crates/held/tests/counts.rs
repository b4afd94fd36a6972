//! The process count follows allocation, enlargement and freeing.
//!
//! This test has a binary of its own because the count covers the entire process.

#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;

/// The most that the harness's own threads may allocate meanwhile. The blocks below are far larger.
const HARNESS: isize = 64 << 10;

/// A block counts while it is held, with its new size when it is enlarged; the peak stays until it is reset.
#[test]
fn blocks_count_while_they_are_held() {
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
