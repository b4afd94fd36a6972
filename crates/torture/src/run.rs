//! The run of one plan, to its end or to the first violation.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use crate::outcome::MAX_RUN_TIME;
use crate::plan::Plan;
use crate::world;
use crate::world::watch::Watch;

pub use crate::outcome::{Failure, Options, Outcome, Tally};

/// Runs a plan within the longest time for a run. The thread of a run that never ends is abandoned.
pub fn run_within_time(plan: &Plan, options: &Options) -> Outcome {
    let (plan, options) = (plan.clone(), options.clone());
    within(MAX_RUN_TIME, move || run(&plan, &options)).unwrap_or_else(Outcome::endless)
}

/// Does `work` in another thread. Returns `None` if it takes longer than `patience`.
pub fn within<R: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let (sender, result) = mpsc::channel();
    let at_work = thread::spawn(move || {
        // If the result comes too late, nobody waits for it.
        let _ = sender.send(work());
    });
    match result.recv_timeout(patience) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match at_work.join() {
            Ok(()) => unreachable!("what ends well has sent its result"),
            Err(payload) => panic::resume_unwind(payload),
        },
    }
}

/// Runs a plan without a time limit.
pub fn run(plan: &Plan, options: &Options) -> Outcome {
    let shared = Arc::new(plan.clone());
    // A previous run of this thread that panicked may have left a limit of steps.
    fairwire_proto::within_steps(u64::MAX, || ());
    let watch = Watch::new(plan.seed, options);
    match catch(move || world::run(&shared, watch)) {
        Ok(mut watch) => Outcome {
            failure: watch.failure.take(),
            digest: watch.digest(),
            log: watch.take_lines(),
            tally: watch.tally,
        },
        // A packet that would cause an endless loop ends the run by the limit of `watch::bounded`.
        Err(text) if text.starts_with("more than ") && text.contains(" steps at ") => {
            Outcome::broken("bounded work", text)
        }
        Err(text) => Outcome::broken("panic", text),
    }
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `work`.
///
/// # Errors
/// If it panics: the panic's message and place.
pub fn catch<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                let place = info.location().map(ToString::to_string);
                PLACE.set(place.unwrap_or_default());
            } else {
                before(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    result.map_err(|payload| format!("{} at {}", panic_message(&*payload), PLACE.take()))
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
