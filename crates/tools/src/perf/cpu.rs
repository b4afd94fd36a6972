//! Clocks: the processor's, and the wall's.

use std::time::{Duration, Instant};

/// Processor time that this process has used, user and system; `None` where the system does not tell.
pub(crate) fn used() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let nanos = u32::try_from(time.tv_nsec).ok()?;
        Some(Duration::new(seconds, nanos))
    }
    #[cfg(not(unix))]
    None
}

/// Now.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that reads the system clock: it measures real networks"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How long ago `start` was, as the protocol's crates count time.
pub(crate) fn since(start: Instant) -> fairwire_units::Instant {
    let ns = start.elapsed().as_nanos();
    fairwire_units::Instant::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Processor time used since `before`, seconds.
pub(crate) fn used_since(before: Option<Duration>) -> Option<f64> {
    Some(used()?.saturating_sub(before?).as_secs_f64())
}
