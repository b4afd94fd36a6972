//! The sweeps that a store lists: what was asked for, when and where.

use std::str::FromStr;

use fairwire_sim::campaign::{Listing, ScenarioKey};
use rusqlite::{ToSql, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::record::Origin;
use crate::store::Store;

/// What stands between the seeds of the same sweep in two stores that were merged.
const AND: &str = " and ";

/// A sweep, as the store lists it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Listed {
    /// Its identifier: equal sweeps have equal ones.
    pub id: String,
    /// The name of its scenario file.
    pub name: String,
    /// The title of its first cell's scenario.
    pub title: String,
    /// Which seeds were wanted, in words. After a merge, those of both stores.
    pub seeds: String,
    /// When, where and by which version it was last begun.
    pub origin: Origin,
    /// Its cells.
    pub cells: Vec<ListedCell>,
}

/// A cell of a sweep.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ListedCell {
    /// Its name.
    pub cell: String,
    /// The key of its scenario.
    pub scenario: String,
    /// The names of its axes with their values.
    pub axes: Vec<(String, String)>,
}

impl Listed {
    /// Describes a sweep.
    pub(crate) fn new(sweep: &Listing<'_>, origin: &Origin) -> Self {
        let (id, cells) = described(sweep);
        let first = sweep.cells.first();
        Self {
            id,
            name: sweep.name.to_owned(),
            title: first.map_or_else(String::new, |(cell, _)| cell.scenario.title.clone()),
            seeds: sweep.seeds.clone(),
            origin: origin.clone(),
            cells,
        }
    }

    /// Joins what another store knows about the same sweep: the seeds of both, and the rest of the newer one.
    fn joined(self, other: Self) -> Self {
        let mut seeds: Vec<&str> = Vec::new();
        for one in self.seeds.split(AND).chain(other.seeds.split(AND)) {
            if !seeds.contains(&one) {
                seeds.push(one);
            }
        }
        let seeds = seeds.join(AND);
        let newer = if other.origin.date > self.origin.date {
            other
        } else {
            self
        };
        Self { seeds, ..newer }
    }

    /// Returns the keys of its scenarios.
    pub fn scenarios(&self) -> impl Iterator<Item = ScenarioKey> {
        let cells = self.cells.iter();
        cells.filter_map(|cell| ScenarioKey::from_str(&cell.scenario).ok())
    }
}

/// Returns the identifier that a sweep has in a store ([`Listed::id`]).
pub fn sweep_id(sweep: &Listing<'_>) -> String {
    described(sweep).0
}

/// Returns the identifier of a sweep, and its cells as they are listed.
fn described(sweep: &Listing<'_>) -> (String, Vec<ListedCell>) {
    let cells = sweep.cells.iter().map(|(cell, scenario)| ListedCell {
        cell: cell.name.clone(),
        scenario: scenario.to_string(),
        axes: cell.axes.clone(),
    });
    let cells: Vec<ListedCell> = cells.collect();
    (id(sweep.name, &cells), cells)
}

/// Returns the hash of the cells of a sweep, by which equal sweeps are equal.
fn id(name: &str, cells: &[ListedCell]) -> String {
    let mut hash = Sha256::new();
    hash.update(name);
    for cell in cells {
        hash.update(&cell.cell);
        hash.update(&cell.scenario);
    }
    let mut id = [0; 8];
    id.copy_from_slice(&hash.finalize()[..8]);
    format!("{:016x}", u64::from_be_bytes(id))
}

impl Store {
    /// Returns the sweeps that were done with this store, in the order of their identifiers.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn sweeps(&mut self) -> Result<Vec<Listed>, StoreError> {
        self.listed("1", &[])
    }

    /// Returns the sweeps of the list that a condition selects.
    pub(crate) fn listed(
        &mut self,
        condition: &str,
        parameters: &[&dyn ToSql],
    ) -> Result<Vec<Listed>, StoreError> {
        let rows: Result<Vec<(String, String)>, _> = self.db.read(|db| {
            let query = format!("SELECT id, json FROM sweep WHERE {condition} ORDER BY id");
            let mut rows = db.prepare_cached(&query)?;
            rows.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        });
        let rows = rows.map_err(|error| error.within("the list of sweeps"))?;
        let read = |(key, json): (String, String)| {
            let damaged = |reason: String| {
                StoreError::damaged(&self.db.path)(format!("sweep {key}: {reason}"))
            };
            let listed: Listed =
                serde_json::from_str(&json).map_err(|error| damaged(error.to_string()))?;
            // A pruning removes what no sweep has.
            if listed.id != key || listed.id != id(&listed.name, &listed.cells) {
                return Err(damaged("its cells have changed".to_owned()));
            }
            Ok(listed)
        };
        rows.into_iter().map(read).collect()
    }

    /// Puts a sweep into the list. An entry that is damaged is not replaced: that is for a repair, which counts it.
    pub(crate) fn enlist(&mut self, sweep: &Listed) -> Result<(), StoreError> {
        let is_listed = !self.listed("id = ?1", &[&sweep.id])?.is_empty();
        let json = serde_json::to_string(sweep).expect("texts are JSON");
        let insert = "INSERT OR REPLACE INTO sweep VALUES (?1, ?2)";
        let written = self
            .db
            .write(|db| db.execute(insert, params![sweep.id, json]));
        match written {
            // A full disk keeps nobody from reading a sweep that is listed already.
            Err(error) if !is_listed => Err(error),
            _ => Ok(()),
        }
    }

    /// Lists a sweep of another store. If it is listed here, too, what both know is kept.
    pub(crate) fn list_too(&mut self, sweep: Listed) -> Result<(), StoreError> {
        let own = self.listed("id = ?1", &[&sweep.id])?.pop();
        let sweep = match own {
            Some(own) => own.joined(sweep),
            None => sweep,
        };
        self.enlist(&sweep)
    }

    /// Takes a sweep off the list. Its runs stay until they are pruned. Returns whether it was listed.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn forget(&mut self, id: &str) -> Result<bool, StoreError> {
        let removed = self
            .db
            .write(|db| db.execute("DELETE FROM sweep WHERE id = ?1", [id]))?;
        Ok(removed > 0)
    }
}
