//! The sweeps that a store lists: what was asked for, when and where.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::key::ScenarioKey;
use crate::name::Name;
use crate::record::Origin;
use crate::regular;
use crate::store::{Store, has_end, paths};
use crate::whole::write_whole;

/// A sweep, as the store lists it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Listed {
    /// The name of its file, without `.json`: equal sweeps have equal names.
    pub id: String,
    /// The name of its scenario file.
    pub name: String,
    /// The title of its first cell's scenario.
    #[serde(default)]
    pub title: String,
    /// Which seeds were wanted, in words.
    #[serde(default)]
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
    pub(crate) fn new(
        (name, title): (&str, &str),
        seeds: String,
        cells: Vec<ListedCell>,
        origin: &Origin,
    ) -> Self {
        Self {
            id: id(name, &cells),
            name: name.to_owned(),
            title: title.to_owned(),
            seeds,
            origin: origin.clone(),
            cells,
        }
    }

    /// Returns the keys of its scenarios.
    pub fn scenarios(&self) -> impl Iterator<Item = ScenarioKey> {
        let cells = self.cells.iter();
        cells.filter_map(|cell| ScenarioKey::from_str(&cell.scenario).ok())
    }
}

/// Reads the file of a sweep.
pub(crate) fn read_listed(path: &Path) -> Result<Listed, StoreError> {
    let json = regular::read(path)?;
    let listed: Listed = serde_json::from_slice(&json).map_err(StoreError::damaged(path))?;
    // A pruning removes what no list has.
    if listed.id != id(&listed.name, &listed.cells) {
        return Err(StoreError::damaged(path)("its cells have changed"));
    }
    Ok(listed)
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
    /// Returns the sweeps that were done with this store.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn sweeps(&self) -> Result<Vec<Listed>, StoreError> {
        let mut files = paths(&self.folder().join("sweeps"))?;
        files.retain(|path| has_end(path, "json"));
        files.iter().map(|path| read_listed(path)).collect()
    }

    /// Lists a sweep.
    pub(crate) fn list(&self, sweep: &Listed) -> Result<(), StoreError> {
        let lists = self.folder().join("sweeps");
        fs::create_dir_all(&lists).map_err(StoreError::write(&lists))?;
        let name = Name::try_from(format!("{}.json", sweep.id));
        let path = name.map_err(StoreError::damaged(&lists))?.within(&lists);
        let written = write_whole(&path, &serde_json::to_vec(sweep).expect("texts are JSON"));
        // A full disk keeps nobody from reading a sweep that is listed already.
        if path.exists() { Ok(()) } else { written }
    }
}
