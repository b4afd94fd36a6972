//! Interrupts: the first Ctrl-C or SIGTERM stops the run and keeps the finished results.
//!
//! `timeout` and batch systems send SIGTERM. A second Ctrl-C ends the process at once. A second SIGTERM does not,
//! because `timeout` sends it twice: to the process and to its group.
//!
//! SIGXFSZ, which a limit on the size of files (`ulimit -f`) sends, does not end the process either: the write fails, is
//! reported as any other, and the finished results are kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use crate::print::note;

/// The exit status of a process that an interrupt ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Returns a flag that the first Ctrl-C or SIGTERM sets. After this call, these signals no longer end the process
/// directly.
pub(crate) fn on_interrupt() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let (ready, is_ready) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        // Without a handler Ctrl-C ends the process at once, as it does by default.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        else {
            return;
        };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::new() else {
                return;
            };
            drop(ready);
            signals.either().await;
            raised.store(true, Ordering::Relaxed);
            note(&"stopping; finished results are kept (press Ctrl-C again to end at once)");
            signals.interrupt().await;
            std::process::exit(INTERRUPTED);
        });
    });
    // Nothing is ever sent: this returns when the sender is dropped, after the handlers were installed or failed.
    let _ = is_ready.recv();
    flag
}

/// The signals to wait for.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Installs the handlers.
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays when the receiver is dropped. Without it a write beyond the limit still ends the process.
        drop(signal(SignalKind::from_raw(libc::SIGXFSZ)));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either signal.
    async fn either(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for Ctrl-C.
    async fn interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

/// Ctrl-C only.
#[cfg(not(unix))]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Signals {
    /// Installs the handler.
    fn new() -> std::io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    /// Waits for Ctrl-C.
    async fn either(&mut self) {
        self.interrupt().await;
    }

    /// Waits for Ctrl-C.
    async fn interrupt(&mut self) {
        self.0.recv().await;
    }
}
