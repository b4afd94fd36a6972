//! Many seeds, side by side; the result does not depend on how many run at once.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::plan::Plan;
use crate::run::{self, Failure, Options, Tally};

/// What came of many seeds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Campaign {
    /// Seeds run.
    pub seeds: u64,
    /// What happened in all of them.
    pub tally: Tally,
    /// The digests of all logs, joined in the order of seeds.
    pub digest: u64,
    /// Seeds that failed, in their order.
    pub failures: Vec<(u64, Failure)>,
}

/// Cores of this machine.
pub fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Runs `seeds` seeds from `first` on, `jobs` at once.
pub fn run(first: u64, seeds: u64, jobs: NonZeroUsize, options: &Options) -> Campaign {
    let next = AtomicU64::new(0);
    let results = Mutex::new(Results::default());
    thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds {
                        break;
                    }
                    let seed = first + number;
                    let outcome = run::run(&Plan::draw(seed), options);
                    let mut results = results.lock().expect("no run panics outside its own walls");
                    results.tally.add(&outcome.tally);
                    results.digests.push((seed, outcome.digest));
                    results.failures.extend(outcome.failure.map(|f| (seed, f)));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .expect("no run panics outside its own walls");
    results.digests.sort_unstable();
    results.failures.sort_by_key(|&(seed, _)| seed);
    let words: Vec<u8> = results
        .digests
        .iter()
        .flat_map(|(_, digest)| digest.to_le_bytes())
        .collect();
    Campaign {
        seeds,
        tally: results.tally,
        digest: xxhash_rust::xxh3::xxh3_64(&words),
        failures: results.failures,
    }
}

#[derive(Debug, Default)]
struct Results {
    tally: Tally,
    digests: Vec<(u64, u64)>,
    failures: Vec<(u64, Failure)>,
}
