//! Many seeds, side by side; the result does not depend on how many run at once.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::outcome::PATIENCE;
use crate::plan::Plan;
use crate::run::{self, Failure, Options, Outcome, Tally};

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
    run_and_tell(first, seeds, jobs, options, |_, _| ())
}

/// The same; tells of each seed as soon as it has been run, with its failure if it has one.
pub fn run_and_tell(
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

/// Runs seeds from `first` on until one fails, at most `seeds`: the first seed that does, and how. Those
/// before it have all been run and do not fail.
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

/// Runs seeds side by side and shows what comes of each, in the order in which they end, until `show` says
/// that it is enough: then those under way still end. If none of those under way ends for longer than a run may
/// take, they never will: they are shown as failures, and their threads stay behind.
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
        match results.recv_timeout(PATIENCE) {
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

/// A run that panics does so within its own walls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
