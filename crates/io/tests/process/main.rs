//! What the entire process holds: memory and descriptors. Tests here run one after the other.

#[cfg(target_os = "linux")]
mod allocations;
mod connection_memory;
#[cfg(target_os = "linux")]
mod descriptors;
mod pinned_memory;

use std::sync::{Mutex, MutexGuard, PoisonError};

use fairwire::ServiceCode;

#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?tst");

/// Waits until no other test runs.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test while no other one runs. A test that waits has no runtime yet: it holds no descriptor and little memory.
fn alone(test: impl Future<Output = ()>) {
    let _turn = turn();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}
