//! `--jobs`: how many runs run at the same time.

use fairwire_sim::campaign;

/// Returns the stated number of jobs, or one for each processor.
pub(crate) fn jobs(stated: Option<u32>) -> usize {
    let stated = stated.and_then(|jobs| usize::try_from(jobs).ok());
    stated.unwrap_or_else(campaign::threads)
}
