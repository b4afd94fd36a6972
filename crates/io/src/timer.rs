//! A timer that is finer than tokio's millisecond where the system supports it.
//!
//! On Linux a timerfd fires within microseconds. Elsewhere, or if no timerfd can be opened, or if the clock is tokio's
//! (which may be paused), tokio's own timer is used.
//! The timer may fire early, and its owner then sets it again. So a deadline that moves later, as a retransmission
//! timer does with every acknowledgement, costs no system call.

use std::pin::Pin;
use std::time;

use tokio::time::Sleep;

use fairwire_units::{Duration, Instant};

use crate::clock::Clock;
use crate::error::BindError;

/// The shortest wait. Timers closer together than this fire together. At high rates a paced sender then wakes at most
/// 10,000 times a second, and a burst stays below the millisecond that RFC 5348, 4.6 expects of a scheduler.
const GRAIN: Duration = Duration::from_micros(100);

/// Returns when a timer that fires at `fires` would fire if it were set to `deadline`.
pub(crate) fn earliest(
    fires: Option<Instant>,
    now: Instant,
    deadline: Option<Instant>,
) -> Option<Instant> {
    let deadline = deadline.map(|deadline| deadline.max(now + GRAIN));
    Instant::earliest([fires, deadline])
}

/// One timer, set and awaited by the driver.
#[derive(Debug)]
pub(crate) struct Timer {
    kind: Kind,
    fires: Option<Instant>,
}

#[derive(Debug)]
enum Kind {
    #[cfg(target_os = "linux")]
    Fd(fd::TimerFd),
    Sleep(Pin<Box<Sleep>>),
}

impl Timer {
    /// Makes a timer for times of `clock`, which is not set. Needs a tokio runtime.
    pub(crate) fn new(clock: Clock) -> Self {
        let fine = if clock.is_tokio() { None } else { fine() };
        Self {
            kind: fine.unwrap_or_else(sleep),
            fires: None,
        }
    }

    /// Makes a timer that takes no file descriptor, for what there may be many of. It may fire a millisecond late.
    pub(crate) fn coarse() -> Self {
        Self {
            kind: sleep(),
            fires: None,
        }
    }

    /// Returns when the timer would fire if it were set.
    pub(crate) fn fires_at(&self, now: Instant, deadline: Option<Instant>) -> Option<Instant> {
        earliest(self.fires, now, deadline)
    }

    /// Makes the timer fire at `deadline` or earlier; `None` changes nothing.
    pub(crate) fn set(&mut self, now: Instant, deadline: Option<Instant>) {
        let fires = self.fires_at(now, deadline);
        let Some(at) = fires.filter(|_| fires != self.fires) else {
            return; // It fires early enough, or has already fired.
        };
        self.fires = fires;
        let wait = at.saturating_since(now).into();
        match &mut self.kind {
            #[cfg(target_os = "linux")]
            Kind::Fd(fd) => fd.arm(wait),
            Kind::Sleep(sleep) => {
                let at = tokio::time::Instant::now() + wait;
                sleep.as_mut().reset(at);
            }
        }
    }

    /// Waits until the timer fires; forever if it is not set. Cancelling keeps it set.
    pub(crate) async fn fired(&mut self) {
        if self.fires.is_none() {
            std::future::pending::<()>().await;
        }
        match &mut self.kind {
            #[cfg(target_os = "linux")]
            Kind::Fd(fd) => fd.fired().await,
            Kind::Sleep(sleep) => sleep.as_mut().await,
        }
        self.fires = None;
    }
}

/// Returns an error outside a tokio runtime that has timers.
pub(crate) fn check() -> Result<(), BindError> {
    // Tokio tells this only by a panic.
    let timer = || drop(tokio::time::sleep(time::Duration::ZERO));
    let is_any = tokio::runtime::Handle::try_current().is_ok();
    if is_any && std::panic::catch_unwind(timer).is_ok() {
        Ok(())
    } else {
        Err(BindError::NoRuntime)
    }
}

fn sleep() -> Kind {
    Kind::Sleep(Box::pin(tokio::time::sleep(time::Duration::ZERO)))
}

/// Returns a timer that is finer than tokio's, if the system has one.
#[cfg(target_os = "linux")]
fn fine() -> Option<Kind> {
    fd::TimerFd::new().ok().map(Kind::Fd)
}

#[cfg(not(target_os = "linux"))]
fn fine() -> Option<Kind> {
    None
}

#[cfg(target_os = "linux")]
mod fd {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A Linux timer with a file descriptor.
    #[derive(Debug)]
    pub(super) struct TimerFd(AsyncFd<OwnedFd>);

    impl TimerFd {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
            // SAFETY: until it is dropped, an `OwnedFd` is one valid, open descriptor, which does not change. The
            // `AsyncFd` owns it and nobody takes it out.
            let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
            Ok(Self(registered?))
        }

        /// Makes the timer fire once, `wait` from now. This also clears an earlier expiry, so the descriptor is never
        /// read.
        pub(super) fn arm(&self, wait: Duration) {
            let zero = Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            let timer = Itimerspec {
                it_interval: zero,
                it_value: Timespec {
                    tv_sec: wait.as_secs().try_into().unwrap_or(i64::MAX),
                    tv_nsec: wait.subsec_nanos().into(),
                },
            };
            let set = timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &timer);
            debug_assert!(set.is_ok(), "a timer of ours and a valid time: {set:?}");
        }

        pub(super) async fn fired(&self) {
            if let Ok(mut guard) = self.0.readable().await {
                guard.clear_ready();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Timer;
    use crate::clock::Clock;
    use fairwire_units::Duration;

    /// Waits of 300 us and of 5 ms do not end early, and end soon after. The bound is loose because test machines are
    /// busy.
    #[tokio::test]
    async fn waits_are_kept() {
        let clock = Clock::start();
        let mut timer = Timer::new(clock);
        for us in [300, 5_000] {
            let now = clock.now();
            let deadline = now + Duration::from_micros(us);
            timer.set(now, Some(deadline));
            timer.fired().await;
            let late = clock.now().saturating_since(deadline);
            assert!(clock.now() >= deadline, "{us} us: early");
            assert!(late < Duration::from_millis(500), "{us} us: {late} late");
        }
    }

    /// An earlier deadline replaces a later one.
    #[tokio::test]
    async fn an_earlier_deadline_wins() {
        let clock = Clock::start();
        let mut timer = Timer::new(clock);
        let now = clock.now();
        timer.set(now, Some(now + Duration::from_secs(3_600)));
        timer.set(now, Some(now + Duration::from_millis(1)));
        timer.fired().await;
        assert!(clock.now().saturating_since(now) < Duration::from_secs(60));
    }
}
