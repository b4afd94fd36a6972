//! One run: a plan from its beginning to its end, or to what it breaks.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Duration;

use crate::plan::Plan;
use crate::world;
use crate::world::watch::Watch;

/// A run takes some hundredths of a second of processor time. One that has not ended after so long never will.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a run found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The invariant that does not hold; `panic` if the product panicked.
    pub invariant: String,
    /// What was seen, and what should have been.
    pub text: String,
    /// When, nanoseconds of the network's time.
    pub at_ns: u64,
    /// At which host.
    pub host: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            invariant,
            text,
            at_ns,
            host,
        } = self;
        #[expect(clippy::cast_precision_loss, reason = "printed with six digits")]
        let at_s = *at_ns as f64 / 1e9;
        write!(f, "{invariant} (host {host}, {at_s:.6} s): {text}")
    }
}

/// What happened in a run, by kind.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Packets that endpoints sent.
    pub packets: u64,
    /// Datagrams that applications read.
    pub datagrams_read: u64,
    /// Until when it ran, nanoseconds of the network's time.
    pub until: u64,
    /// Packets, or hosts, that each kind of fault touched.
    pub faults: BTreeMap<&'static str, u64>,
    /// What applications did.
    pub acts: BTreeMap<&'static str, u64>,
    /// What applications learnt.
    pub events: BTreeMap<String, u64>,
    /// Steps at which connections were in each state.
    pub states: BTreeMap<&'static str, u64>,
    /// Steps at which connections had each CCID.
    pub ccids: BTreeMap<u8, u64>,
    /// Wraps that sequence numbers crossed, by the bits of the circle.
    pub wraps: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Adds what happened in another run; the time adds up as well.
    pub fn add(&mut self, other: &Self) {
        fn join<K: Clone + Ord>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
            for (name, count) in from {
                *to.entry(name.clone()).or_default() += count;
            }
        }
        self.packets += other.packets;
        self.datagrams_read += other.datagrams_read;
        self.until += other.until;
        join(&mut self.faults, &other.faults);
        join(&mut self.acts, &other.acts);
        join(&mut self.events, &other.events);
        join(&mut self.states, &other.states);
        join(&mut self.ccids, &other.ccids);
        join(&mut self.wraps, &other.wraps);
    }
}

/// What came of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// The first thing that went wrong, if something did.
    pub failure: Option<Failure>,
    /// The digest of its log: two runs of one plan have the same. Zero after a panic.
    pub digest: u64,
    /// What happened.
    pub tally: Tally,
    /// The log, if it was asked for.
    pub log: Vec<String>,
}

impl Outcome {
    /// What comes of a run that is not heard of again.
    pub(crate) fn endless() -> Self {
        let text = format!("it did not within {} s", PATIENCE.as_secs());
        Self::broken(ENDLESS, text)
    }

    /// Is it what comes of a run that is not heard of again?
    pub fn is_endless(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|f| f.invariant == ENDLESS)
    }

    /// What comes of a run that leaves nothing behind.
    fn broken(invariant: &str, text: String) -> Self {
        Self {
            failure: Some(Failure {
                invariant: invariant.to_owned(),
                text,
                at_ns: 0,
                host: 0,
            }),
            digest: 0,
            tally: Tally::default(),
            log: Vec::new(),
        }
    }
}

/// The invariant that an endless run breaks.
const ENDLESS: &str = "the run ends";

/// How a run is watched.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Is the log kept?
    pub trace: bool,
    /// An event, as the report names it, that counts as a failure: to find and shrink a run in which
    /// something happens.
    pub forbid: Option<String>,
}

/// Runs a plan, and waits for it no longer than a run may take; the thread of one that never ends stays behind.
pub fn run_within_time(plan: &Plan, options: &Options) -> Outcome {
    let (plan, options) = (plan.clone(), options.clone());
    within(PATIENCE, move || run(&plan, &options)).unwrap_or_else(Outcome::endless)
}

/// Does `work` elsewhere; `None` if it takes longer than this.
fn within<R: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    let (sender, result) = mpsc::channel();
    let at_work = thread::spawn(move || {
        // Nobody waits any more for what comes too late.
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

/// Runs a plan, however long it takes.
pub fn run(plan: &Plan, options: &Options) -> Outcome {
    let shared = Arc::new(plan.clone());
    // A run of this thread that panicked before may have left a bound behind.
    fairwire_proto::within_steps(u64::MAX, || ());
    let watch = Watch::new(plan.seed, options);
    match catch(move || world::run(&shared, watch)) {
        Ok(mut watch) => Outcome {
            failure: watch.failure.take(),
            digest: watch.digest(),
            log: watch.take_lines(),
            tally: watch.tally,
        },
        // A loop that a packet makes endless ends by the bound of `watch::bounded`.
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

/// Runs `work`; if it panics, what it said and where.
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
    result.map_err(|payload| format!("{} at {}", said(&*payload), PLACE.take()))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::{Options, Outcome, catch, run, run_within_time, within};
    use crate::plan::Plan;

    /// A run that never ends is given up and counts as a failure; one that ends is the same run as without the
    /// watch.
    #[test]
    fn endless_runs_are_given_up() {
        let (never, wait) = mpsc::channel::<()>();
        let waits = within(Duration::ZERO, move || wait.recv());
        assert_eq!(waits, None);
        drop(never);
        let endless = Outcome::endless();
        assert!(endless.is_endless());
        let failure = endless.failure.expect("that is a failure");
        let says = "the run ends (host 0, 0.000000 s): it did not within 60 s";
        assert_eq!(failure.to_string(), says);
        let (plan, options) = (Plan::draw(3), Options::default());
        let watched = run_within_time(&plan, &options);
        assert!(!watched.is_endless());
        assert_eq!(watched, run(&plan, &options));
    }

    /// A panic of the product is a failure of its seed, with what it says and where, and the next run is
    /// not touched by it.
    #[test]
    fn panics_are_caught() {
        let text = catch(|| panic!("the invariant {} is broken", 7)).err();
        let text = text.expect("it panics");
        assert!(text.starts_with("the invariant 7 is broken at "), "{text}");
        assert!(text.contains("run.rs:"), "{text}");
        assert_eq!(catch(|| 5), Ok(5));
    }
}
