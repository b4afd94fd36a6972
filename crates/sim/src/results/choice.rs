//! The choice of time series to write.

use std::collections::BTreeSet;

use super::{CellResult, SeriesMetric, Subject};

/// The choice of time series to write.
#[derive(Clone, Debug, Default)]
pub enum SeriesChoice {
    /// None.
    None,
    /// These series.
    Only(BTreeSet<SeriesName>),
    /// Those of every cell whose scenario sets `measure.series`.
    #[default]
    All,
}

/// The name of a time series of a cell; each run of the cell has one of that name.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct SeriesName {
    /// The cell's name.
    pub cell: String,
    /// What it describes: a flow, a link, or all flows.
    pub subject: Subject,
    /// Its metric.
    pub metric: SeriesMetric,
}

impl SeriesChoice {
    /// Returns whether the series `metric` of `subject` in `cell` is written.
    pub(super) fn has(&self, cell: &CellResult, subject: &Subject, metric: SeriesMetric) -> bool {
        match self {
            Self::None => false,
            Self::Only(names) => names.contains(&SeriesName {
                cell: cell.name.clone(),
                subject: subject.clone(),
                metric,
            }),
            Self::All => cell.scenario.measure.series.is_some(),
        }
    }
}
