//! The upkeep of a store: pruning, merging and repair.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::params;

use crate::db::{BESIDE, FILE};
use crate::error::StoreError;
use crate::key::SOURCES;
use crate::list::Listed;
use crate::name::unique;
use crate::record::Origin;
use crate::store::Store;

/// The end of the names of files that were set aside.
const ASIDE: &str = "damaged";

/// The most runs that are copied at once.
const COPIED_AT_ONCE: i64 = 256;

/// What a pruning removes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Prune {
    /// Runs that other sources than the present ones computed.
    Stale,
    /// Runs whose scenario is in no sweep of the store.
    Unlisted,
}

/// Removes what belongs to no run or scenario any more. Names and the like are few, and stay.
const REMOVE_REST: &str = "
    DELETE FROM value WHERE run NOT IN (SELECT id FROM run);
    DELETE FROM list WHERE run NOT IN (SELECT id FROM run);
    DELETE FROM scenario WHERE id NOT IN (SELECT scenario FROM run);
    DELETE FROM setting WHERE scenario NOT IN (SELECT id FROM scenario);
    DELETE FROM trace WHERE id NOT IN (SELECT e.value FROM scenario, json_each(scenario.traces) e)";

impl Store {
    /// Removes runs, and returns how many.
    ///
    /// # Errors
    /// See [`StoreError`]. The store stays whole.
    pub fn prune(&mut self, what: &Prune) -> Result<u64, StoreError> {
        let listed: BTreeSet<String> = match what {
            Prune::Stale => BTreeSet::new(),
            Prune::Unlisted => {
                let sweeps = self.sweeps()?;
                sweeps
                    .iter()
                    .flat_map(Listed::scenarios)
                    .map(|it| it.to_string())
                    .collect()
            }
        };
        let removed = self.db.write(|db| {
            let removed = match what {
                Prune::Stale => db.execute(
                    "DELETE FROM run WHERE sources NOT IN (SELECT id FROM sources WHERE sources = ?1)",
                    [SOURCES],
                )?,
                Prune::Unlisted => {
                    let listed = serde_json::json!(listed).to_string();
                    db.execute(
                        "DELETE FROM run WHERE scenario NOT IN (SELECT id FROM scenario WHERE scenario IN \
                         (SELECT value FROM json_each(?1)))",
                        [listed],
                    )?
                }
            };
            db.execute_batch(REMOVE_REST)?;
            Ok(removed as u64)
        })?;
        if removed > 0 {
            // It gives the room back. If another process is at work, or the disk too full, new runs use the room.
            let _ = self.db.writable()?.execute_batch("VACUUM");
        }
        Ok(removed)
    }

    /// Adds the runs and the sweeps of another store. Returns how many runs were new.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn merge(&mut self, other: &mut Self) -> Result<u64, StoreError> {
        let mut new = 0;
        let last: Option<i64> = other
            .db
            .read(|db| db.query_row("SELECT max(id) FROM run", [], |row| row.get(0)))?;
        let mut from = 1;
        while from <= last.unwrap_or_default() {
            let to = from.saturating_add(COPIED_AT_ONCE);
            new += self.copy(other, from, to)?;
            from = to;
        }
        for sweep in other.sweeps()? {
            self.list(&sweep)?;
        }
        self.close()?;
        Ok(new)
    }

    /// Adds the runs of another store that have these numbers, up to `to` without it, and returns how many were new.
    fn copy(&mut self, other: &mut Self, from: i64, to: i64) -> Result<u64, StoreError> {
        let runs = other.raw("r.id >= ?1 AND r.id < ?2", params![from, to])?;
        let keys: BTreeSet<&str> = runs.runs.iter().map(|it| it.scenario.as_str()).collect();
        let texts = keys.into_iter().map(|key| Ok((key, other.text(key)?)));
        let texts: Vec<_> = texts.collect::<Result<_, StoreError>>()?;
        self.add(&runs, &|scenario| {
            let found = texts.iter().find(|(key, _)| *key == scenario);
            found.and_then(|(_, text)| text.clone())
        })
    }

    /// Returns how many damaged files [`repair`](Self::repair) has set aside, as `*.damaged`.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn damaged(&self) -> Result<u64, StoreError> {
        let entries = fs::read_dir(self.folder()).map_err(StoreError::read(self.folder()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(paths
            .filter(|path| path.extension().is_some_and(|it| it == ASIDE))
            .count() as u64)
    }

    /// Opens the store in `folder`, whose file may be damaged. A damaged file gets a name with `.damaged` at its end,
    /// which nothing reads; the runs whose checksums are right go into a new one. The others are done again when a sweep
    /// wants them. Call it when no sweep is at work.
    ///
    /// Returns the store and what was set aside, by the new names.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn repair(folder: &Path, origin: Origin) -> Result<(Self, Vec<PathBuf>), StoreError> {
        let old = match Self::open_existing(folder, origin.clone()) {
            Ok(mut store) => match store.verify() {
                Ok(()) => return Ok((store, Vec::new())),
                Err(StoreError::Damaged { .. }) => Some(store),
                Err(error) => return Err(error),
            },
            Err(StoreError::Damaged { .. }) => None,
            Err(error) => return Err(error),
        };
        let unfinished = folder.join(format!(".unfinished-{}", unique()));
        let mut new = Self::open(&unfinished, origin.clone())?;
        if let Some(mut old) = old {
            new.save(&mut old)?;
        }
        drop(new);
        let mut aside = Vec::new();
        for name in BESIDE.into_iter().chain([FILE]) {
            let path = folder.join(name);
            if path.is_symlink() || path.exists() {
                let mut to = folder.join(format!("{name}.{ASIDE}"));
                if to.exists() {
                    to = folder.join(format!("{name}.{}.{ASIDE}", unique()));
                }
                fs::rename(&path, &to).map_err(StoreError::write(&to))?;
                aside.push(to);
            }
        }
        let path = folder.join(FILE);
        fs::rename(unfinished.join(FILE), &path).map_err(StoreError::write(&path))?;
        // It is empty, and what it is called does no harm.
        let _ = fs::remove_dir_all(&unfinished);
        Ok((Self::open(folder, origin)?, aside))
    }

    /// Adds what can be read of a damaged store.
    fn save(&mut self, old: &mut Self) -> Result<(), StoreError> {
        // One by one: a damaged page keeps a statement from what comes after it.
        let last = old
            .db
            .read(|db| db.query_row("SELECT max(id) FROM run", [], |row| row.get(0)));
        let last: Option<i64> = unless_damaged(last)?.flatten();
        for number in 1..=last.unwrap_or_default() {
            unless_damaged(self.copy(old, number, number + 1))?;
        }
        for sweep in unless_damaged(old.sweeps())?.unwrap_or_default() {
            self.list(&sweep)?;
        }
        self.close()
    }
}

/// Returns nothing if a store was too damaged to read it.
fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(StoreError::Damaged { .. }) => Ok(None),
        read => read.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Prune, Store};
    use crate::raw::{Name, RawRun, RawRuns};
    use crate::record::Origin;

    fn open(folder: &Path) -> Store {
        Store::open(folder, Origin::here("here", "2026-01-01")).expect("a store")
    }

    /// Runs of other sources may have metrics that this version does not know. They are kept, merged, checked, exported
    /// and pruned all the same.
    #[test]
    fn other_versions_may_have_other_metrics() {
        let name = Name {
            metric: "flavour".to_owned(),
            ..Name::default()
        };
        let run = |seed| RawRun {
            scenario: "0".repeat(32),
            sources: "of before".to_owned(),
            seed,
            values: vec![(0, -0.5), (0, f64::NAN), (0, 1e300)],
            series: vec![(0, vec![0.25, f64::NAN])],
            ..RawRun::default()
        };
        let runs = RawRuns {
            names: vec![name],
            // SQLite has no numbers above 2^63.
            runs: vec![run(1), run(u64::MAX)],
        };
        let folders = [tempfile::tempdir(), tempfile::tempdir()];
        let [one, other] = folders.map(|folder| folder.expect("a folder"));
        let (mut old, mut store) = (open(one.path()), open(other.path()));
        assert_eq!(old.add(&runs, &|_| None).expect("they are added"), 2);
        assert_eq!(old.add(&runs, &|_| None).expect("they are there"), 0);
        assert_eq!(store.merge(&mut old).expect("they are merged"), 2);
        store.verify().expect("it is whole");
        let copied = store.raw("1", &[]).expect("runs");
        let seeds: Vec<u64> = copied.runs.iter().map(|it| it.seed).collect();
        assert_eq!(seeds, [1, u64::MAX]);
        assert_eq!(
            copied.runs[0].checksum(&copied.names),
            runs.runs[0].checksum(&runs.names)
        );
        let export = other.path().join("export");
        assert_eq!(store.export(&export).expect("files").len(), 5);
        let counts = (
            store.len().expect("a count"),
            store.stale().expect("a count"),
        );
        assert_eq!(counts, (0, 2));
        assert_eq!(store.prune(&Prune::Stale).expect("it is pruned"), 2);
        assert_eq!(store.stale().expect("a count"), 0);
    }
}
