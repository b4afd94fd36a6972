//! The upkeep of a store: compaction, pruning and merging.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};

use crate::error::StoreError;
use crate::key::{RunKey, ScenarioKey};
use crate::list::Listed;
use crate::part::{Part, PartWriter};
use crate::record::Recorded;
use crate::store::Store;

/// The number of parts from which a compaction makes one of them all.
const MANY_PARTS: usize = 16;

/// A run of any sources.
type AnyRun = (RunKey, String);

/// What a compaction or a pruning did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Upkeep {
    /// The runs that are in Parquet now, and were in segments or other parts before.
    pub written: u64,
    /// The runs that were removed.
    pub removed: u64,
}

/// What a pruning removes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Prune {
    /// Runs that other sources than the present ones computed.
    Stale,
    /// Runs whose scenario is in no sweep of the store.
    Unlisted,
}

impl Store {
    /// Compacts the segments of processes that have ended to Parquet.
    ///
    /// # Errors
    /// See [`StoreError`]. The store stays whole.
    pub fn compact(&mut self) -> Result<Upkeep, StoreError> {
        let _alone = self.alone()?;
        let many = self.parts.len() + 1 > MANY_PARTS;
        self.rewrite(many, &|_| true)
    }

    /// Removes runs.
    ///
    /// # Errors
    /// See [`StoreError`]. The store stays whole.
    pub fn prune(&mut self, what: &Prune) -> Result<Upkeep, StoreError> {
        let _alone = self.alone()?;
        let listed: BTreeSet<ScenarioKey> = match what {
            Prune::Stale => BTreeSet::new(),
            Prune::Unlisted => {
                let sweeps = self.sweeps()?;
                sweeps.iter().flat_map(Listed::scenarios).collect()
            }
        };
        self.rewrite(true, &|run| match what {
            Prune::Stale => run.origin.is_current(),
            Prune::Unlisted => listed.contains(&run.scenario),
        })
    }

    /// Adds the runs and the sweeps of another store. Returns how many runs were new.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn merge(&mut self, other: &mut Self) -> Result<u64, StoreError> {
        self.refresh()?;
        other.refresh()?;
        let mut new = 0;
        for scenario in other.scenarios() {
            let mine = self.load_all(scenario)?;
            let mut known: BTreeSet<AnyRun> = mine.iter().map(any).collect();
            let mut runs = other.load_all(scenario)?;
            runs.retain(|run| known.insert(any(run)));
            if !runs.is_empty() {
                new += runs.len() as u64;
                let text = other.text(scenario)?;
                self.append(&runs, &|_| text.clone())?;
            }
        }
        for sweep in other.sweeps()? {
            self.list(&sweep)?;
        }
        self.compact()?;
        Ok(new)
    }

    /// Keeps other processes from an upkeep as long as the returned file is open.
    fn alone(&self) -> Result<File, StoreError> {
        let path = self.folder().join(".upkeep.lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(StoreError::write(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(StoreError::Busy(self.folder().to_owned())),
            Err(TryLockError::Error(error)) => Err(StoreError::write(&path)(error)),
        }
    }

    /// Writes the runs of ended segments, and `with_parts` those of all parts, into a new part, unless `keeps` says
    /// no.
    fn rewrite(
        &mut self,
        with_parts: bool,
        keeps: &dyn Fn(&Recorded) -> bool,
    ) -> Result<Upkeep, StoreError> {
        self.reload()?;
        self.remove_replaced()?;
        let mut upkeep = Upkeep::default();
        let mut taken = Vec::new();
        let mut from_segments = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            if let Some(lock) = segment.take() {
                taken.push(lock);
                from_segments.push(number);
            }
        }
        // What was appended between the reading and the lock.
        self.refresh()?;
        let from_parts = if with_parts { self.parts.len() } else { 0 };
        if from_segments.is_empty() && from_parts == 0 {
            return Ok(upkeep);
        }
        let mut scenarios: BTreeSet<ScenarioKey> = BTreeSet::new();
        scenarios.extend(
            from_segments
                .iter()
                .flat_map(|it| self.segments[*it].scenarios()),
        );
        scenarios.extend(self.parts[..from_parts].iter().flat_map(Part::scenarios));
        let mut part = PartWriter::create(&self.folder().join("parts"))?;
        for scenario in scenarios {
            let mut known: BTreeSet<AnyRun> = BTreeSet::new();
            let mut runs = Vec::new();
            for (number, old) in self.parts.iter_mut().enumerate() {
                let of_part = old.load(scenario)?;
                if number < from_parts {
                    runs.extend(of_part);
                } else {
                    known.extend(of_part.iter().map(any));
                }
            }
            for number in &from_segments {
                runs.extend(self.segments[*number].load(scenario)?);
            }
            runs.retain(|run| known.insert(any(run)));
            let before = runs.len();
            runs.retain(|run| keeps(run));
            upkeep.removed += (before - runs.len()) as u64;
            upkeep.written += runs.len() as u64;
            if !runs.is_empty() {
                runs.sort_by_key(|run| (run.run.seed, run.run.perturbed));
                part.add(self.text(scenario)?.as_ref(), &runs)?;
            }
        }
        let name = |path: &std::path::Path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let segments = from_segments
            .iter()
            .map(|it| name(&self.segments[*it].path));
        let parts = self.parts[..from_parts].iter().map(|it| name(&it.path));
        let replaces: Vec<String> = segments.chain(parts).flatten().collect();
        part.finish(&replaces)?;
        self.reload()?;
        self.remove_replaced()?;
        drop(taken);
        Ok(upkeep)
    }

    /// Removes the segments and parts whose runs another part has.
    fn remove_replaced(&mut self) -> Result<(), StoreError> {
        let replaced = self.replaced();
        let mut removed = false;
        for name in &replaced {
            let segment = self.folder().join("segments").join(name);
            let part = self.folder().join("parts").join(name);
            if segment.is_file() {
                fs::remove_file(&segment).map_err(StoreError::write(&segment))?;
                removed = true;
            } else if part.is_dir() {
                fs::remove_dir_all(&part).map_err(StoreError::write(&part))?;
                removed = true;
            }
        }
        if removed {
            self.reload()?;
        }
        Ok(())
    }
}

fn any(run: &Recorded) -> AnyRun {
    (run.key(), run.origin.sources.clone())
}
