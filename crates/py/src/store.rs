//! The upkeep of stores.

use std::path::PathBuf;
use std::sync::Mutex;

use fairwire_sim::campaign::RunStore as _;
use fairwire_sweep::columns::{labels, texts};
use fairwire_sweep::{Listed, Origin, Prune, Store as LabStore, StoreError};
use pyo3::prelude::*;

use crate::errors::stored;
use crate::table::Table;

/// A store, for its upkeep.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Store {
    store: Mutex<LabStore>,
    /// What the repair did, if there was one.
    #[pyo3(get)]
    repaired: Option<String>,
}

impl Store {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        with: impl FnOnce(&mut LabStore) -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut store = self
                .store
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            with(&mut store)
        });
        done.map_err(stored)
    }
}

#[pymethods]
impl Store {
    /// Opens a store that exists, and with `repair` sets aside what is damaged.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        origin: (String, String),
        repair: bool,
    ) -> PyResult<Self> {
        let origin = Origin::here(&origin.0, &origin.1);
        let store = py.detach(|| {
            if repair {
                let (store, repair) = LabStore::repair(&path, origin)?;
                Ok((store, Some(repair.to_string())))
            } else {
                Ok((LabStore::open_existing(&path, origin)?, None))
            }
        });
        let (store, repaired) = store.map_err(stored)?;
        Ok(Self {
            store: Mutex::new(store),
            repaired,
        })
    }

    /// How many runs of the present sources there are.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let runs = self.with(py, LabStore::len)?;
        Ok(usize::try_from(runs).unwrap_or(usize::MAX))
    }

    /// How many runs other sources computed.
    #[getter]
    fn stale(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, LabStore::stale)
    }

    /// How many damaged files were set aside.
    #[getter]
    fn damaged(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |store| store.damaged())
    }

    /// Compares everything with its checksums.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, LabStore::verify)
    }

    /// Writes each table as a Parquet file into a folder. Returns the paths.
    fn export(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        self.with(py, |store| store.export(&folder))
    }

    /// The answer to a query in SQL.
    fn sql(&self, py: Python<'_>, query: &str) -> PyResult<Table> {
        self.with(py, |store| store.query(query)).map(Table::new)
    }

    /// Takes a sweep off the list.
    fn forget(&self, py: Python<'_>, sweep: &str) -> PyResult<()> {
        self.with(py, |store| {
            let is_listed = store.forget(sweep)?;
            let missing = || StoreError::NoSweep(sweep.to_owned());
            is_listed.then_some(()).ok_or_else(missing)
        })
    }

    /// The sweeps: a row for each cell of each.
    fn sweeps(&self, py: Python<'_>) -> PyResult<Table> {
        let sweeps: Vec<Listed> = self.with(py, LabStore::sweeps)?;
        let rows = || {
            sweeps
                .iter()
                .flat_map(|it| it.cells.iter().map(move |cell| (it, cell)))
        };
        let axes: Vec<String> = rows()
            .map(|(_, cell)| {
                let axes = cell
                    .axes
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"));
                axes.collect::<Vec<_>>().join("; ")
            })
            .collect();
        Ok(Table::new(vec![
            labels("sweep", rows().map(|(it, _)| it.id.as_str())),
            labels("name", rows().map(|(it, _)| it.name.as_str())),
            labels("title", rows().map(|(it, _)| it.title.as_str())),
            labels("seeds", rows().map(|(it, _)| it.seeds.as_str())),
            labels("version", rows().map(|(it, _)| it.origin.version.as_str())),
            labels("sources", rows().map(|(it, _)| it.origin.sources.as_str())),
            labels("host", rows().map(|(it, _)| it.origin.host.as_str())),
            labels("date", rows().map(|(it, _)| it.origin.date.as_str())),
            texts("cell", rows().map(|(_, cell)| cell.cell.as_str())),
            texts("scenario", rows().map(|(_, cell)| cell.scenario.as_str())),
            texts("axes", axes.iter().map(String::as_str)),
        ]))
    }

    /// Removes runs of other sources, or with `unlisted` those of no sweep. Returns how many.
    fn prune(&self, py: Python<'_>, unlisted: bool) -> PyResult<u64> {
        let what = if unlisted {
            Prune::Unlisted
        } else {
            Prune::Stale
        };
        self.with(py, |store| store.prune(&what))
    }

    /// Adds the runs and sweeps of another store. Returns how many runs were new.
    fn merge(&self, py: Python<'_>, other: PathBuf) -> PyResult<u64> {
        self.with(py, |store| {
            let mut other = LabStore::open_existing(&other, store.origin().as_ref().clone())?;
            store.merge(&mut other)
        })
    }
}
