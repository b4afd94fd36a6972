//! Ctrl-C, or the signal by which `timeout` and batch systems end a process: stop and keep what there is. Ctrl-C after
//! that ends at once; not the other signal, which `timeout` sends twice, to the process and to its group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::print::note;

/// The exit status of a process ended by an interrupt, as shells count.
const INTERRUPTED: i32 = 130;

/// A flag that the first Ctrl-C or SIGTERM raises.
pub(crate) fn on_interrupt() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    std::thread::spawn(move || {
        // Without a handler Ctrl-C just ends the process, which is no worse than before.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        else {
            return;
        };
        runtime.block_on(async {
            if asked_to_end().await.is_ok() {
                raised.store(true, Ordering::Relaxed);
                note(&"stopping; what is finished is kept (Ctrl-C to end at once)");
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(INTERRUPTED);
            }
        });
    });
    flag
}

/// Waits for either signal.
#[cfg(unix)]
async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
