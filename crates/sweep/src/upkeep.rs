//! The upkeep of a store: compaction, pruning and merging.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::bytes::encode_tables;
use crate::error::StoreError;
use crate::key::{RunKey, ScenarioKey};
use crate::list::Listed;
use crate::lock::Lock;
use crate::name::{Name, names, unique};
use crate::part::{Part, PartWriter};
use crate::record::Origin;
use crate::regular;
use crate::segment::{ASIDE, ENDING};
use crate::store::{LOCK, Store, has_end, is_part, make_folders, paths};
use crate::tables::{AnyRun, Rows};

/// The number of parts from which a compaction makes one of them all.
const MANY_PARTS: usize = 16;

/// The most runs that a merging appends at once.
const MERGED_AT_ONCE: usize = 256;

/// The beginning of the names of folders that are being removed.
const REMOVED: &str = ".removed-";

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
        self.compact_segments(false)
    }

    /// Compacts also the segments of other machines that may be at work.
    pub(crate) fn compact_all(&mut self) -> Result<Upkeep, StoreError> {
        self.compact_segments(true)
    }

    fn compact_segments(&mut self, is_forced: bool) -> Result<Upkeep, StoreError> {
        let _alone = alone(self.folder())?;
        let many = self.parts.len() + 1 > MANY_PARTS;
        self.rewrite(many, is_forced, &|_, _| true)
    }

    /// Removes runs.
    ///
    /// # Errors
    /// See [`StoreError`]. The store stays whole.
    pub fn prune(&mut self, what: &Prune) -> Result<Upkeep, StoreError> {
        let _alone = alone(self.folder())?;
        let listed: BTreeSet<ScenarioKey> = match what {
            Prune::Stale => BTreeSet::new(),
            Prune::Unlisted => {
                let lists = paths(&self.folder().join("sweeps"))?;
                if let Some(aside) = lists.into_iter().find(|it| has_end(it, ASIDE)) {
                    return Err(StoreError::ListAside(aside));
                }
                let sweeps = self.sweeps()?;
                sweeps.iter().flat_map(Listed::scenarios).collect()
            }
        };
        self.rewrite(true, false, &|run, origin| match what {
            Prune::Stale => origin.is_current(),
            Prune::Unlisted => listed.contains(&run.scenario),
        })
    }

    /// Adds the runs and the sweeps of another store, and compacts this one unless another process does. Returns how many
    /// runs were new.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn merge(&mut self, other: &mut Self) -> Result<u64, StoreError> {
        self.refresh()?;
        other.refresh()?;
        let mut new = 0;
        for scenario in other.scenarios() {
            let mut known: BTreeSet<AnyRun> = BTreeSet::new();
            for rows in self.rows(scenario)? {
                known.extend(rows.keys()?.iter().map(any));
            }
            for rows in other.rows(scenario)? {
                let mut keys = rows.keys()?;
                keys.retain(|run| known.insert(any(run)));
                // In pieces that are no larger than a frame may be.
                for keys in keys.chunks(MERGED_AT_ONCE) {
                    let wanted: BTreeSet<AnyRun> = keys.iter().map(any).collect();
                    let Some(tables) = rows.filtered(&|run| wanted.contains(run))?.joined()? else {
                        continue;
                    };
                    new += keys.len() as u64;
                    let text = other.text(scenario)?;
                    let keys: Vec<(RunKey, bool)> = keys
                        .iter()
                        .map(|(run, origin)| (*run, origin.is_current()))
                        .collect();
                    self.append_bytes(&encode_tables(&tables)?, &keys, &|_| text.clone())?;
                }
            }
        }
        for sweep in other.sweeps()? {
            self.list(&sweep)?;
        }
        self.close()?;
        match self.compact() {
            Ok(_) | Err(StoreError::Busy(_)) => Ok(new),
            Err(error) => Err(error),
        }
    }

    /// Returns the runs of a scenario, of any sources and perhaps several times.
    fn rows(&mut self, scenario: ScenarioKey) -> Result<Vec<Rows>, StoreError> {
        let parts = self.parts.iter_mut().map(|part| part.rows(scenario));
        let mut all: Vec<Rows> = parts.collect::<Result<_, _>>()?;
        for segment in &mut self.segments {
            for rows in segment.rows(scenario) {
                all.push(rows?);
            }
        }
        Ok(all)
    }

    /// Writes the runs of ended segments, and `with_parts` those of all parts, into a new part, unless `keeps` says
    /// no.
    fn rewrite(
        &mut self,
        with_parts: bool,
        is_forced: bool,
        keeps: &dyn Fn(&RunKey, &Origin) -> bool,
    ) -> Result<Upkeep, StoreError> {
        self.reload()?;
        self.remove_replaced()?;
        let host = self.origin().host.clone();
        let mut taken = Vec::new();
        let mut segments = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            if let Some(lock) = segment.take(&host, is_forced) {
                taken.push(lock);
                segments.push(number);
            }
        }
        // What was appended between the reading and the lock.
        self.refresh()?;
        let from = Sources {
            segments,
            parts: if with_parts { self.parts.len() } else { 0 },
        };
        if from.segments.is_empty() && from.parts == 0 {
            return Ok(Upkeep::default());
        }
        let written = PartWriter::create(self.folder(), &host).and_then(|mut part| {
            let upkeep = self.write_part(&mut part, &from, keeps)?;
            part.finish(&self.names(&from))?;
            Ok(upkeep)
        });
        let upkeep = written.inspect_err(|_| PartWriter::abandon(self.folder(), &host))?;
        for number in &from.segments {
            let segment = &self.segments[*number];
            if segment.damaged > 0 {
                let aside = segment.path.with_extension(ASIDE);
                fs::rename(&segment.path, &aside).map_err(StoreError::write(&aside))?;
            }
        }
        self.reload()?;
        self.remove_replaced()?;
        drop(taken);
        Ok(upkeep)
    }

    /// Writes the runs that are in segments and in no part as Parquet into `folder`, which is empty and of the caller, for
    /// readers of Parquet. The store itself stays as it is. Returns whether there are any.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn export_segments(&mut self, folder: &Path) -> Result<bool, StoreError> {
        self.refresh()?;
        let from = Sources {
            segments: (0..self.segments.len()).collect(),
            parts: 0,
        };
        let mut part = PartWriter::within(folder.to_owned())?;
        let written = self.write_part(&mut part, &from, &|_, _| true)?.written;
        part.complete(&[])?;
        Ok(written > 0)
    }

    /// Adds the runs of `from` that are in no other part to a new part, unless `keeps` says no.
    fn write_part(
        &mut self,
        part: &mut PartWriter,
        from: &Sources,
        keeps: &dyn Fn(&RunKey, &Origin) -> bool,
    ) -> Result<Upkeep, StoreError> {
        let mut upkeep = Upkeep::default();
        let of_parts = self.parts[..from.parts].iter().flat_map(Part::scenarios);
        let mut scenarios: BTreeSet<ScenarioKey> = of_parts.collect();
        for number in &from.segments {
            scenarios.extend(self.segments[*number].scenarios());
        }
        for scenario in scenarios {
            let mut known: BTreeSet<AnyRun> = BTreeSet::new();
            for old in &mut self.parts[from.parts..] {
                known.extend(old.rows(scenario)?.keys()?.iter().map(any));
            }
            let mut is_any = false;
            let mut add = |rows: &Rows| {
                let mut wanted: BTreeSet<AnyRun> = BTreeSet::new();
                for run in rows.keys()? {
                    if !known.insert(any(&run)) {
                        continue;
                    }
                    if keeps(&run.0, &run.1) {
                        wanted.insert(any(&run));
                    } else {
                        upkeep.removed += 1;
                    }
                }
                upkeep.written += wanted.len() as u64;
                is_any |= !wanted.is_empty();
                part.add(&rows.filtered(&|run| wanted.contains(run))?)
            };
            for old in &mut self.parts[..from.parts] {
                add(&old.rows(scenario)?)?;
            }
            for number in &from.segments {
                for rows in self.segments[*number].rows(scenario) {
                    add(&rows?)?;
                }
            }
            if is_any && let Some(text) = self.text(scenario)? {
                part.add_text(&text)?;
            }
        }
        Ok(upkeep)
    }

    /// Returns the names of segments and parts.
    fn names(&self, from: &Sources) -> Vec<Name> {
        let segments = from.segments.iter().map(|it| &self.segments[*it].path);
        let parts = self.parts[..from.parts].iter().map(|it| &it.path);
        // The paths were made of names.
        let names = segments.chain(parts).filter_map(|path| Name::of(path));
        names.collect()
    }

    /// Removes the segments and parts whose runs another part has.
    fn remove_replaced(&mut self) -> Result<(), StoreError> {
        let segments = self.folder().join("segments");
        let parts = self.folder().join("parts");
        for name in self.parts.iter().flat_map(|part| &part.replaces) {
            let (segment, part) = (name.within(&segments), name.within(&parts));
            if has_end(&segment, ENDING) && segment.is_file() {
                gone(fs::remove_file(&segment)).map_err(StoreError::write(&segment))?;
            } else if is_part(&part) && part.is_dir() {
                // Under another name first, because a folder is not removed at once.
                let aside = format!("{REMOVED}{}", unique());
                let moved = fs::rename(&part, self.folder().join(aside));
                gone(moved).map_err(StoreError::write(&part))?;
            }
        }
        for name in names(self.folder())? {
            if name.starts_with(REMOVED) {
                let path = self.folder().join(name);
                gone(fs::remove_dir_all(&path)).map_err(StoreError::write(&path))?;
            }
        }
        Ok(())
    }
}

/// Keeps other processes from an upkeep of the store in `folder` as long as the returned lock lives.
pub(crate) fn alone(folder: &Path) -> Result<Lock, StoreError> {
    make_folders(folder)?;
    let path = folder.join(LOCK);
    if let Err(StoreError::Damaged { reason, .. }) = regular::check(&path) {
        // A repair needs this file.
        let error = std::io::Error::other(format!("{reason}: remove it"));
        return Err(StoreError::write(&path)(error));
    }
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(StoreError::write(&path))?;
    Lock::on(file).map_err(|error| match error {
        TryLockError::WouldBlock => StoreError::Busy(folder.to_owned()),
        TryLockError::Error(error) => StoreError::write(&path)(error),
    })
}

/// Takes it for done if there was nothing to remove: another machine was faster.
fn gone(done: std::io::Result<()>) -> std::io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// What a new part is made of.
struct Sources {
    /// Segments by their numbers.
    segments: Vec<usize>,
    /// The first so many parts.
    parts: usize,
}

fn any((run, origin): &(RunKey, Arc<Origin>)) -> AnyRun {
    (*run, origin.sources.clone())
}
