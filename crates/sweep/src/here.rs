//! A sweep on the processors of this machine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use fairwire_sim::RunError;

use crate::error::StoreError;
use crate::plan::{Plan, Task};
use crate::record::Recorded;
use crate::store::Store;
use crate::task::TaskError;

/// The work of a task: some 50 ms. Shorter ones would cost more to hand over than to do.
const WORK: u64 = 50_000;

/// Why a sweep ended early. The runs that were finished are in the store.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A run failed.
    #[error(transparent)]
    Task(TaskError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a thread did: the number of the task, its work and its runs.
type Done = (u64, u64, thread::Result<Result<Vec<Recorded>, TaskError>>);

impl Plan {
    /// Does all runs that are missing, `threads` at a time. Calls `progress` with the work of each finished task. Ends
    /// early when `stop` becomes true.
    ///
    /// # Errors
    /// See [`SweepError`].
    pub fn run_here(
        &mut self,
        store: &mut Store,
        threads: usize,
        stop: &AtomicBool,
        progress: &dyn Fn(&Self, u64),
    ) -> Result<(), SweepError> {
        let origin = store.origin().clone();
        let (give, tasks) = channel::<Task>();
        let tasks = Mutex::new(tasks);
        let outcome = thread::scope(|scope| {
            let (done, finished) = channel::<Done>();
            for _ in 0..threads.max(1) {
                let (done, tasks, origin) = (done.clone(), &tasks, &origin);
                scope.spawn(move || {
                    while let Some(task) = next(tasks) {
                        let runs = catch_unwind(AssertUnwindSafe(|| task.compute(origin, stop)));
                        if done.send((task.number, task.work, runs)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(done);
            let outcome = self.direct(store, (&give, &finished), threads, stop, progress);
            if outcome.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            // The threads end. After an error, what they finished until now is kept if it can be.
            drop(give);
            for (task, _, runs) in finished {
                if let Ok(Ok(runs)) = runs {
                    let _ = self.keep(task, &runs, store);
                }
                self.give_back(task);
            }
            outcome
        });
        store.close()?;
        outcome
    }

    /// Gives tasks to the threads, and puts what they did into the store.
    fn direct(
        &mut self,
        store: &mut Store,
        (give, finished): (&Sender<Task>, &Receiver<Done>),
        threads: usize,
        stop: &AtomicBool,
        progress: &dyn Fn(&Self, u64),
    ) -> Result<(), SweepError> {
        let mut under_way = 0;
        loop {
            // One more than there are threads, so that none waits for this one.
            while under_way <= threads && !stop.load(Ordering::Relaxed) {
                let Some(task) = self.take(WORK, store)? else {
                    break;
                };
                under_way += 1;
                if give.send(task).is_err() {
                    break;
                }
            }
            if under_way == 0 {
                return Ok(());
            }
            let Ok((task, work, runs)) = finished.recv() else {
                return Ok(());
            };
            under_way -= 1;
            match runs.unwrap_or_else(|panic| resume_unwind(panic)) {
                Ok(runs) => {
                    self.keep(task, &runs, store)?;
                    progress(self, work);
                }
                Err(TaskError::Run(RunError::Interrupted)) => self.give_back(task),
                Err(error) => {
                    self.give_back(task);
                    return Err(SweepError::Task(error));
                }
            }
        }
    }
}

fn next(tasks: &Mutex<Receiver<Task>>) -> Option<Task> {
    let tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
    tasks.recv().ok()
}
