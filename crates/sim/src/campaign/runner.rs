//! The threads of a campaign: each does the next task of the plan; finished cells are passed on in order.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use fairwire_scenario::Scenario;
use fairwire_units::Duration;

use super::key::RunKey;
use super::plan::{Plan, Task};
use super::store::{Recorded, RunStore};
use super::{Campaign, CampaignError, Progress};
use crate::results::CellResult;
use crate::{RunError, RunOptions, Tap, run as run_one};

/// Called with the number of a batch, and the results of one of its cells.
type OnCell<'a> = &'a mut dyn FnMut(usize, CellResult) -> io::Result<()>;

/// What all threads share.
struct Shared<'a, S: RunStore> {
    plan: &'a mut Plan,
    store: &'a mut S,
    capture: Option<Tap>,
    /// The number of tasks that threads have.
    under_way: usize,
    /// No further run begins.
    closed: bool,
    /// Why not, if something failed first.
    failure: Option<CampaignError<S::Error>>,
    /// The panic of a run.
    panic: Option<Box<dyn Any + Send>>,
}

struct Runner<'a, S: RunStore> {
    shared: Mutex<Shared<'a, S>>,
    /// Notified when a task has ended.
    ended: Condvar,
    origin: S::Origin,
    /// The run that is captured, if one is.
    captured: Option<RunKey>,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Plan {
    /// Does all runs that are missing, on threads of this process. Finished runs are in the store at once.
    ///
    /// Passes each cell, with the number of its batch, to `on_cell` once it and all cells before it are finished. When no
    /// more will finish, it passes on what there is of the others.
    ///
    /// # Errors
    /// See [`CampaignError`].
    pub fn run_here<S: RunStore>(
        &mut self,
        store: &mut S,
        campaign: Campaign<'_>,
        on_cell: Option<OnCell<'_>>,
    ) -> Result<(), CampaignError<S::Error>> {
        (campaign.progress)(Progress::Planned(self.work()));
        let most = self.waiting().saturating_add(self.at_most_more());
        let threads = campaign
            .threads
            .min(usize::try_from(most).unwrap_or(usize::MAX));
        let runner = Runner {
            origin: store.origin(),
            captured: self.first(),
            shared: Mutex::new(Shared {
                plan: self,
                store,
                capture: campaign.capture,
                under_way: 0,
                closed: false,
                failure: None,
                panic: None,
            }),
            ended: Condvar::new(),
            stop: campaign.stop,
            progress: campaign.progress,
        };
        // This thread calls `on_cell`, which therefore need not be `Send`.
        thread::scope(|scope| {
            let (done, finished) = channel();
            for _ in 0..threads.max(1) {
                let (runner, done) = (&runner, done.clone());
                let spawned =
                    thread::Builder::new().spawn_scoped(scope, move || runner.work(&done));
                if let Err(error) = spawned {
                    runner.lock().fail(CampaignError::Output(error));
                    break;
                }
            }
            drop(done);
            match on_cell {
                Some(on_cell) => runner.deliver(finished, on_cell),
                None => finished.into_iter().for_each(drop),
            }
        });
        let shared = runner.shared.into_inner();
        let shared = shared.unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = shared.panic {
            resume_unwind(panic);
        }
        shared.failure.map_or(Ok(()), Err)
    }
}

impl<'a, S: RunStore> Runner<'a, S> {
    /// Does tasks until none is left, and sends something to `done` after each.
    fn work(&self, done: &Sender<()>) {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            while let Some(task) = self.take() {
                let mut runs = Vec::new();
                let ended = self.compute(&task, &mut runs);
                self.keep(&task, runs, ended);
                if done.send(()).is_err() {
                    // The receiver is gone because `on_cell` panicked.
                    self.lock().closed = true;
                }
            }
        }));
        if let Err(panic) = worked {
            let mut shared = self.lock();
            shared.panic.get_or_insert(panic);
            shared.closed = true;
        }
        self.ended.notify_all();
    }

    /// Takes the next task, and waits for it if the runs under way may want more. `None` if no task is left.
    fn take(&self) -> Option<Task> {
        let mut shared = self.lock();
        loop {
            shared.closed |= self.stop.load(Ordering::Relaxed);
            if shared.closed {
                return None;
            }
            let finished = shared.plan.finished_work();
            let taken = self.plan(&mut shared, |plan, store| plan.take(S::TOGETHER, store));
            // What another process has done meanwhile.
            let elsewhere = shared.plan.finished_work() - finished;
            if elsewhere > 0 {
                (self.progress)(Progress::Done(elsewhere));
            }
            if let Some(task) = taken.flatten() {
                shared.under_way += 1;
                return Some(task);
            }
            if shared.under_way == 0 {
                return None;
            }
            let woken = self.ended.wait(shared);
            shared = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does the runs of a task and puts them into `runs`.
    fn compute(&self, task: &Task, runs: &mut Vec<Recorded<S::Origin>>) -> Result<(), RunError> {
        for (key, number, is_first) in &task.runs {
            let cell = &task.cells[*number];
            let mut shared = self.lock();
            if shared.closed {
                break;
            }
            let is_captured = self.captured == Some(*key);
            let capture = is_captured.then(|| shared.capture.take()).flatten();
            let batch = is_first.then(|| shared.plan.batch(*number).to_owned());
            drop(shared);
            if let Some(batch) = &batch {
                let cell = &cell.name;
                (self.progress)(Progress::Cell { batch, cell });
            }
            let work_done = Mutex::new(WorkDone::of(&cell.scenario));
            let progress = |done: Duration| {
                let work = lock(&work_done).more(done);
                (self.progress)(Progress::Done(work));
            };
            let options = RunOptions {
                capture,
                stop: Some(self.stop),
                progress: Some(&progress),
            };
            runs.push(Recorded {
                scenario: key.scenario,
                run: run_one(&cell.scenario, (key.seed, key.perturbed), options)?,
                origin: self.origin.clone(),
            });
        }
        Ok(())
    }

    /// Keeps the finished runs of a task, and notes how it ended.
    fn keep(&self, task: &Task, runs: Vec<Recorded<S::Origin>>, ended: Result<(), RunError>) {
        let mut shared = self.lock();
        shared.under_way -= 1;
        self.plan(&mut shared, |plan, store| {
            plan.keep(task.number, runs, store)
        });
        if let Err(error) = ended
            && !matches!(error, RunError::Interrupted)
        {
            shared.fail(CampaignError::Run(error));
        }
        drop(shared);
        self.ended.notify_all();
    }

    /// Calls `change` with the plan, and reports what it plans in addition. `None` if it failed.
    fn plan<T>(
        &self,
        shared: &mut Shared<'_, S>,
        change: impl FnOnce(&mut Plan, &mut S) -> Result<T, S::Error>,
    ) -> Option<T> {
        let planned = shared.plan.planned();
        let changed = change(shared.plan, shared.store);
        let more = shared.plan.planned() - planned;
        if more > 0 {
            (self.progress)(Progress::Planned(more));
        }
        changed
            .map_err(|error| shared.fail(CampaignError::Store(error)))
            .ok()
    }

    /// Passes cells to `on_cell` in order, whatever order they finish in.
    fn deliver(&self, finished: impl IntoIterator<Item = ()>, on_cell: OnCell<'_>) {
        let mut next = 0;
        let mut deliver = |is_wanted: &dyn Fn(&Plan, usize) -> bool| {
            loop {
                let mut shared = self.lock();
                if !is_wanted(shared.plan, next) {
                    return;
                }
                let cell = self.plan(&mut shared, |plan, store| plan.deliver(next, store));
                drop(shared);
                let Some(Some((batch, cell))) = cell else {
                    return;
                };
                if let Err(error) = on_cell(batch, cell) {
                    self.lock().fail(CampaignError::Output(error));
                }
                next += 1;
            }
        };
        for () in finished {
            deliver(&Plan::is_cell_complete);
        }
        deliver(&|_, _| true);
    }

    fn lock(&self) -> MutexGuard<'_, Shared<'a, S>> {
        lock(&self.shared)
    }
}

impl<S: RunStore> Shared<'_, S> {
    fn fail(&mut self, error: CampaignError<S::Error>) {
        self.failure.get_or_insert(error);
        self.closed = true;
    }
}

/// The part of a run's work that has been reported as done.
struct WorkDone {
    duration: Duration,
    all: u64,
    time: Duration,
    work: u64,
}

impl WorkDone {
    fn of(scenario: &Scenario) -> Self {
        Self {
            duration: scenario.run.duration,
            all: scenario.work(),
            time: Duration::ZERO,
            work: 0,
        }
    }

    /// Returns the work of a further `done` of simulated time. Over a whole run, the results add up to all of its work.
    fn more(&mut self, done: Duration) -> u64 {
        self.time = (self.time + done).min(self.duration);
        let share = u128::from(self.all) * u128::from(self.time.as_nanos())
            / u128::from(self.duration.as_nanos().max(1));
        let reached = u64::try_from(share).unwrap_or(self.all);
        let more = reached.saturating_sub(self.work);
        self.work = reached;
        more
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
