//! The signals that ask a command to stop and to print what it has.
//!
//! These are Ctrl-C (SIGINT), SIGTERM, which `timeout` and batch systems send, and SIGHUP, when the terminal is gone. A
//! second Ctrl-C asks to end at once. A second SIGTERM or SIGHUP does not, because `timeout` sends its signal twice: to
//! the process and to its group. A SIGHUP that is ignored, as under `nohup`, stays ignored.
//!
//! SIGXFSZ, which a limit on the size of files (`ulimit -f`) sends, does not end the process either: the write fails,
//! and is reported as any other.

use std::io;

/// The signals of this process that ask it to stop. They no longer end it directly.
#[derive(Debug)]
pub struct Signals {
    sources: Sources,
    has_stopped: bool,
}

impl Signals {
    /// Installs the handlers. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            sources: Sources::new()?,
            has_stopped: false,
        })
    }

    /// Waits until the process is asked to stop: the first time by any of the signals, after that only by Ctrl-C. May
    /// be cancelled without missing a signal.
    pub async fn stop(&mut self) {
        if self.has_stopped {
            self.sources.interrupt().await;
        } else {
            self.sources.any().await;
            self.has_stopped = true;
        }
    }
}

#[cfg(unix)]
#[derive(Debug)]
struct Sources {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Sources {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays when the receiver is dropped.
        drop(signal(SignalKind::from_raw(libc::SIGXFSZ)));
        let hangup = (!is_ignored(libc::SIGHUP)).then(|| signal(SignalKind::hangup()));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
        })
    }

    async fn any(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }

    async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

/// Returns whether this process ignores `signal`, where the system tells it in a file (Linux).
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Ctrl-C only.
#[cfg(not(unix))]
#[derive(Debug)]
struct Sources(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Sources {
    fn new() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn any(&mut self) {
        self.interrupt().await;
    }

    async fn interrupt(&mut self) {
        self.0.recv().await;
    }
}
