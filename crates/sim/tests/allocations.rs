//! A run does not allocate memory for each packet in the steady state.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use fairwire_scenario::{Adjust, Scenario, ScenarioFile};
use fairwire_sim::{RunOptions, run};
use fairwire_units::Duration;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a count of allocations for each thread.
struct Counting;

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe by nature; this one only counts"
)]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller gives the guarantees that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn scenario(file: &str, only: Option<&str>, seconds: u64) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(file);
    let adjust = Adjust {
        only: only.map(str::to_owned).into_iter().collect(),
        duration: Some(Duration::from_secs(seconds)),
        ..Adjust::default()
    };
    let cells = ScenarioFile::load(&path)
        .and_then(|file| file.cells(&adjust))
        .unwrap_or_else(|error| panic!("{error}"));
    cells[0].scenario.clone()
}

/// Returns the number of allocations and of packet-hops of a run.
fn cost(scenario: &Scenario) -> (u64, u64) {
    let before = COUNT.with(Cell::get);
    let result = run(scenario, (1, true), RunOptions::default()).expect("runs");
    (COUNT.with(Cell::get) - before, result.packet_hops)
}

/// A run of twice the time needs hardly more allocations.
///
/// The few are one reading per second and sometimes a buffer that has to grow.
#[test]
fn packets_allocate_nothing() {
    for (file, only) in [
        ("dumbbell.toml", None),
        ("both-ways.toml", Some("both-2-2")),
        ("both-ways.toml", Some("both-3-3")),
    ] {
        let (short, short_hops) = cost(&scenario(file, only, 30));
        let (long, long_hops) = cost(&scenario(file, only, 60));
        let (more, hops) = (long.saturating_sub(short), long_hops - short_hops);
        assert!(hops > 20_000, "{file}: {hops} hops");
        assert!(
            more * 100 < hops,
            "{file} {only:?}: {more} allocations for {hops} packet-hops"
        );
    }
}
