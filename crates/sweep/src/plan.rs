//! The plan of a sweep: which runs are wanted, which of them are missing, and which are under way.
//!
//! Whoever computes runs, here or on other machines, takes tasks from the plan and gives back what came of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fairwire_lab::results::CellResult;
use fairwire_lab::scenario::{Cell, Scenario};

use crate::error::StoreError;
use crate::key::{RunKey, ScenarioKey};
use crate::list::{Listed, ListedCell};
use crate::record::Recorded;
use crate::seeds::{Job, Seeds};
use crate::store::Store;
use crate::text::ScenarioText;

/// Runs that are done together, by one process.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its number in the plan.
    pub(crate) number: u64,
    /// The runs with their scenarios.
    pub(crate) runs: Vec<(RunKey, Arc<Scenario>)>,
    /// An upper bound of the number of packets that cross links in them.
    pub work: u64,
}

impl Task {
    /// Returns its number, which says what its results belong to.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of its runs.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether it has no runs, which no task that a plan gives is.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// A scenario of the sweep, which may be that of several cells.
#[derive(Debug)]
struct Entry {
    scenario: Arc<Scenario>,
    text: ScenarioText,
    /// All runs that are wanted so far.
    wanted: BTreeSet<Job>,
    /// How many of them are neither in the store nor under way nor waiting.
    missing: usize,
    work: u64,
}

/// A sweep: its cells with the runs that each wants.
#[derive(Debug)]
pub struct Plan {
    name: String,
    cells: Vec<Cell>,
    keys: Vec<ScenarioKey>,
    seeds: Seeds,
    entries: BTreeMap<ScenarioKey, Entry>,
    waiting: VecDeque<RunKey>,
    under_way: BTreeMap<u64, Vec<RunKey>>,
    next: u64,
    /// The runs that the store had before.
    found: u64,
    done: u64,
}

impl Plan {
    /// Plans a sweep and lists it in the store. Runs that the store has are not wanted again. `versions` are those of
    /// what scenarios name and other code defines ([`ScenarioKey::of`]).
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn new(
        name: &str,
        cells: Vec<Cell>,
        seeds: Seeds,
        versions: &BTreeMap<String, String>,
        store: &mut Store,
    ) -> Result<Self, StoreError> {
        let mut plan = Self {
            name: name.to_owned(),
            keys: Vec::with_capacity(cells.len()),
            cells: Vec::new(),
            seeds,
            entries: BTreeMap::new(),
            waiting: VecDeque::new(),
            under_way: BTreeMap::new(),
            next: 0,
            found: 0,
            done: 0,
        };
        for cell in &cells {
            let (key, resolved) = ScenarioKey::of(&cell.scenario, versions);
            plan.keys.push(key);
            let jobs = plan.seeds.first(cell);
            let entry = plan.entries.entry(key).or_insert_with(|| Entry {
                scenario: Arc::new(cell.scenario.clone()),
                text: ScenarioText {
                    scenario: key,
                    title: cell.scenario.title.clone(),
                    resolved,
                },
                wanted: BTreeSet::new(),
                missing: 0,
                work: cell.scenario.work(),
            });
            for job in jobs {
                if entry.wanted.insert(job) {
                    let run = run_key(key, job);
                    if store.has(&run) {
                        plan.found += 1;
                    } else {
                        entry.missing += 1;
                        plan.waiting.push_back(run);
                    }
                }
            }
        }
        plan.cells = cells;
        let keys: Vec<ScenarioKey> = plan.entries.keys().copied().collect();
        for key in keys {
            plan.extend(key, store)?;
        }
        store.list(&plan.listed(store))?;
        Ok(plan)
    }

    /// Returns the name of the scenario file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
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

    /// Returns the work of the runs that wait or are under way.
    pub fn work(&self) -> u64 {
        let under_way = self.under_way.values().flatten();
        let work = |run: &RunKey| self.entries.get(&run.scenario).map_or(0, |it| it.work);
        let all = self.waiting.iter().chain(under_way).map(work);
        all.fold(0, u64::saturating_add)
    }

    /// Returns whether every run that is wanted is in the store.
    pub fn is_complete(&self) -> bool {
        self.waiting.is_empty() && self.under_way.is_empty()
    }

    /// Takes the next runs: of `work` in all, or the next one if it has more work than that.
    ///
    /// Runs that the store has are left out. What other processes add is seen when the store is refreshed, not before.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn take(&mut self, work: u64, store: &mut Store) -> Result<Option<Task>, StoreError> {
        let mut task = Task {
            number: self.next,
            runs: Vec::new(),
            work: 0,
        };
        while let Some(run) = self.waiting.pop_front() {
            if store.has(&run) {
                self.found += 1;
                self.arrived(run, store)?;
                continue;
            }
            let Some(entry) = self.entries.get(&run.scenario) else {
                continue;
            };
            let is_full =
                task.work.saturating_add(entry.work) > work || task.runs.len() == MOST_RUNS;
            if is_full && !task.runs.is_empty() {
                self.waiting.push_front(run);
                break;
            }
            task.runs.push((run, Arc::clone(&entry.scenario)));
            task.work = task.work.saturating_add(entry.work);
        }
        if task.runs.is_empty() {
            return Ok(None);
        }
        self.next += 1;
        let runs = task.runs.iter().map(|(run, _)| *run);
        self.under_way.insert(task.number, runs.collect());
        Ok(Some(task))
    }

    /// Puts the results of a task into the store.
    ///
    /// # Errors
    /// If they cannot be written. Those runs then count as missing.
    pub fn keep(
        &mut self,
        task: u64,
        runs: &[Recorded],
        store: &mut Store,
    ) -> Result<(), StoreError> {
        let Some(wanted) = self.under_way.remove(&task) else {
            // Another worker has done it, after this one was given up.
            return Ok(());
        };
        let wanted: BTreeSet<RunKey> = wanted.into_iter().collect();
        let new: Vec<Recorded> = runs
            .iter()
            .filter(|run| wanted.contains(&run.key()))
            .cloned()
            .collect();
        if let Err(error) = store.append(&new, &|key| self.text(key)) {
            self.waiting.extend(wanted);
            return Err(error);
        }
        self.done += new.len() as u64;
        let came: BTreeSet<RunKey> = new.iter().map(Recorded::key).collect();
        // What a worker left out is done again.
        self.waiting.extend(wanted.difference(&came));
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

    /// Returns the text of a scenario of the sweep.
    pub(crate) fn text(&self, key: ScenarioKey) -> Option<ScenarioText> {
        self.entries.get(&key).map(|it| it.text.clone())
    }

    fn arrived(&mut self, run: RunKey, store: &mut Store) -> Result<(), StoreError> {
        if let Some(entry) = self.entries.get_mut(&run.scenario) {
            entry.missing = entry.missing.saturating_sub(1);
        }
        self.extend(run.scenario, store)
    }

    /// Wants more seeds of a scenario whose runs are all there, if its intervals need them.
    fn extend(&mut self, key: ScenarioKey, store: &mut Store) -> Result<(), StoreError> {
        loop {
            let Some(entry) = self.entries.get(&key).filter(|it| it.missing == 0) else {
                return Ok(());
            };
            let seeds = entry
                .wanted
                .iter()
                .filter(|(perturbed, _)| *perturbed)
                .count() as u64;
            if !self.seeds.may_need_more(&entry.scenario, seeds) {
                return Ok(());
            }
            store.refresh()?;
            let result = CellResult {
                name: String::new(),
                axes: Vec::new(),
                scenario: entry.scenario.as_ref().clone(),
                provenance: BTreeMap::new(),
                runs: wanted_runs(store.load(key)?, &entry.wanted, true),
                unperturbed: None,
                partial: false,
            };
            let more = self.seeds.more(&result, seeds);
            if more.is_empty() {
                return Ok(());
            }
            let Some(entry) = self.entries.get_mut(&key) else {
                return Ok(());
            };
            // To the front, so that the cell is soon complete.
            for seed in more.into_iter().rev() {
                let job = (true, seed);
                if entry.wanted.insert(job) {
                    let run = run_key(key, job);
                    if store.has(&run) {
                        self.found += 1;
                    } else {
                        entry.missing += 1;
                        self.waiting.push_front(run);
                    }
                }
            }
        }
    }

    /// Calls `see` with the results of each cell as far as they are in the store, and returns what it returns, in the
    /// order of the cells.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn map_cells<T>(
        &self,
        store: &mut Store,
        mut see: impl FnMut(&CellResult) -> T,
    ) -> Result<Vec<T>, StoreError> {
        store.refresh()?;
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        order.sort_by_key(|cell| self.keys[*cell]);
        let mut seen = Vec::with_capacity(order.len());
        for number in order {
            let (cell, key) = (&self.cells[number], self.keys[number]);
            let Some(entry) = self.entries.get(&key) else {
                continue;
            };
            let runs = store.load(key)?;
            let unperturbed = wanted_runs(runs.clone(), &entry.wanted, false).pop();
            let runs = wanted_runs(runs, &entry.wanted, true);
            let there = runs.len() + usize::from(unperturbed.is_some());
            let result = CellResult {
                name: cell.name.clone(),
                axes: cell.axes.clone(),
                scenario: cell.scenario.clone(),
                provenance: cell.provenance.clone(),
                partial: there < entry.wanted.len(),
                runs,
                unperturbed,
            };
            seen.push((number, see(&result)));
        }
        seen.sort_by_key(|(number, _)| *number);
        Ok(seen.into_iter().map(|(_, seen)| seen).collect())
    }

    fn listed(&self, store: &Store) -> Listed {
        let cells = self.cells.iter().zip(&self.keys);
        let cells = cells.map(|(cell, key)| ListedCell {
            cell: cell.name.clone(),
            scenario: key.to_string(),
            axes: cell.axes.clone(),
        });
        Listed::new(&self.name, cells.collect(), store.origin())
    }
}

/// The most runs of a task, so that a crash loses little.
const MOST_RUNS: usize = 64;

fn run_key(scenario: ScenarioKey, (perturbed, seed): Job) -> RunKey {
    RunKey {
        scenario,
        seed,
        perturbed,
    }
}

fn wanted_runs(
    runs: Vec<Recorded>,
    wanted: &BTreeSet<Job>,
    perturbed: bool,
) -> Vec<fairwire_lab::results::RunResult> {
    let runs = runs.into_iter().map(|it| it.run);
    runs.filter(|run| run.perturbed == perturbed && wanted.contains(&(perturbed, run.seed)))
        .collect()
}
