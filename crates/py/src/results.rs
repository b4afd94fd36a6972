//! Results as tables.

use std::path::PathBuf;
use std::sync::Arc;

use fairwire_lab::results::{
    self, CellResult, Row, RunResult, SeriesMetric, Subject, overview, summary, to_json,
};
use fairwire_lab::scenario::Cell;
use fairwire_measure::Spread;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::run::capture;
use crate::table::{Column, Table, counts, labels, numbers, texts};

/// What the runs of a scenario or of a paper measured.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Results {
    results: results::Results,
    cells: Arc<[Cell]>,
}

impl Results {
    pub(crate) fn new(results: results::Results, cells: Arc<[Cell]>) -> Self {
        Self { results, cells }
    }

    /// Returns every run with its cell, in order.
    fn runs(&self) -> impl Iterator<Item = (&CellResult, &RunResult)> {
        let cells = self.results.cells.iter();
        cells.flat_map(|cell| {
            cell.runs
                .iter()
                .chain(&cell.unperturbed)
                .map(move |run| (cell, run))
        })
    }

    /// Returns the names of all axes, in the order in which cells have them.
    fn axes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (axis, _) in self.results.cells.iter().flat_map(|cell| &cell.axes) {
            if !names.contains(&axis.as_str()) {
                names.push(axis);
            }
        }
        names
    }

    /// Returns a column for each axis, with a value for the cell of each row. An axis that is called like another
    /// column gets the prefix `axis-`.
    fn with_axes(&self, columns: Vec<Column>, rows: &[&CellResult]) -> PyResult<Table> {
        let taken: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let axes = self.axes().into_iter().map(|axis| {
            let values = rows.iter().map(|cell| {
                let value = cell.axes.iter().find(|(name, _)| name == axis);
                value.map_or("", |(_, value)| value.as_str())
            });
            let name = if taken.iter().any(|name| name == axis) {
                format!("axis-{axis}")
            } else {
                axis.to_owned()
            };
            labels(&name, values)
        });
        let axes: Vec<Column> = axes.collect();
        Table::new(columns.into_iter().chain(axes).collect())
    }

    fn cell(&self, name: Option<&str>) -> PyResult<(&CellResult, &Cell)> {
        let mut both = self.results.cells.iter().zip(self.cells.iter());
        let found = match name {
            Some(name) => both.find(|(cell, _)| cell.name == name),
            None => both.next(),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self
                .results
                .cells
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            let name = name.unwrap_or("any");
            PyKeyError::new_err(format!("no cell {name}: there are {}", names.join(", ")))
        })
    }
}

/// Returns the seed of a run; none for the unperturbed run.
fn seed(run: &RunResult) -> Option<u64> {
    run.perturbed.then_some(run.seed)
}

#[pymethods]
impl Results {
    /// The name of the scenario or paper.
    #[getter]
    fn name(&self) -> &str {
        &self.results.name
    }

    /// The names of the cells.
    #[getter]
    fn cells(&self) -> Vec<&str> {
        self.results
            .cells
            .iter()
            .map(|cell| cell.name.as_str())
            .collect()
    }

    /// The names of the axes.
    #[getter]
    fn axis_names(&self) -> Vec<&str> {
        self.axes()
    }

    /// Whether runs are missing because the campaign was interrupted.
    #[getter]
    fn partial(&self) -> bool {
        self.results.partial
    }

    /// Notes for the reader, on the scenario and on its runs, each once.
    #[getter]
    fn notes(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        let all = self.results.notes.iter().map(String::as_str);
        for note in all.chain(self.results.cells.iter().flat_map(CellResult::notes)) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// The number of runs.
    fn __len__(&self) -> usize {
        self.runs().count()
    }

    /// Every value: a row for each cell, seed, subject, window and metric.
    fn values(&self) -> PyResult<Table> {
        let rows: Vec<_> = self
            .runs()
            .flat_map(|(cell, run)| run.values.iter().map(move |value| (cell, run, value)))
            .collect();
        let columns = vec![
            labels("cell", rows.iter().map(|(cell, ..)| cell.name.as_str())),
            counts("seed", rows.iter().map(|(_, run, _)| seed(run))),
            labels("kind", rows.iter().map(|(.., value)| value.subject.kind())),
            labels("of", rows.iter().map(|(.., value)| value.subject.name())),
            labels(
                "window",
                rows.iter().map(|(.., value)| value.window.as_str()),
            ),
            labels("metric", rows.iter().map(|(.., value)| value.metric.name())),
            numbers("value", rows.iter().map(|(.., value)| Some(value.value))),
            labels("unit", rows.iter().map(|(.., value)| value.metric.unit())),
        ];
        let cells: Vec<&CellResult> = rows.iter().map(|(cell, ..)| *cell).collect();
        self.with_axes(columns, &cells)
    }

    /// The means over the seeds with 95 % intervals: a row for each cell, subject, window and metric.
    fn summary(&self) -> PyResult<Table> {
        let rows: Vec<(&CellResult, Row)> = self
            .results
            .cells
            .iter()
            .flat_map(|cell| summary(cell).into_iter().map(move |row| (cell, row)))
            .collect();
        let half = |row: &Row| match row.estimate.as_ref()?.spread {
            Spread::None => None,
            Spread::HalfWidth(half) => Some(half),
        };
        let estimates = || rows.iter().map(|(_, row)| row.estimate.as_ref());
        let columns = vec![
            labels("cell", rows.iter().map(|(cell, _)| cell.name.as_str())),
            labels("kind", rows.iter().map(|(_, row)| row.subject.kind())),
            labels("of", rows.iter().map(|(_, row)| row.subject.name())),
            labels("window", rows.iter().map(|(_, row)| row.window.as_str())),
            labels("metric", rows.iter().map(|(_, row)| row.metric.name())),
            labels("unit", rows.iter().map(|(_, row)| row.metric.unit())),
            counts("n", estimates().map(|it| Some(it.map_or(0, |it| it.count)))),
            numbers("mean", estimates().map(|it| it.map(|it| it.mean))),
            numbers("half_width_95", rows.iter().map(|(_, row)| half(row))),
            numbers("unperturbed", rows.iter().map(|(_, row)| row.unperturbed)),
        ];
        let cells: Vec<&CellResult> = rows.iter().map(|(cell, _)| *cell).collect();
        self.with_axes(columns, &cells)
    }

    /// The runs: cell, seed, digest, packets that crossed links, and notes.
    fn runs_table(&self) -> PyResult<Table> {
        let rows: Vec<_> = self.runs().collect();
        let digests: Vec<String> = rows.iter().map(|(_, run)| run.digest.to_string()).collect();
        let notes: Vec<String> = rows.iter().map(|(_, run)| run.notes.join("; ")).collect();
        let columns = vec![
            labels("cell", rows.iter().map(|(cell, _)| cell.name.as_str())),
            counts("seed", rows.iter().map(|(_, run)| seed(run))),
            texts("digest", digests.iter().map(String::as_str)),
            counts(
                "packet_hops",
                rows.iter().map(|(_, run)| Some(run.packet_hops)),
            ),
            texts("notes", notes.iter().map(String::as_str)),
        ];
        let cells: Vec<&CellResult> = rows.iter().map(|(cell, _)| *cell).collect();
        self.with_axes(columns, &cells)
    }

    /// The time series of one metric, of one subject or of all.
    #[pyo3(signature = (metric, of=None, cell=None))]
    fn series(&self, metric: &str, of: Option<&str>, cell: Option<&str>) -> PyResult<Table> {
        let Some(metric) = SeriesMetric::find(metric) else {
            let names: Vec<&str> = SeriesMetric::ALL.iter().map(|it| it.name()).collect();
            let text = format!("no series {metric:?}: there are {}", names.join(", "));
            return Err(PyValueError::new_err(text));
        };
        if cell.is_some() {
            self.cell(cell)?;
        }
        let is_wanted = |subject: &Subject| of.is_none_or(|of| subject.name() == of);
        let wanted = self
            .runs()
            .filter(|(it, _)| cell.is_none_or(|cell| it.name == cell));
        let mut rows = Vec::new();
        for (cell, run) in wanted {
            let all = run.series.iter().filter(|it| it.metric == metric);
            for series in all.filter(|it| is_wanted(&it.subject)) {
                for (number, value) in (1u64..).zip(&series.values) {
                    let time = (run.period * number).as_secs_f64();
                    rows.push((cell, seed(run), &series.subject, time, *value));
                }
            }
        }
        let columns = vec![
            labels("cell", rows.iter().map(|row| row.0.name.as_str())),
            counts("seed", rows.iter().map(|row| row.1)),
            labels("kind", rows.iter().map(|row| row.2.kind())),
            labels("of", rows.iter().map(|row| row.2.name())),
            numbers("time", rows.iter().map(|row| Some(row.3))),
            numbers(
                "value",
                rows.iter().map(|row| (!row.4.is_nan()).then_some(row.4)),
            ),
            labels("unit", rows.iter().map(|_| metric.unit())),
        ];
        let cells: Vec<&CellResult> = rows.iter().map(|row| row.0).collect();
        self.with_axes(columns, &cells)
    }

    /// The table that the command prints.
    fn text(&self) -> String {
        match self.results.cells.as_slice() {
            [cell] => results::table(cell),
            cells => overview(cells),
        }
    }

    /// The results as JSON (docs/results.md).
    fn json(&self) -> String {
        to_json(&self.results).to_string()
    }

    /// Runs the first seed of a cell again and writes its packets as pcapng. Returns a note on what was captured.
    #[pyo3(signature = (path, cell=None, links=None))]
    fn pcap(
        &self,
        py: Python<'_>,
        path: PathBuf,
        cell: Option<&str>,
        links: Option<Vec<String>>,
    ) -> PyResult<u64> {
        let (_, cell) = self.cell(cell)?;
        capture(py, cell, &path, links.unwrap_or_default())
    }
}
