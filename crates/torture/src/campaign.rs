//! Campaigns: runs of many seeds in parallel. The result does not depend on the number of parallel runs.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::outcome::MAX_RUN_TIME;
use crate::plan::Plan;
use crate::run::{self, Failure, Options, Outcome, Tally};

/// The result of many seeds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Campaign {
    /// The number of seeds run.
    pub seeds: u64,
    /// The sums of what happened in all runs.
    pub tally: Tally,
    /// A digest of the digests of all logs, in the order of seeds.
    pub digest: u64,
    /// The seeds that failed, in increasing order.
    pub failures: Vec<(u64, Failure)>,
}

/// Returns the number of cores of this machine.
pub fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Runs `seeds` seeds from `first` on, `jobs` at once.
pub fn run(first: u64, seeds: u64, jobs: NonZeroUsize, options: &Options) -> Campaign {
    run_with_progress(first, seeds, jobs, options, |_, _| ())
}

/// Does the same, and calls `tell` with each seed and its failure, if any, as soon as it has been run.
pub fn run_with_progress(
    first: u64,
    seeds: u64,
    jobs: NonZeroUsize,
    options: &Options,
    mut tell: impl FnMut(u64, Option<&Failure>),
) -> Campaign {
    let mut campaign = Campaign {
        seeds,
        ..Campaign::default()
    };
    let mut digests = Vec::new();
    each(first, seeds, jobs, options, |seed, outcome| {
        tell(seed, outcome.failure.as_ref());
        campaign.tally.add(&outcome.tally);
        digests.push((seed, outcome.digest));
        campaign.failures.extend(outcome.failure.map(|f| (seed, f)));
        true
    });
    digests.sort_unstable();
    campaign.failures.sort_by_key(|&(seed, _)| seed);
    let words: Vec<u8> = digests.iter().flat_map(|(_, d)| d.to_le_bytes()).collect();
    campaign.digest = xxhash_rust::xxh3::xxh3_64(&words);
    campaign
}

/// Runs seeds from `first` on until one fails, at most `seeds`. Returns the smallest seed that failed, with its
/// failure.
///
/// All smaller seeds have been run and did not fail.
pub fn first_failure(
    first: u64,
    seeds: u64,
    jobs: NonZeroUsize,
    options: &Options,
) -> Option<(u64, Failure)> {
    let mut found: Option<(u64, Failure)> = None;
    each(first, seeds, jobs, options, |seed, outcome| {
        if let Some(failure) = outcome.failure
            && found.as_ref().is_none_or(|(earlier, _)| seed < *earlier)
        {
            found = Some((seed, failure));
        }
        found.is_none()
    });
    found
}

/// Runs seeds in parallel and calls `show` with each outcome, in the order in which the runs end.
///
/// It starts no more runs when `show` returns false, but finishes those in progress. If no run ends for longer than a
/// run may take, the remaining ones never will: they are reported as failures, and their threads are abandoned.
fn each(
    first: u64,
    seeds: u64,
    jobs: NonZeroUsize,
    options: &Options,
    mut show: impl FnMut(u64, Outcome) -> bool,
) {
    let next = Arc::new(AtomicU64::new(0));
    let under_way = Arc::new(Mutex::new(BTreeSet::new()));
    let (sender, results) = mpsc::channel();
    for _ in 0..jobs.get() {
        let (sender, next, options) = (sender.clone(), Arc::clone(&next), options.clone());
        let under_way = Arc::clone(&under_way);
        thread::spawn(move || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= seeds {
                    break;
                }
                let seed = first + number;
                lock(&under_way).insert(seed);
                let outcome = run::run(&Plan::draw(seed), &options);
                lock(&under_way).remove(&seed);
                if sender.send((seed, outcome)).is_err() {
                    break;
                }
            }
        });
    }
    drop(sender);
    loop {
        match results.recv_timeout(MAX_RUN_TIME) {
            Ok((seed, outcome)) => {
                if !show(seed, outcome) {
                    next.store(seeds, Ordering::Relaxed);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                next.store(seeds, Ordering::Relaxed);
                for &seed in &*lock(&under_way) {
                    show(seed, Outcome::endless());
                }
                break;
            }
        }
    }
}

/// Locks a mutex even if it is poisoned. A run that panics does not leave shared state inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
