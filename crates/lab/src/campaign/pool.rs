//! The pool: threads that take the next job, and one that hands over what is finished, in order.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use fairwire_units::Duration;

use super::board::{Board, Task};
use super::{Batch, Campaign, CampaignError, Outcome, Progress};
use crate::results::{CellResult, Results, RunResult};
use crate::scenario::{Cell, Scenario};
use crate::sim::{RunError, RunOptions, Tap, run as run_one};

struct Pool<'a> {
    /// Every cell of every batch, with the number of its batch.
    cells: Vec<(usize, &'a Cell)>,
    batches: &'a [Batch<'a>],
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
    capture: Mutex<Option<Tap>>,
    board: Mutex<Board>,
    changed: Condvar,
}

/// See [`run_batches`](super::run_batches).
pub(super) fn run(
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
    let threads = campaign.threads.clamp(1, board.waiting().max(1));
    let pool = Pool {
        cells,
        batches,
        stop: campaign.stop,
        progress: campaign.progress,
        capture,
        board: Mutex::new(board),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| pool.work());
        }
        pool.hand_over(on_cell)
    })
}

impl Pool<'_> {
    /// What each thread does: job after job, until nothing more can come.
    fn work(&self) {
        let mut board = lock(&self.board);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                board.closed = true;
            }
            let Some((task, is_first)) = board.take() else {
                if board.is_over() {
                    self.changed.notify_all();
                    return;
                }
                // What still runs may ask for more seeds.
                board = self
                    .changed
                    .wait(board)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(board);
            let guard = Running(self);
            if is_first {
                self.tell_cell(task);
            }
            let outcome = self.run(task);
            std::mem::forget(guard);
            board = lock(&self.board);
            board.running -= 1;
            self.keep(&mut board, task, outcome);
            self.changed.notify_all();
        }
    }

    fn tell_cell(&self, task: Task) {
        let (batch, cell) = self.cells[task.cell];
        (self.progress)(Progress::Cell {
            batch: self.batches[batch].name,
            cell: &cell.name,
        });
    }

    fn run(&self, task: Task) -> Result<RunResult, RunError> {
        let scenario = &self.cells[task.cell].1.scenario;
        let told = Mutex::new(Told::of(scenario));
        let progress = |done: Duration| {
            let work = lock(&told).more(done);
            (self.progress)(Progress::Done(work));
        };
        // The first job of all gets the capture.
        let capture = task.is_first_of_all().then(|| lock(&self.capture).take());
        let options = RunOptions {
            capture: capture.flatten(),
            stop: Some(self.stop),
            progress: Some(&progress),
        };
        run_one(scenario, (task.job.seed, task.job.perturbed), options)
    }

    fn keep(&self, board: &mut Board, task: Task, outcome: Result<RunResult, RunError>) {
        let run = match outcome {
            Ok(run) => Some(run),
            Err(RunError::Interrupted) => None,
            Err(error) => {
                board.failure.get_or_insert(error);
                board.closed = true;
                None
            }
        };
        let more = board.keep(task, run) as u64;
        if more > 0 {
            let each = self.cells[task.cell].1.scenario.work();
            (self.progress)(Progress::Planned(each.saturating_mul(more)));
        }
    }

    /// Gives finished cells to `on_cell` in order, whatever order they are finished in.
    fn hand_over(&self, on_cell: &mut dyn FnMut(usize, &CellResult) -> io::Result<()>) -> Outcome {
        let mut results: Vec<Results> = self
            .batches
            .iter()
            .map(|batch| Results::empty(batch.name.to_owned()))
            .collect();
        let mut failure = None;
        for (number, (batch, _)) in self.cells.iter().enumerate() {
            let finished = self.wait_for(number);
            let results = &mut results[*batch];
            results.partial |= finished.partial;
            if finished.runs.is_empty() && finished.unperturbed.is_none() {
                continue;
            }
            if failure.is_none()
                && let Err(error) = on_cell(*batch, &finished)
            {
                failure = Some(CampaignError::Output(error));
                lock(&self.board).closed = true;
            }
            results.cells.push(finished);
        }
        let failed = lock(&self.board).failure.take().map(CampaignError::Run);
        Outcome {
            results,
            failure: failed.or(failure),
        }
    }

    /// The cell once it is done, or as it is when nothing more will come.
    fn wait_for(&self, cell: usize) -> CellResult {
        let mut board = lock(&self.board);
        while !board.is_done(cell) && !board.is_over() {
            board = self
                .changed
                .wait(board)
                .unwrap_or_else(PoisonError::into_inner);
        }
        board.finish(cell)
    }
}

/// How much of a run has been told.
struct Told {
    duration: Duration,
    all: u64,
    time: Duration,
    work: u64,
}

impl Told {
    fn of(scenario: &Scenario) -> Self {
        Self {
            duration: scenario.run.duration,
            all: scenario.work(),
            time: Duration::ZERO,
            work: 0,
        }
    }

    /// The work in `done` more of simulated time; the pieces of a whole run make up all of it.
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

/// A job that is being done: where it panics, nobody waits for it, and the panic is met where
/// the threads are joined.
struct Running<'a>(&'a Pool<'a>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut board = lock(&self.0.board);
        board.running -= 1;
        board.closed = true;
        self.0.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
