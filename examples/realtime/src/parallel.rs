//! Runs on all processors.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `run` with each job, and returns the results in the order of the jobs, or an error.
pub fn parallel<J: Sync, R: Send>(
    jobs: &[J],
    run: impl Fn(&J) -> Result<R, String> + Sync,
) -> Result<Vec<R>, String> {
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else {
                return Ok(());
            };
            let result = run(job)?;
            *results[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a run panicked".to_owned())?)
    })?;
    let taken = results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken
        .collect::<Option<Vec<R>>>()
        .ok_or_else(|| "a run has no result".to_owned())
}
