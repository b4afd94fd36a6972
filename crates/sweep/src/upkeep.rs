//! The upkeep of a store: pruning and merging.

use std::collections::BTreeSet;
use std::fs;

use rusqlite::params;

use crate::error::StoreError;
use crate::list::Listed;
use crate::record::SOURCES;
use crate::repair::ASIDE;
use crate::store::Store;

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
    /// Returns the sweeps whose runs stay when the sweeps `forgotten` are taken off the list and [`Prune::Unlisted`]
    /// follows.
    ///
    /// # Errors
    /// Those of that pruning: a part of the list is lost, or no sweep would be left on it.
    pub fn kept(&mut self, forgotten: &[String]) -> Result<Vec<Listed>, StoreError> {
        if let Some(path) = self.list_lost() {
            return Err(StoreError::ListLost(path));
        }
        let mut sweeps = self.sweeps()?;
        sweeps.retain(|sweep| !forgotten.contains(&sweep.id));
        let runs = self.len()? + self.stale()?;
        if sweeps.is_empty() && runs > 0 {
            let path = self.folder().to_owned();
            return Err(StoreError::NothingListed { path, runs });
        }
        Ok(sweeps)
    }

    /// Removes runs, and returns how many.
    ///
    /// # Errors
    /// See [`StoreError`]. The store stays whole.
    pub fn prune(&mut self, what: &Prune) -> Result<u64, StoreError> {
        let listed: BTreeSet<String> = match what {
            Prune::Stale => BTreeSet::new(),
            Prune::Unlisted => {
                let sweeps = self.kept(&[])?;
                let scenarios = sweeps.iter().flat_map(Listed::scenarios);
                scenarios.map(|it| it.to_string()).collect()
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

    /// Adds the runs and the sweeps of another store. Returns how many runs were new. Of a sweep that both list, the seeds
    /// of both are listed, and the rest of the newer one.
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
            new += self.copy(other, from, to)?.1;
            from = to;
        }
        for sweep in other.sweeps()? {
            self.list_too(sweep)?;
        }
        self.close()?;
        if other.list_lost().is_some() {
            // Some of the runs that have come are in sweeps of which this list knows nothing.
            self.note_list_lost()?;
        }
        Ok(new)
    }

    /// Adds the runs of another store that have these numbers, up to `to` without it. Returns how many there are, and how
    /// many were new.
    pub(crate) fn copy(
        &mut self,
        other: &mut Self,
        from: i64,
        to: i64,
    ) -> Result<(usize, u64), StoreError> {
        let runs = other.raw("r.id >= ?1 AND r.id < ?2", params![from, to])?;
        let keys: BTreeSet<&str> = runs.runs.iter().map(|it| it.scenario.as_str()).collect();
        let texts = keys.into_iter().map(|key| Ok((key, other.text(key)?)));
        let texts: Vec<_> = texts.collect::<Result<_, StoreError>>()?;
        let new = self.add(&runs, &|scenario| {
            let found = texts.iter().find(|(key, _)| *key == scenario);
            found.and_then(|(_, text)| text.clone())
        })?;
        Ok((runs.runs.len(), new))
    }

    /// Returns how many damaged files a [repair](Store::repair) has set aside, as `*.damaged`.
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
}
