//! Runs side by side: a list of jobs, threads that take the next one, results in the list's order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Campaign, Progress};
use crate::results::RunResult;
use crate::scenario::Scenario;
use crate::sim::{RunError, RunOptions, run};

/// One run to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    seed: u64,
    perturbed: bool,
}

impl Job {
    pub(super) fn seed(seed: u64) -> Self {
        Self {
            seed,
            perturbed: true,
        }
    }

    pub(super) fn unperturbed(seed: u64) -> Self {
        Self {
            seed,
            perturbed: false,
        }
    }
}

type Outcome = Result<RunResult, RunError>;

/// Runs all jobs; `None` where one was interrupted.
pub(super) fn run_jobs(
    scenario: &Scenario,
    jobs: &[Job],
    campaign: &mut Campaign<'_>,
) -> Result<Vec<Option<RunResult>>, RunError> {
    let planned = scenario.run.duration * jobs.len() as u64;
    (campaign.progress)(Progress::Planned(planned));
    // The first job of all gets the capture.
    let capture = Mutex::new(campaign.capture.take());
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let (stop, progress) = (campaign.stop, campaign.progress);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else {
                return;
            };
            let options = RunOptions {
                capture: if number == 0 {
                    lock(&capture).take()
                } else {
                    None
                },
                stop: Some(stop),
                progress: Some(&|done| progress(Progress::Simulated(done))),
            };
            let outcome = run(scenario, (job.seed, job.perturbed), options);
            if let Some(place) = lock(&outcomes).get_mut(number) {
                *place = Some(outcome);
            }
        }
    };
    let threads = campaign.threads.clamp(1, jobs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let outcomes = outcomes
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Some(Ok(result)) => Ok(Some(result)),
            Some(Err(RunError::Interrupted)) | None => Ok(None),
            Some(Err(error)) => Err(error),
        })
        .collect()
}

/// A thread that panicked ends the campaign when it is joined; its lock says nothing more.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
