//! The thread pool: each rayon job does the next run of the board; finished cells are passed on in order.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairwire_units::Duration;
use rayon::{Scope, ThreadPoolBuilder};

use super::board::{Board, Task};
use super::{Batch, Campaign, CampaignError, Outcome, Progress};
use crate::results::{CellResult, Results, RunResult};
use crate::{RunError, RunOptions, Tap, run as run_one};
use fairwire_scenario::{Cell, Scenario};

struct Pool<'a> {
    /// Every cell of every batch, with the index of its batch.
    cells: Vec<(usize, &'a Cell)>,
    batches: &'a [Batch<'a>],
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
    capture: Mutex<Option<Tap>>,
    board: Mutex<Board>,
}

/// Runs `cells` with all their seeds and passes each cell to `on_cell` once it and all cells before it are finished.
///
/// When asked to stop, it keeps the finished runs and marks the results as partial.
///
/// # Errors
/// See [`CampaignError`].
pub fn run_cells(
    cells: &[Cell],
    mut campaign: Campaign<'_>,
    on_cell: &mut dyn FnMut(&CellResult) -> io::Result<()>,
) -> Result<Results, CampaignError> {
    let name = std::mem::take(&mut campaign.name);
    let batch = Batch { name: &name, cells };
    let mut outcome = run_batches(&[batch], campaign, &mut |_, cell| on_cell(cell));
    match (outcome.failure, outcome.results.pop()) {
        (Some(failure), _) => Err(failure),
        (None, results) => Ok(results.unwrap_or_else(|| Results::empty(name))),
    }
}

/// Runs the cells of all batches in one pool.
///
/// Passes each cell, with the index of its batch, to `on_cell` once it and all cells before it are finished. If the
/// campaign is stopped or something fails, the finished runs are kept.
pub fn run_batches(
    batches: &[Batch<'_>],
    mut campaign: Campaign<'_>,
    on_cell: &mut dyn FnMut(usize, &CellResult) -> io::Result<()>,
) -> Outcome {
    let capture = Mutex::new(campaign.capture.take());
    let cells: Vec<(usize, &Cell)> = batches
        .iter()
        .enumerate()
        .flat_map(|(number, batch)| batch.cells.iter().map(move |cell| (number, cell)))
        .collect();
    let board = Board::new(cells.iter().map(|(_, cell)| *cell));
    let planned = board
        .waiting_cells()
        .map(|cell| cells[cell].1.scenario.work());
    (campaign.progress)(Progress::Planned(planned.fold(0, u64::saturating_add)));
    let jobs = board.waiting();
    let pool = Pool {
        cells,
        batches,
        stop: campaign.stop,
        progress: campaign.progress,
        capture,
        board: Mutex::new(board),
    };
    let threads = ThreadPoolBuilder::new().num_threads(campaign.threads.clamp(1, jobs.max(1)));
    let threads = match threads.build() {
        Ok(threads) => threads,
        Err(error) => {
            let nothing = pool.deliver([], on_cell);
            let failure = Some(CampaignError::Output(io::Error::other(error)));
            return Outcome { failure, ..nothing };
        }
    };
    let (done, finished) = channel();
    // This thread calls `on_cell`, which therefore need not be `Sync`. A panic of a run resurfaces at the end of the
    // scope.
    threads.in_place_scope(|scope| {
        pool.spawn(scope, jobs, &done);
        drop(done);
        pool.deliver(finished, on_cell)
    })
}

impl Pool<'_> {
    /// Spawns `jobs` jobs.
    ///
    /// Each takes the next task of the board when a thread is free, and sends to `done` the index of a cell that it
    /// finishes.
    fn spawn<'s>(&'s self, scope: &Scope<'s>, jobs: usize, done: &Sender<usize>) {
        for _ in 0..jobs {
            let done = done.clone();
            scope.spawn(move |scope| self.work(scope, &done));
        }
    }

    fn work<'s>(&'s self, scope: &Scope<'s>, done: &Sender<usize>) {
        let taken = {
            let mut board = lock(&self.board);
            board.closed |= self.stop.load(Ordering::Relaxed);
            board.take()
        };
        let Some((task, is_first)) = taken else {
            return;
        };
        let closes = ClosesOnPanic(&self.board);
        if is_first {
            self.report_cell(task);
        }
        let outcome = self.run(task);
        drop(closes);
        let more = self.keep(task, outcome);
        self.spawn(scope, more, done);
        if lock(&self.board).is_done(task.cell) {
            // Sending fails only if the receiver is gone because `on_cell` panicked.
            let _ = done.send(task.cell);
        }
    }

    fn report_cell(&self, task: Task) {
        let (batch, cell) = self.cells[task.cell];
        (self.progress)(Progress::Cell {
            batch: self.batches[batch].name,
            cell: &cell.name,
        });
    }

    fn run(&self, task: Task) -> Result<RunResult, RunError> {
        let scenario = &self.cells[task.cell].1.scenario;
        let work_done = Mutex::new(WorkDone::of(scenario));
        let progress = |done: Duration| {
            let work = lock(&work_done).more(done);
            (self.progress)(Progress::Done(work));
        };
        // Only the first run of the campaign is captured.
        let capture = task.is_first_run().then(|| lock(&self.capture).take());
        let options = RunOptions {
            capture: capture.flatten(),
            stop: Some(self.stop),
            progress: Some(&progress),
        };
        run_one(scenario, (task.job.seed, task.job.perturbed), options)
    }

    /// Stores the outcome of `task`; returns the number of runs that this plans in addition.
    fn keep(&self, task: Task, outcome: Result<RunResult, RunError>) -> usize {
        let mut board = lock(&self.board);
        let run = match outcome {
            Ok(run) => Some(run),
            Err(RunError::Interrupted) => None,
            Err(error) => {
                board.failure.get_or_insert(error);
                board.closed = true;
                None
            }
        };
        let more = board.keep(task, run);
        drop(board);
        if more > 0 {
            let each = self.cells[task.cell].1.scenario.work();
            (self.progress)(Progress::Planned(each.saturating_mul(more as u64)));
        }
        more
    }

    /// Passes cells to `on_cell` in order, whatever order they finish in.
    ///
    /// When no more will finish, it passes on what there is of the others.
    fn deliver(
        &self,
        finished: impl IntoIterator<Item = usize>,
        on_cell: &mut dyn FnMut(usize, &CellResult) -> io::Result<()>,
    ) -> Outcome {
        let batches = self.batches.iter();
        let mut results: Vec<Results> = batches
            .map(|batch| Results::empty(batch.name.to_owned()))
            .collect();
        let mut failure = None;
        let mut deliver = |cell: CellResult, batch: usize| {
            let results = &mut results[batch];
            results.partial |= cell.partial;
            if cell.runs.is_empty() && cell.unperturbed.is_none() {
                return;
            }
            if failure.is_none()
                && let Err(error) = on_cell(batch, &cell)
            {
                failure = Some(CampaignError::Output(error));
                lock(&self.board).closed = true;
            }
            results.cells.push(cell);
        };
        let mut cells = self.cells.iter().enumerate().peekable();
        for _ in finished {
            let is_done = |(number, _): &(usize, _)| lock(&self.board).is_done(*number);
            while let Some((number, (batch, _))) = cells.next_if(is_done) {
                let cell = lock(&self.board).finish(number);
                deliver(cell, *batch);
            }
        }
        for (number, (batch, _)) in cells {
            let cell = lock(&self.board).finish(number);
            deliver(cell, *batch);
        }
        let failed = lock(&self.board).failure.take().map(CampaignError::Run);
        Outcome {
            results,
            failure: failed.or(failure),
        }
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

/// Stops further jobs from beginning once one has panicked.
struct ClosesOnPanic<'a>(&'a Mutex<Board>);

impl Drop for ClosesOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(self.0).closed = true;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
