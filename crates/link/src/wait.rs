//! Waiting for sockets, and for a moment that is known to the microsecond.
//!
//! The poll of mio counts milliseconds. On Linux a timer of the kernel is waited for like a socket.

use std::io;
use std::time::Duration;

use mio::event::Source;
use mio::{Events, Interest, Poll, Token, Waker};

const WAKER: Token = Token(usize::MAX);
#[cfg(target_os = "linux")]
const TIMER: Token = Token(usize::MAX - 1);

/// The sockets that are waited for.
#[derive(Debug)]
pub(crate) struct Waiting {
    poll: Poll,
    events: Events,
    #[cfg(target_os = "linux")]
    timer: rustix::fd::OwnedFd,
}

impl Waiting {
    pub(crate) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        #[cfg(target_os = "linux")]
        let timer = {
            use rustix::fd::AsRawFd;
            use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let source = timer.as_raw_fd();
            let mut source = mio::unix::SourceFd(&source);
            poll.registry()
                .register(&mut source, TIMER, Interest::READABLE)?;
            timer
        };
        Ok(Self {
            poll,
            events: Events::with_capacity(256),
            #[cfg(target_os = "linux")]
            timer,
        })
    }

    /// Returns what ends a wait from another thread. There is one.
    pub(crate) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    /// Waits for a socket from now on, too. Whoever reads from it reads until nothing is left.
    pub(crate) fn add(&self, socket: &mut impl Source, key: usize) -> io::Result<()> {
        let registry = self.poll.registry();
        registry.register(socket, Token(key), Interest::READABLE)
    }

    /// Does not wait for a socket any more.
    pub(crate) fn remove(&self, socket: &mut impl Source) -> io::Result<()> {
        self.poll.registry().deregister(socket)
    }

    /// Waits at most this long, and returns the keys of the sockets from which something can be read.
    pub(crate) fn wait(&mut self, longest: Duration) -> io::Result<Vec<usize>> {
        let timeout = self.arm(longest)?;
        match self.poll.poll(&mut self.events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let tokens = self.events.iter().map(mio::event::Event::token);
        #[cfg(target_os = "linux")]
        let tokens = tokens.filter(|token| *token != TIMER);
        Ok(tokens
            .filter(|token| *token != WAKER)
            .map(|token| token.0)
            .collect())
    }

    /// Sets the timer. Returns how long the poll waits.
    #[cfg(target_os = "linux")]
    fn arm(&self, longest: Duration) -> io::Result<Option<Duration>> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        if longest.is_zero() {
            return Ok(Some(longest));
        }
        let of = |time: Duration| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let once = Itimerspec {
            it_interval: of(Duration::ZERO),
            it_value: of(longest),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(None)
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Linux")]
    fn arm(&self, longest: Duration) -> io::Result<Option<Duration>> {
        Ok(Some(longest))
    }
}
