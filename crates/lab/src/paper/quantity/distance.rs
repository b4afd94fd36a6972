//! How far runs are from what a paper printed, as one number.

use serde::Deserialize;

use super::{Made, Names, Quantity, Written};

/// `distance = { published, cells, flow, metric, windows, published_metrics }` as it is written: the root
/// mean square of what is measured less what is printed, over all cells and windows.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(in crate::paper) struct WrittenDistance {
    /// The file with the printed numbers.
    published: String,
    /// The cells that are held against them.
    cells: Vec<String>,
    /// What the file calls each of these cells, if that is not their own name.
    #[serde(default)]
    published_cells: Vec<String>,
    flow: String,
    metric: String,
    windows: Vec<String>,
    /// What the file calls the metric in each window.
    published_metrics: Vec<String>,
}

impl WrittenDistance {
    pub(super) fn resolve(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let printed_cells = if self.published_cells.is_empty() {
            &self.cells
        } else {
            &self.published_cells
        };
        let pairs = self.cells.len() == printed_cells.len()
            && self.windows.len() == self.published_metrics.len();
        if !pairs || self.cells.is_empty() || self.windows.is_empty() {
            return Err(
                "a distance has as many 'published_metrics' as 'windows', as many 'published_cells', if any, as \
                 'cells', and at least one of each"
                    .into(),
            );
        }
        let mut parts = Vec::with_capacity(self.cells.len() * self.windows.len());
        for (cell, printed_cell) in self.cells.iter().zip(printed_cells) {
            for (window, printed) in self.windows.iter().zip(&self.published_metrics) {
                let measured = Written {
                    cell: Some(cell.clone()),
                    flow: Some(self.flow.clone()),
                    metric: Some(self.metric.clone()),
                    window: Some(window.clone()),
                    ..Written::default()
                };
                let printed = Written {
                    published: Some(self.published.clone()),
                    cell: Some(printed_cell.clone()),
                    flow: Some(self.flow.clone()),
                    metric: Some(printed.clone()),
                    ..Written::default()
                };
                let difference = Written {
                    difference: Some(vec![measured, printed]),
                    ..Written::default()
                };
                parts.push(difference.resolve(names)?);
            }
        }
        Ok(Quantity::Made {
            how: Made::Rms,
            parts,
        })
    }
}

/// The root mean square; `None` of nothing.
pub(super) fn root_mean_square(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (!values.is_empty()).then(|| f64::sqrt(squares / values.len() as f64))
}

/// What to call the distance of these cells: the first, or the first and the last.
pub(super) fn label(parts: &[Quantity]) -> String {
    let cells: Vec<&str> = parts.iter().flat_map(Quantity::cells).collect();
    match (cells.first(), cells.last()) {
        (Some(first), Some(last)) if first == last => format!("r.m.s. of {first}"),
        (Some(first), Some(last)) => format!("r.m.s. of {first} .. {last}"),
        _ => "r.m.s.".to_owned(),
    }
}
