//! The plan of a campaign: which runs are wanted, which of them are missing, and which are under way.
//!
//! Whoever computes runs, here or on other machines, takes tasks from the plan and gives back what came of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fairwire_scenario::{Cell, Scenario};

use super::key::{RunKey, ScenarioKey};
use super::seeds::{Job, Seeds};
use super::store::{Listing, Recorded, RunStore};
use super::{Batch, PlanError};
use crate::results::{CellResult, RunResult};

/// Runs that are done together, by one process.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its number in the plan, which says what its results belong to.
    pub number: u64,
    /// An upper bound of the number of packets that cross links in it.
    pub work: u64,
    /// The keys of its runs, each with the number of its cell, and whether it is the first of that cell.
    pub(super) runs: Vec<(RunKey, usize, bool)>,
    pub(super) cells: Arc<[Cell]>,
}

impl Task {
    /// Returns its runs with their scenarios.
    pub fn runs(&self) -> impl Iterator<Item = (RunKey, &Scenario)> {
        let runs = self.runs.iter();
        runs.map(|(run, cell, _)| (*run, &self.cells[*cell].scenario))
    }
}

/// A cell of the plan. Several cells may have the same scenario, and share runs.
#[derive(Debug)]
struct Entry {
    key: ScenarioKey,
    /// The number of its batch.
    batch: usize,
    /// All runs that are wanted so far.
    wanted: BTreeSet<Job>,
    /// How many of them are not in the store yet.
    missing: usize,
    work: u64,
    /// Whether a task had a run of it.
    begun: bool,
}

/// Some cells with the runs that each wants.
#[derive(Debug)]
pub struct Plan {
    batches: Vec<String>,
    seeds: Seeds,
    cells: Arc<[Cell]>,
    /// One for each cell.
    entries: Vec<Entry>,
    /// The cells of each scenario.
    sharing: BTreeMap<ScenarioKey, Vec<usize>>,
    /// All runs that any cell wants.
    known: BTreeSet<RunKey>,
    waiting: VecDeque<RunKey>,
    /// Whether the last runs come first.
    is_reversed: bool,
    under_way: BTreeMap<u64, Vec<RunKey>>,
    next: u64,
    /// The work of all runs that the store did not have before.
    planned: u64,
    /// The work of the runs that wait or are under way.
    work: u64,
    /// The runs that the store had before.
    found: u64,
    done: u64,
}

impl Plan {
    /// Plans the runs of some cells, and lists each batch in the store. Runs that the store has are not wanted again.
    /// `versions` are those of what scenarios name and other code defines ([`ScenarioKey::of`]).
    ///
    /// # Errors
    /// If the seeds cannot be, or the store cannot be read or written.
    pub fn new<S: RunStore>(
        batches: &[Batch<'_>],
        seeds: Seeds,
        versions: &BTreeMap<String, String>,
        store: &mut S,
    ) -> Result<Self, S::Error> {
        let cells = batches.iter().flat_map(|batch| batch.cells.iter().cloned());
        let mut plan = Self {
            batches: batches.iter().map(|it| it.name.to_owned()).collect(),
            seeds,
            cells: cells.collect(),
            entries: Vec::new(),
            sharing: BTreeMap::new(),
            known: BTreeSet::new(),
            waiting: VecDeque::new(),
            is_reversed: false,
            under_way: BTreeMap::new(),
            next: 0,
            planned: 0,
            work: 0,
            found: 0,
            done: 0,
        };
        plan.seeds.check(&plan.cells)?;
        let all = batches.iter().enumerate();
        for (batch, cell) in all.flat_map(|(batch, it)| it.cells.iter().map(move |it| (batch, it)))
        {
            let key = ScenarioKey::of(&cell.scenario, versions);
            let number = plan.entries.len();
            plan.sharing.entry(key).or_default().push(number);
            plan.entries.push(Entry {
                key,
                batch,
                wanted: BTreeSet::new(),
                missing: 0,
                work: cell.scenario.work(),
                begun: false,
            });
        }
        // First, so that no pruning removes what is found.
        for listing in plan.listings() {
            store.list(&listing)?;
        }
        for number in 0..plan.entries.len() {
            let jobs = plan.seeds.first(&plan.cells[number]);
            let new = plan.want(number, jobs, store)?;
            plan.waiting.extend(new);
        }
        for number in 0..plan.entries.len() {
            plan.extend(number, store)?;
        }
        plan.turn(store)?;
        Ok(plan)
    }

    /// Begins at the other end if the store says so: another process does perhaps the same, and both meet in the middle.
    fn turn<S: RunStore>(&mut self, store: &mut S) -> Result<(), S::Error> {
        if store.begins_at_the_end()? != self.is_reversed {
            self.waiting.make_contiguous().reverse();
            self.is_reversed = !self.is_reversed;
        }
        Ok(())
    }

    /// Returns the name of the first batch.
    pub fn name(&self) -> &str {
        self.batches.first().map_or("", String::as_str)
    }

    /// Returns the cells.
    pub fn cells(&self) -> &Arc<[Cell]> {
        &self.cells
    }

    /// Returns the name of the batch of a cell.
    pub(super) fn batch(&self, cell: usize) -> &str {
        &self.batches[self.entries[cell].batch]
    }

    /// Returns the first seed of the first cell.
    pub(super) fn first(&self) -> Option<RunKey> {
        let (cell, entry) = (self.cells.first()?, self.entries.first()?);
        let jobs = self.seeds.first(cell);
        jobs.first().map(|job| RunKey::new(entry.key, *job))
    }

    /// Returns what is wanted, batch by batch.
    pub fn listings(&self) -> impl Iterator<Item = Listing<'_>> {
        self.batches.iter().enumerate().map(|(number, name)| {
            let cells = self.cells.iter().zip(&self.entries);
            let cells = cells.filter(|(_, entry)| entry.batch == number);
            let cells: Vec<_> = cells.map(|(cell, entry)| (cell, entry.key)).collect();
            Listing {
                name,
                seeds: self.seeds.of(cells.iter().map(|(cell, _)| *cell)),
                cells,
            }
        })
    }

    /// Returns how many runs the store had before.
    pub fn found(&self) -> u64 {
        self.found
    }

    /// Returns how many runs were done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns how many runs wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Returns how many more runs there may be than those that wait and are under way.
    pub(super) fn at_most_more(&self) -> u64 {
        let cells = self.cells.iter().zip(&self.entries);
        let more =
            cells.map(|(cell, entry)| self.seeds.at_most_more(&cell.scenario, entry.seeds()));
        more.fold(0, u64::saturating_add)
    }

    /// Returns the work of the runs that wait or are under way.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Returns the work of all runs that the store did not have before.
    pub(super) fn planned(&self) -> u64 {
        self.planned
    }

    /// Returns the work of those of them that are in the store now.
    pub(super) fn finished_work(&self) -> u64 {
        self.planned.saturating_sub(self.work)
    }

    /// Returns whether every run that is wanted is in the store.
    pub fn is_complete(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }

    /// Takes the next runs: of `work` in all, or the next one if it has more work than that.
    ///
    /// Runs that the store has are left out, also those that another process has added meanwhile.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn take<S: RunStore>(
        &mut self,
        work: u64,
        store: &mut S,
    ) -> Result<Option<Task>, S::Error> {
        self.turn(store)?;
        let mut task = Task {
            number: self.next,
            work: 0,
            runs: Vec::new(),
            cells: Arc::clone(&self.cells),
        };
        while let Some(run) = self.waiting.pop_front() {
            if store.has(&run)? {
                self.found += 1;
                self.arrived(run, store)?;
                continue;
            }
            let Some(number) = self.shared(run.scenario) else {
                continue;
            };
            let entry = &mut self.entries[number];
            let is_full =
                task.work.saturating_add(entry.work) > work || task.runs.len() == MOST_RUNS;
            if is_full && !task.runs.is_empty() {
                self.waiting.push_front(run);
                break;
            }
            let begun = std::mem::replace(&mut entry.begun, true);
            task.runs.push((run, number, !begun));
            task.work = task.work.saturating_add(entry.work);
        }
        if task.runs.is_empty() {
            return Ok(None);
        }
        self.next += 1;
        let runs = task.runs.iter().map(|(run, ..)| *run);
        self.under_way.insert(task.number, runs.collect());
        Ok(Some(task))
    }

    /// Puts the results of a task into the store. Runs that are not among them wait again.
    ///
    /// # Errors
    /// If they cannot be written. Those runs then count as missing.
    pub fn keep<S: RunStore>(
        &mut self,
        task: u64,
        mut runs: Vec<Recorded<S::Origin>>,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let Some(wanted) = self.under_way.get(&task) else {
            // Another worker has done it, after this one was given up.
            return Ok(());
        };
        runs.retain(|run| wanted.contains(&run.key()));
        let came: BTreeSet<RunKey> = runs.iter().map(Recorded::key).collect();
        let added = store.append(runs, &|key| self.scenario(key));
        if added.is_ok()
            && let Some(wanted) = self.under_way.get_mut(&task)
        {
            wanted.retain(|run| !came.contains(run));
        }
        self.give_back(task);
        added?;
        self.done += came.len() as u64;
        for run in came {
            self.arrived(run, store)?;
        }
        Ok(())
    }

    /// Puts the runs of a task that nobody will do back to the front.
    pub fn give_back(&mut self, task: u64) {
        for run in self.under_way.remove(&task).into_iter().flatten().rev() {
            self.waiting.push_front(run);
        }
    }

    /// Returns one of the cells with a scenario.
    fn shared(&self, key: ScenarioKey) -> Option<usize> {
        self.sharing.get(&key)?.first().copied()
    }

    /// Returns the scenario of a key.
    fn scenario(&self, key: ScenarioKey) -> Option<&Scenario> {
        Some(&self.cells.get(self.shared(key)?)?.scenario)
    }

    /// Notes that a cell wants these runs, and returns those that have to be done.
    fn want<S: RunStore>(
        &mut self,
        number: usize,
        jobs: Vec<Job>,
        store: &mut S,
    ) -> Result<Vec<RunKey>, S::Error> {
        let entry = &mut self.entries[number];
        let mut new = Vec::new();
        for job in jobs {
            if !entry.wanted.insert(job) {
                continue;
            }
            let run = RunKey::new(entry.key, job);
            let is_there = store.has(&run)?;
            entry.missing += usize::from(!is_there);
            if !self.known.insert(run) {
                continue;
            }
            if is_there {
                self.found += 1;
            } else {
                self.work = self.work.saturating_add(entry.work);
                self.planned = self.planned.saturating_add(entry.work);
                new.push(run);
            }
        }
        Ok(new)
    }

    fn arrived<S: RunStore>(&mut self, run: RunKey, store: &mut S) -> Result<(), S::Error> {
        let sharing = self.sharing.get(&run.scenario).cloned().unwrap_or_default();
        if let Some(number) = sharing.first() {
            self.work = self.work.saturating_sub(self.entries[*number].work);
        }
        for number in sharing {
            let entry = &mut self.entries[number];
            if entry.wanted.contains(&run.job()) {
                entry.missing = entry.missing.saturating_sub(1);
                self.extend(number, store)?;
            }
        }
        Ok(())
    }

    /// Wants more seeds of a cell whose runs are all there, if its intervals need them.
    fn extend<S: RunStore>(&mut self, number: usize, store: &mut S) -> Result<(), S::Error> {
        loop {
            let entry = &self.entries[number];
            let (cell, seeds) = (&self.cells[number], entry.seeds());
            if entry.missing > 0 || self.seeds.at_most_more(&cell.scenario, seeds) == 0 {
                return Ok(());
            }
            let more = self.seeds.more(&entry.result(cell, store)?, seeds)?;
            if more.is_empty() {
                return Ok(());
            }
            let jobs = more.into_iter().map(|seed| (true, seed)).collect();
            // To the front, so that the cell is soon complete.
            for run in self.want(number, jobs, store)?.into_iter().rev() {
                self.waiting.push_front(run);
            }
        }
    }

    /// Returns a note on a cell that has the greatest number of seeds, and still a wider interval than wanted.
    pub fn note(&self, cell: &CellResult) -> Option<String> {
        self.seeds.note(cell)
    }

    /// Returns how many of the wanted runs are there, those that several cells share once for each.
    pub fn there(&self) -> u64 {
        let there = |entry: &Entry| (entry.wanted.len() - entry.missing) as u64;
        self.entries.iter().map(there).sum()
    }

    /// Returns the results of one cell as far as they are in the store; `None` if there is no cell of this number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn cell<S: RunStore>(
        &self,
        number: usize,
        store: &mut S,
    ) -> Result<Option<CellResult>, S::Error> {
        let cell = self.cells.get(number).zip(self.entries.get(number));
        cell.map(|(cell, entry)| entry.result(cell, store))
            .transpose()
    }

    /// Calls `see` with the results of each cell as far as they are in the store, and returns what it returns, in the
    /// order of the cells.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn map_cells<S: RunStore, T>(
        &self,
        store: &mut S,
        mut see: impl FnMut(&CellResult) -> T,
    ) -> Result<Vec<T>, S::Error> {
        let cells = self.cells.iter().zip(&self.entries);
        cells
            .map(|(cell, entry)| Ok(see(&entry.result(cell, store)?)))
            .collect()
    }

    /// Returns whether there is a cell of this number, and all runs that it wants are there.
    pub(super) fn is_cell_complete(&self, number: usize) -> bool {
        let entry = self.entries.get(number);
        entry.is_some_and(|entry| entry.missing == 0)
    }

    /// As [`cell`](Self::cell), with the number of its batch, for cells that are asked for once and in order: the store
    /// need not keep what no later cell has.
    pub(super) fn deliver<S: RunStore>(
        &self,
        number: usize,
        store: &mut S,
    ) -> Result<Option<(usize, CellResult)>, S::Error> {
        let Some(cell) = self.cell(number, store)? else {
            return Ok(None);
        };
        let entry = &self.entries[number];
        if self.sharing[&entry.key].last() == Some(&number) {
            store.release(entry.key);
        }
        Ok(Some((entry.batch, cell)))
    }
}

impl Entry {
    /// Returns how many seeds are wanted so far.
    fn seeds(&self) -> u64 {
        self.wanted
            .iter()
            .filter(|(perturbed, _)| *perturbed)
            .count() as u64
    }

    /// Returns the results of the cell as far as they are in the store.
    fn result<S: RunStore>(&self, cell: &Cell, store: &mut S) -> Result<CellResult, S::Error> {
        let mut runs = store.load(self.key)?;
        runs.retain(|run| self.wanted.contains(&(run.perturbed, run.seed)));
        let there = runs.len();
        let (runs, mut others): (Vec<RunResult>, Vec<RunResult>) =
            runs.into_iter().partition(|run| run.perturbed);
        let known = self.wanted.len() - self.missing;
        if there < known {
            let gone = PlanError::Gone {
                cell: cell.name.clone(),
                runs: (known - there) as u64,
            };
            return Err(gone.into());
        }
        Ok(CellResult {
            name: cell.name.clone(),
            axes: cell.axes.clone(),
            scenario: cell.scenario.clone(),
            provenance: cell.provenance.clone(),
            partial: there < self.wanted.len(),
            runs,
            unperturbed: others.pop(),
        })
    }
}

/// The most runs of a task, so that a crash loses little.
const MOST_RUNS: usize = 64;
