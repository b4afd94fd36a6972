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
fn within<R: Send + 'static>(
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

/// Runs `work`. If it panics, returns the panic's message and place.
fn catch<R>(work: impl FnOnce() -> R) -> Result<R, String> {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::{Options, Outcome, catch, run, run_within_time, within};
    use crate::plan::Plan;

    /// A run that never ends is abandoned and counts as a failure.
    ///
    /// A run that ends is not changed by the time limit.
    #[test]
    fn endless_runs_are_given_up() {
        let (never, wait) = mpsc::channel::<()>();
        let waits = within(Duration::ZERO, move || wait.recv());
        assert_eq!(waits, None);
        drop(never);
        let endless = Outcome::endless();
        assert!(endless.is_endless());
        let failure = endless.failure.expect("that is a failure");
        let says = "the run ends (host 0, 0.000000 s): the run did not end within 60 s";
        assert_eq!(failure.to_string(), says);
        let (plan, options) = (Plan::draw(3), Options::default());
        let watched = run_within_time(&plan, &options);
        assert!(!watched.is_endless());
        assert_eq!(watched, run(&plan, &options));
    }

    /// A panic of the implementation is a failure of its seed, with its message and place.
    ///
    /// It does not affect the next run.
    #[test]
    fn panics_are_caught() {
        let text = catch(|| panic!("the invariant {} is broken", 7)).err();
        let text = text.expect("it panics");
        assert!(text.starts_with("the invariant 7 is broken at "), "{text}");
        assert!(text.contains("run.rs:"), "{text}");
        assert_eq!(catch(|| 5), Ok(5));
    }
}
