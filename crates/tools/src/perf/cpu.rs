//! The processor's clock and the system's clock.

use std::time::{Duration, Instant};

/// Returns the processor time that this process has used, user and system; `None` where the system does not tell.
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

/// Returns the current time.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that reads the system clock: it measures real networks"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the time since `start`, in the type of the protocol crates.
pub(crate) fn since(start: Instant) -> fairwire_units::Instant {
    let ns = start.elapsed().as_nanos();
    fairwire_units::Instant::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Returns the processor time used since `before`, in seconds.
pub(crate) fn used_since(before: Option<Duration>) -> Option<f64> {
    Some(used()?.saturating_sub(before?).as_secs_f64())
}
