//! Interrupts: the first of the [`Signals`] stops the run and keeps the finished results; a second Ctrl-C ends the
//! process at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use fairwire_tools::signals::Signals;

use crate::print::note;

/// The exit status of a process that an interrupt ended, as shells report it.
const INTERRUPTED: i32 = 130;

/// Returns a flag that the first Ctrl-C, SIGTERM or SIGHUP sets. After this call, these signals no longer end the
/// process directly.
pub(crate) fn on_interrupt() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    call_on_interrupt(move || raised.store(true, Ordering::Relaxed));
    flag
}

/// Calls `stop` at the first Ctrl-C, SIGTERM or SIGHUP, which no longer end the process directly.
pub(crate) fn call_on_interrupt(stop: impl FnOnce() + Send + 'static) {
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
            signals.stop().await;
            stop();
            note(&"stopping; finished results are kept (press Ctrl-C again to end at once)");
            signals.stop().await;
            std::process::exit(INTERRUPTED);
        });
    });
    // Nothing is ever sent: this returns when the sender is dropped, after the handlers were installed or failed.
    let _ = is_ready.recv();
}
