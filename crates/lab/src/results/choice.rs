//! Which time series are written.

use std::collections::BTreeSet;

use super::{CellResult, SeriesMetric, Subject};

/// Which time series are written.
#[derive(Clone, Debug, Default)]
pub enum SeriesChoice {
    /// None.
    None,
    /// These.
    Only(BTreeSet<SeriesName>),
    /// Those of every cell whose scenario sets `measure.series`.
    #[default]
    All,
}

/// What tells a time series of a cell from the others; each run of the cell has one.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct SeriesName {
    /// The cell.
    pub cell: String,
    /// Whom it is about.
    pub subject: Subject,
    /// What it is.
    pub metric: SeriesMetric,
}

impl SeriesChoice {
    /// Is the series `metric` of `subject` in `cell` among them?
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
