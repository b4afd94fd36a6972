//! What is to do, what is being done and what has come of it: the state that all threads of a
//! campaign share.

use std::collections::VecDeque;

use super::repeat::seeds_needed;
use crate::results::{CellResult, RunResult};
use crate::scenario::Cell;
use crate::sim::RunError;

/// One run to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) seed: u64,
    pub(super) perturbed: bool,
}

/// A job, with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) cell: usize,
    slot: usize,
    pub(super) job: Job,
}

/// A cell on its way.
struct Open {
    result: CellResult,
    /// Places for the runs of this stage, in the order of their jobs.
    slots: Vec<Option<RunResult>>,
    /// How many of them are still to come.
    missing: usize,
    stage: Stage,
    begun: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// As many seeds as are certain.
    First,
    /// As many more as their spread asks for.
    More,
    Done,
}

/// The shared state.
pub(super) struct Board {
    tasks: VecDeque<Task>,
    cells: Vec<Open>,
    /// Nothing more is begun.
    pub(super) closed: bool,
    /// Why, if a run failed.
    pub(super) failure: Option<RunError>,
}

impl Task {
    /// Is it the first run of the first cell?
    pub(super) fn is_first_of_all(self) -> bool {
        self.cell == 0 && self.slot == 0 && self.job.perturbed
    }
}

impl Job {
    /// The runs of `cell` that are certain: its seeds, and the run in which nothing is random.
    fn first(cell: &Cell) -> Vec<Self> {
        let scenario = &cell.scenario;
        let seed = scenario.run.seed;
        // Without anything random every seed gives the same.
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
            board.cells.push(Open {
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

    /// How many jobs wait.
    pub(super) fn waiting(&self) -> usize {
        self.tasks.len()
    }

    /// The cells of the jobs that wait.
    pub(super) fn waiting_cells(&self) -> impl Iterator<Item = usize> {
        self.tasks.iter().map(|task| task.cell)
    }

    /// Makes room for what `jobs` of a cell will give.
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

    /// The next thing to do, and whether it is the first of its cell.
    pub(super) fn take(&mut self) -> Option<(Task, bool)> {
        if self.closed {
            self.tasks.clear();
        }
        let task = self.tasks.pop_front()?;
        let begun = std::mem::replace(&mut self.cells[task.cell].begun, true);
        Some((task, !begun))
    }

    /// Keeps what came of `task`; `None` if it was interrupted. Gives the number of runs that are
    /// planned because of it: they come next, so that the cell is soon finished.
    pub(super) fn keep(&mut self, task: Task, run: Option<RunResult>) -> usize {
        let open = &mut self.cells[task.cell];
        let Some(run) = run else {
            // Its place stays empty, and the cell is never done.
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

    /// Is everything of this cell there?
    pub(super) fn is_done(&self, cell: usize) -> bool {
        self.cells[cell].stage == Stage::Done
    }

    /// What came of a cell, as far as it goes. Its runs leave the board.
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

impl Open {
    /// Puts the runs where they belong, by seed.
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
