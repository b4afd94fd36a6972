//! Ctrl-C: once to stop and keep what there is, twice to end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::print::note;

/// The exit status of a process ended by an interrupt, as shells count.
const INTERRUPTED: i32 = 130;

/// A flag that the first Ctrl-C raises.
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
            if tokio::signal::ctrl_c().await.is_ok() {
                raised.store(true, Ordering::Relaxed);
                note(&"stopping; what is finished is kept (again to end at once)");
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(INTERRUPTED);
            }
        });
    });
    flag
}
