//! Ctrl-C, or the signal by which `timeout` and batch systems end a process: stop and keep what there is. Ctrl-C after
//! that ends at once; not the other signal, which `timeout` sends twice, to the process and to its group.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use crate::print::note;

/// The exit status of a process ended by an interrupt, as shells count.
const INTERRUPTED: i32 = 130;

/// A flag that the first Ctrl-C or SIGTERM raises. When this returns, neither ends the process by itself any more.
pub(crate) fn on_interrupt() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let (ready, is_ready) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        // Without a handler Ctrl-C just ends the process, which is no worse than before.
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
            note(&"stopping; what is finished is kept (Ctrl-C to end at once)");
            signals.interrupt().await;
            std::process::exit(INTERRUPTED);
        });
    });
    // Nothing is sent: the other end goes when the handlers are there, or cannot be.
    let _ = is_ready.recv();
    flag
}

/// The signals that are waited for.
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

/// Ctrl-C alone.
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

    /// The same.
    async fn interrupt(&mut self) {
        self.0.recv().await;
    }
}
