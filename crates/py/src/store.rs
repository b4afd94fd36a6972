//! The upkeep of stores.

use std::path::PathBuf;
use std::sync::Mutex;

use fairwire_sweep::columns::{labels, texts};
use fairwire_sweep::{
    Axis, Listed, Origin, Prune, Store as LabStore, StoreError, Table as LabTable,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::stored;
use crate::table::Table;

/// A store, for its upkeep.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Store(Mutex<LabStore>);

impl Store {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        with: impl FnOnce(&mut LabStore) -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut store = self
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            store.refresh()?;
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
                LabStore::repair(&path, origin).map(|(store, _)| store)
            } else {
                LabStore::open_existing(&path, origin)
            }
        });
        Ok(Self(Mutex::new(store.map_err(stored)?)))
    }

    /// How many runs of the present sources there are.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let runs = self.with(py, |store| Ok(store.len()))?;
        Ok(usize::try_from(runs).unwrap_or(usize::MAX))
    }

    /// How many runs other sources computed.
    #[getter]
    fn stale(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |store| Ok(store.stale()))
    }

    /// How many pieces are damaged.
    #[getter]
    fn damaged(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |store| Ok(store.damaged()))
    }

    /// Compares all Parquet files with their checksums.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, LabStore::verify)
    }

    /// The Parquet files of a table.
    fn files(&self, py: Python<'_>, table: &str) -> PyResult<Vec<PathBuf>> {
        let Some(table) = LabTable::ALL.into_iter().find(|it| it.name() == table) else {
            let names = LabTable::ALL.map(LabTable::name).join(", ");
            let text = format!("no table {table:?}: there are {names}");
            return Err(PyValueError::new_err(text));
        };
        self.with(py, |store| Ok(store.files(table)))
    }

    /// The sweeps: a row for each cell of each.
    fn sweeps(&self, py: Python<'_>) -> PyResult<Table> {
        let sweeps: Vec<Listed> = self.with(py, |store| store.sweeps())?;
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
        Table::new(vec![
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
        ])
    }

    /// Compacts the segments of processes that have ended. Returns how many runs that were.
    fn compact(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |store| Ok(store.compact()?.written))
    }

    /// Writes the runs that are in segments only as Parquet into an empty folder, and changes nothing in the store.
    /// Returns whether there are any.
    fn export_segments(&self, py: Python<'_>, folder: PathBuf) -> PyResult<bool> {
        self.with(py, |store| store.export_segments(&folder))
    }

    /// The cells of a sweep, with a column for each axis, as of the tables of its results.
    fn cells(&self, py: Python<'_>, id: &str) -> PyResult<Table> {
        let sweeps: Vec<Listed> = self.with(py, |store| store.sweeps())?;
        let Some(sweep) = sweeps.into_iter().find(|it| it.id == id) else {
            return Err(PyValueError::new_err(format!("no sweep {id}")));
        };
        let cells = &sweep.cells;
        let mut columns = vec![
            texts("cell", cells.iter().map(|it| it.cell.as_str())),
            texts("scenario", cells.iter().map(|it| it.scenario.as_str())),
        ];
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in cells.iter().flat_map(|it| &it.axes) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        for axis in names {
            let values = cells.iter().map(|cell| {
                let value = cell.axes.iter().find(|(name, _)| name == axis);
                value.map(|(_, value)| value.as_str())
            });
            columns.extend(Axis::new(axis, &values.clone().flatten()).columns(values));
        }
        Table::new(columns)
    }

    /// Removes runs of other sources, or with `unlisted` those of no sweep. Returns how many.
    fn prune(&self, py: Python<'_>, unlisted: bool) -> PyResult<u64> {
        let what = if unlisted {
            Prune::Unlisted
        } else {
            Prune::Stale
        };
        self.with(py, |store| Ok(store.prune(&what)?.removed))
    }

    /// Adds the runs and sweeps of another store. Returns how many runs were new.
    fn merge(&self, py: Python<'_>, other: PathBuf) -> PyResult<u64> {
        self.with(py, |store| {
            let mut other = LabStore::open_existing(&other, store.origin().as_ref().clone())?;
            store.merge(&mut other)
        })
    }
}
