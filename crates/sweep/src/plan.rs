//! The plan of a sweep: which runs are wanted, which of them are missing, and which are under way.
//!
//! Whoever computes runs, here or on other machines, takes tasks from the plan and gives back what came of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use fairwire_scenario::{Cell, Scenario};
use fairwire_sim::results::{CellResult, RunResult};

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

/// A cell of the sweep. Several cells may have the same scenario, and share runs.
#[derive(Debug)]
struct Entry {
    key: ScenarioKey,
    scenario: Arc<Scenario>,
    /// All runs that are wanted so far.
    wanted: BTreeSet<Job>,
    /// How many of them are not in the store yet.
    missing: usize,
    work: u64,
}

/// A sweep: its cells with the runs that each wants.
#[derive(Debug)]
pub struct Plan {
    name: String,
    /// The name of its list in the store.
    id: String,
    seeds: Seeds,
    cells: Vec<Cell>,
    /// One for each cell.
    entries: Vec<Entry>,
    texts: BTreeMap<ScenarioKey, ScenarioText>,
    /// The cells of each scenario.
    sharing: BTreeMap<ScenarioKey, Vec<usize>>,
    /// All runs that any cell wants.
    known: BTreeSet<RunKey>,
    waiting: VecDeque<RunKey>,
    /// Whether the last runs come first.
    is_reversed: bool,
    under_way: BTreeMap<u64, Vec<RunKey>>,
    next: u64,
    /// The work of the runs that wait or are under way.
    work: u64,
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
        seeds.check(&cells)?;
        let mut plan = Self {
            name: name.to_owned(),
            id: String::new(),
            seeds,
            entries: Vec::with_capacity(cells.len()),
            cells: Vec::new(),
            texts: BTreeMap::new(),
            sharing: BTreeMap::new(),
            known: BTreeSet::new(),
            waiting: VecDeque::new(),
            is_reversed: false,
            under_way: BTreeMap::new(),
            next: 0,
            work: 0,
            found: 0,
            done: 0,
        };
        for cell in &cells {
            let (key, resolved) = ScenarioKey::of(&cell.scenario, versions);
            let number = plan.entries.len();
            plan.sharing.entry(key).or_default().push(number);
            plan.texts.entry(key).or_insert_with(|| ScenarioText {
                scenario: key.to_string(),
                title: cell.scenario.title.clone(),
                resolved,
            });
            plan.entries.push(Entry {
                scenario: Arc::new(cell.scenario.clone()),
                work: cell.scenario.work(),
                key,
                wanted: BTreeSet::new(),
                missing: 0,
            });
        }
        plan.cells = cells;
        // First, so that no pruning removes what is found.
        let listed = plan.listed(store);
        store.list(&listed)?;
        plan.id = listed.id;
        for number in 0..plan.entries.len() {
            let jobs = plan.seeds.first(&plan.cells[number]);
            let new = plan.want(number, jobs, store)?;
            plan.waiting.extend(new);
        }
        for number in 0..plan.entries.len() {
            plan.extend(number, store)?;
        }
        if store.has_others()? {
            plan.reverse();
        }
        Ok(plan)
    }

    /// Begins at the other end: another process does perhaps the same sweep, and both meet in the middle.
    fn reverse(&mut self) {
        self.waiting.make_contiguous().reverse();
        self.is_reversed = !self.is_reversed;
    }

    /// Returns the name of the scenario file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of its list in the store ([`Listed::id`]).
    pub fn id(&self) -> &str {
        &self.id
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
        self.work
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
    pub fn take(&mut self, work: u64, store: &mut Store) -> Result<Option<Task>, StoreError> {
        if store.look_at_times()?
            && let Some(is_reversed) = store.begins_at_the_end()
            && is_reversed != self.is_reversed
        {
            self.reverse();
        }
        let mut task = Task {
            number: self.next,
            runs: Vec::new(),
            work: 0,
        };
        while let Some(run) = self.waiting.pop_front() {
            if store.has(&run)? {
                self.found += 1;
                self.arrived(run, store)?;
                continue;
            }
            let Some(entry) = self.shared(run.scenario) else {
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
        self.texts.get(&key).cloned()
    }

    /// Returns one of the cells with a scenario.
    fn shared(&self, key: ScenarioKey) -> Option<&Entry> {
        self.entries.get(*self.sharing.get(&key)?.first()?)
    }

    /// Notes that a cell wants these runs, and returns those that have to be done.
    fn want(
        &mut self,
        number: usize,
        jobs: Vec<Job>,
        store: &mut Store,
    ) -> Result<Vec<RunKey>, StoreError> {
        let entry = &mut self.entries[number];
        let mut new = Vec::new();
        for job in jobs {
            if !entry.wanted.insert(job) {
                continue;
            }
            let run = run_key(entry.key, job);
            let is_there = store.has(&run)?;
            entry.missing += usize::from(!is_there);
            if !self.known.insert(run) {
                continue;
            }
            if is_there {
                self.found += 1;
            } else {
                self.work = self.work.saturating_add(entry.work);
                new.push(run);
            }
        }
        Ok(new)
    }

    fn arrived(&mut self, run: RunKey, store: &mut Store) -> Result<(), StoreError> {
        let sharing = self.sharing.get(&run.scenario).cloned().unwrap_or_default();
        if let Some(entry) = self.shared(run.scenario) {
            self.work = self.work.saturating_sub(entry.work);
        }
        for number in sharing {
            let entry = &mut self.entries[number];
            if entry.wanted.contains(&(run.perturbed, run.seed)) {
                entry.missing = entry.missing.saturating_sub(1);
                self.extend(number, store)?;
            }
        }
        Ok(())
    }

    /// Wants more seeds of a cell whose runs are all there, if its intervals need them.
    fn extend(&mut self, number: usize, store: &mut Store) -> Result<(), StoreError> {
        loop {
            let entry = &self.entries[number];
            if entry.missing > 0 {
                return Ok(());
            }
            let perturbed = entry.wanted.iter().filter(|(perturbed, _)| *perturbed);
            let seeds = perturbed.count() as u64;
            if !self.seeds.may_need_more(&entry.scenario, seeds) {
                return Ok(());
            }
            let more = self
                .seeds
                .more(&entry.result(&self.cells[number], store)?, seeds)?;
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
    pub fn cell(&self, number: usize, store: &mut Store) -> Result<Option<CellResult>, StoreError> {
        let cell = self.cells.get(number).zip(self.entries.get(number));
        cell.map(|(cell, entry)| entry.result(cell, store))
            .transpose()
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
        let cells = self.cells.iter().zip(&self.entries);
        cells
            .map(|(cell, entry)| Ok(see(&entry.result(cell, store)?)))
            .collect()
    }

    fn listed(&self, store: &Store) -> Listed {
        let cells = self
            .cells
            .iter()
            .zip(&self.entries)
            .map(|(cell, entry)| ListedCell {
                cell: cell.name.clone(),
                scenario: entry.key.to_string(),
                axes: cell.axes.clone(),
            });
        let title = self.cells.first().map_or("", |cell| &cell.scenario.title);
        let names = (self.name.as_str(), title);
        let seeds = self.seeds.of(&self.cells);
        Listed::new(names, seeds, cells.collect(), store.origin())
    }
}

impl Entry {
    /// Returns the results of the cell as far as they are in the store.
    fn result(&self, cell: &Cell, store: &mut Store) -> Result<CellResult, StoreError> {
        let runs = store.load(self.key)?.into_iter().map(|it| it.run);
        let wanted = runs.filter(|run| self.wanted.contains(&(run.perturbed, run.seed)));
        let (runs, mut others): (Vec<RunResult>, Vec<RunResult>) =
            wanted.partition(|run| run.perturbed);
        let there = runs.len() + others.len();
        let known = self.wanted.len() - self.missing;
        if there < known {
            return Err(StoreError::Gone {
                cell: cell.name.clone(),
                runs: (known - there) as u64,
            });
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

fn run_key(scenario: ScenarioKey, (perturbed, seed): Job) -> RunKey {
    RunKey {
        scenario,
        seed,
        perturbed,
    }
}
