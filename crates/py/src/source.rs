//! Where results are: in memory, or in a store.

use std::sync::{Arc, Mutex, PoisonError};

use fairwire_sim::campaign::Plan;
use fairwire_sim::results::{self, CellResult};
use fairwire_sweep::{Store, StoreError};

/// Where results are.
#[derive(Debug)]
pub(crate) enum Source {
    /// In memory.
    Memory(results::Results),
    /// In a store: those of a sweep.
    Stored(Stored),
}

/// A sweep with its store.
#[derive(Clone, Debug)]
pub(crate) struct Stored(Arc<Mutex<(Plan, Store)>>);

impl Stored {
    pub(crate) fn new(plan: Plan, store: Store) -> Self {
        Self(Arc::new(Mutex::new((plan, store))))
    }

    /// Calls `with` with the sweep and its store.
    pub(crate) fn with<T>(&self, with: impl FnOnce(&mut Plan, &mut Store) -> T) -> T {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (plan, store) = &mut *both;
        with(plan, store)
    }
}

impl Source {
    /// Calls `see` with each cell and returns what it returns, in the order of the cells.
    pub(crate) fn map<T>(
        &self,
        mut see: impl FnMut(&CellResult) -> T,
    ) -> Result<Vec<T>, StoreError> {
        match self {
            Self::Memory(results) => Ok(results.cells.iter().map(see).collect()),
            Self::Stored(stored) => stored.with(|plan, store| plan.map_cells(store, &mut see)),
        }
    }

    /// Returns one cell.
    pub(crate) fn cell(&self, number: usize) -> Result<Option<CellResult>, StoreError> {
        match self {
            Self::Memory(results) => Ok(results.cells.get(number).cloned()),
            Self::Stored(stored) => stored.with(|plan, store| plan.cell(number, store)),
        }
    }

    /// Returns the number of runs.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Memory(results) => {
                let runs = |cell: &CellResult| cell.runs.len() + cell.unperturbed.iter().len();
                results.cells.iter().map(|cell| runs(cell) as u64).sum()
            }
            Self::Stored(stored) => stored.with(|plan, _| plan.there()),
        }
    }

    /// Returns the results as they are in memory; those of a store are read.
    pub(crate) fn whole(&self) -> Result<results::Results, StoreError> {
        match self {
            Self::Memory(results) => Ok(results.clone()),
            Self::Stored(stored) => {
                let cells = self.map(CellResult::clone)?;
                Ok(stored.with(|plan, _| results::Results {
                    name: plan.name().to_owned(),
                    version: env!("CARGO_PKG_VERSION"),
                    partial: !plan.is_complete(),
                    notes: fairwire_scenario::notes(plan.cells()),
                    cells,
                }))
            }
        }
    }
}
