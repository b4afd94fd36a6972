//! The state that all threads of a campaign share: runs to do, runs in progress and results.

use std::collections::VecDeque;

use super::repeat::seeds_needed;
use crate::RunError;
use crate::results::{CellResult, RunResult};
use fairwire_scenario::Cell;

/// One run to do: its seed, and whether its start times are perturbed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) seed: u64,
    pub(super) perturbed: bool,
}

/// A job with its cell and its place among the runs of that cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) cell: usize,
    slot: usize,
    pub(super) job: Job,
}

/// A cell whose runs are not finished.
struct CellState {
    result: CellResult,
    /// Places for the runs of this stage, in the order of their jobs.
    slots: Vec<Option<RunResult>>,
    /// The number of slots that are still empty.
    missing: usize,
    stage: Stage,
    begun: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The scenario's minimum number of seeds.
    First,
    /// The further seeds that the spread of the first ones requires.
    More,
    Done,
}

/// The shared state.
pub(super) struct Board {
    tasks: VecDeque<Task>,
    cells: Vec<CellState>,
    /// No further run begins.
    pub(super) closed: bool,
    /// The error of the first run that failed.
    pub(super) failure: Option<RunError>,
}

impl Task {
    /// Returns whether this is the first run of the first cell.
    pub(super) fn is_first_run(self) -> bool {
        self.cell == 0 && self.slot == 0 && self.job.perturbed
    }
}

impl Job {
    /// Returns the runs that `cell` needs in any case: its minimum of seeds and the unperturbed run, if it has one.
    fn first(cell: &Cell) -> Vec<Self> {
        let scenario = &cell.scenario;
        let seed = scenario.run.seed;
        // Without random input, all seeds give the same run.
        let seeds = if scenario.is_random() {
            scenario.run.seeds
        } else {
            1
        };
        let unperturbed = cell.has_unperturbed_run().then_some(Self {
            seed,
            perturbed: false,
        });
        let seeds = (0..u64::from(seeds)).map(|number| Self::seed(seed + number));
        seeds.chain(unperturbed).collect()
    }

    fn seed(seed: u64) -> Self {
        Self {
            seed,
            perturbed: true,
        }
    }
}

impl Board {
    pub(super) fn new<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut board = Self {
            tasks: VecDeque::new(),
            cells: Vec::new(),
            closed: false,
            failure: None,
        };
        for (number, cell) in cells.enumerate() {
            let jobs = Job::first(cell);
            board.cells.push(CellState {
                result: CellResult {
                    name: cell.name.clone(),
                    axes: cell.axes.clone(),
                    scenario: cell.scenario.clone(),
                    provenance: cell.provenance.clone(),
                    runs: Vec::new(),
                    unperturbed: None,
                    partial: true,
                },
                slots: Vec::new(),
                missing: 0,
                stage: Stage::First,
                begun: false,
            });
            let tasks = board.open(number, &jobs);
            board.tasks.extend(tasks);
        }
        board
    }

    /// Returns the number of jobs that have not begun.
    pub(super) fn waiting(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the cell of each job that has not begun.
    pub(super) fn waiting_cells(&self) -> impl Iterator<Item = usize> {
        self.tasks.iter().map(|task| task.cell)
    }

    /// Makes slots for the results of `jobs` and returns their tasks.
    fn open(&mut self, cell: usize, jobs: &[Job]) -> Vec<Task> {
        let open = &mut self.cells[cell];
        open.slots = jobs.iter().map(|_| None).collect();
        open.missing = jobs.len();
        let task = |(slot, job): (usize, &Job)| Task {
            cell,
            slot,
            job: *job,
        };
        jobs.iter().enumerate().map(task).collect()
    }

    /// Removes the next task and returns it, with whether it is the first of its cell.
    ///
    /// `None` if no task is left or the board is closed.
    pub(super) fn take(&mut self) -> Option<(Task, bool)> {
        if self.closed {
            self.tasks.clear();
        }
        let task = self.tasks.pop_front()?;
        let begun = std::mem::replace(&mut self.cells[task.cell].begun, true);
        Some((task, !begun))
    }

    /// Stores the result of `task`, or nothing if it was interrupted.
    ///
    /// Returns the number of runs that this plans in addition. They go to the front of the queue, so that the cell
    /// finishes soon.
    pub(super) fn keep(&mut self, task: Task, run: Option<RunResult>) -> usize {
        let open = &mut self.cells[task.cell];
        let Some(run) = run else {
            // The slot stays empty, so the cell is never done.
            return 0;
        };
        open.slots[task.slot] = Some(run);
        open.missing -= 1;
        if open.missing > 0 {
            return 0;
        }
        open.collect();
        let result = &open.result;
        let has = result.runs.len() as u64;
        let wanted = match open.stage {
            Stage::First if result.scenario.is_random() => seeds_needed(result),
            _ => has,
        };
        if wanted <= has {
            open.stage = Stage::Done;
            open.result.partial = false;
            return 0;
        }
        open.stage = Stage::More;
        let first = result.scenario.run.seed;
        let more: Vec<Job> = (has..wanted)
            .map(|number| Job::seed(first + number))
            .collect();
        for task in self.open(task.cell, &more).into_iter().rev() {
            self.tasks.push_front(task);
        }
        more.len()
    }

    /// Returns whether all runs of this cell are finished.
    pub(super) fn is_done(&self, cell: usize) -> bool {
        self.cells[cell].stage == Stage::Done
    }

    /// Returns the results of a cell as far as they go, and removes its runs from the board.
    pub(super) fn finish(&mut self, cell: usize) -> CellResult {
        let open = &mut self.cells[cell];
        open.collect();
        CellResult {
            name: open.result.name.clone(),
            axes: open.result.axes.clone(),
            scenario: open.result.scenario.clone(),
            provenance: std::mem::take(&mut open.result.provenance),
            runs: std::mem::take(&mut open.result.runs),
            unperturbed: open.result.unperturbed.take(),
            partial: open.result.partial,
        }
    }
}

impl CellState {
    /// Moves finished runs from the slots to the result, in order of their seeds.
    fn collect(&mut self) {
        for run in self.slots.drain(..).flatten() {
            if run.perturbed {
                self.result.runs.push(run);
            } else {
                self.result.unperturbed = Some(run);
            }
        }
    }
}
