//! Runs one model under many schedules.

use std::env;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler};
use shuttle::scheduler::{Task, TaskId};
use shuttle::{Config, Runner, thread};

use crate::{clock, timer};

/// The default number of schedules of each kind; `FAIRWIRE_SCHEDULES` changes it.
const SCHEDULES: u64 = 1_000;

/// The number of priority changes in a PCT schedule.
const CHANGES: usize = 3;

/// The largest number of times that timers may fire in one run. It is far more than a model needs: without it, a
/// connection that waits forever would fire timers without end.
const FIRES: usize = 2_000;

/// Runs `model` under many schedules: random ones, and ones with few changes of priority (PCT). PCT finds errors that
/// need a thread to pause for long. With `time`, timers fire, but only when nothing else can run.
///
/// A failure prints its schedule and its seed. `FAIRWIRE_SCHEDULE=<text>` runs only that schedule.
/// `PROPTEST_RNG_SEED=<number>` sets the seed, which is random otherwise.
///
/// # Panics
/// If the model fails under any schedule.
pub fn explore(time: bool, model: impl Fn() + Clone + Send + Sync + 'static) {
    let start = move || {
        clock::reset();
        timer::reset();
        if time {
            // The second task of every run; `LazyTimeScheduler` identifies it by its number.
            thread::spawn(|| {
                for _ in 0..FIRES {
                    if !timer::fire_next() {
                        return;
                    }
                    thread::yield_now();
                }
                panic!("timers fired {FIRES} times, and the model has not ended");
            });
        }
        model();
    };
    let mut config = Config::default();
    config.stack_size = 256 << 10;
    if let Ok(schedule) = env::var("FAIRWIRE_SCHEDULE") {
        let replay = ReplayScheduler::new_from_encoded(&schedule);
        Runner::new(replay, config).run(start);
        return;
    }
    let number = |name| {
        env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let schedules = number("FAIRWIRE_SCHEDULES").unwrap_or(SCHEDULES);
    let schedules = usize::try_from(schedules).expect("as many as memory has addresses");
    let seed = number("PROPTEST_RNG_SEED").unwrap_or_else(|| {
        let mut drawn = [0; 8];
        getrandom::fill(&mut drawn).expect("the system has randomness");
        u64::from_ne_bytes(drawn)
    });
    let random = RandomScheduler::new_from_seed(seed, schedules);
    Runner::new(LazyTimeScheduler::new(random, time), config.clone()).run(start.clone());
    let pct = PctScheduler::new_from_seed(seed, CHANGES, schedules);
    Runner::new(LazyTimeScheduler::new(pct, time), config).run(start);
}

/// A scheduler that lets time pass only when nothing else can run.
struct LazyTimeScheduler<S> {
    inner: S,
    time: bool,
}

impl<S> LazyTimeScheduler<S> {
    fn new(inner: S, time: bool) -> Self {
        Self { inner, time }
    }
}

impl<S: Scheduler> Scheduler for LazyTimeScheduler<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.inner.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let clock = TaskId::from(1);
        if !self.time || runnable.len() == 1 {
            return self.inner.next_task(runnable, current, is_yielding);
        }
        let others: Vec<&Task> = runnable
            .iter()
            .copied()
            .filter(|task| task.id() != clock)
            .collect();
        self.inner.next_task(&others, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
