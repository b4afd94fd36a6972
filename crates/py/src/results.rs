//! Results as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use fairwire_scenario::Cell;
use fairwire_sim::results::{
    self, Axis, CellResult, Metric, Question, SeriesMetric, means, overview, to_json,
};
use fairwire_sweep::columns::Column;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::capture::capture;
use crate::errors::{stored, wrong};
use crate::source::Source;
use crate::table::Table;
use crate::tabulate::{self, Tabulate};

/// What the runs of a scenario or of a paper measured.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Results {
    source: Source,
    name: String,
    cells: Arc<[Cell]>,
    how: Tabulate,
}

impl Results {
    pub(crate) fn new(source: Source, name: String, cells: Arc<[Cell]>) -> Self {
        let axes = Axis::of(&cells.iter().map(|cell| cell.axes.as_slice()));
        Self {
            source,
            name,
            how: Tabulate { axes },
            cells,
        }
    }

    /// Returns what `see` says of each cell, in order, without holding the interpreter.
    fn map<T: Send>(
        &self,
        py: Python<'_>,
        see: impl FnMut(&CellResult) -> T + Send,
    ) -> PyResult<Vec<T>> {
        py.detach(|| self.source.map(see)).map_err(stored)
    }

    /// Returns a table of what `tabulate` makes of each cell.
    fn table(
        &self,
        py: Python<'_>,
        tabulate: impl Fn(&Tabulate, &CellResult) -> Vec<Column> + Sync,
    ) -> PyResult<Table> {
        let how = &self.how;
        let mut tables = self.map(py, |cell| tabulate(how, cell))?;
        if tables.is_empty() {
            // Nothing was run, and a table without rows still has its columns.
            let empty = self.cells.first().map(empty);
            tables.extend(empty.map(|cell| tabulate(how, &cell)));
        }
        py.detach(|| Table::joined(tables))
    }

    /// Returns the place of a cell.
    fn position(&self, name: &str) -> PyResult<usize> {
        let found = self.cells.iter().position(|cell| cell.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.cells.iter().map(|it| it.name.as_str()).collect();
            PyKeyError::new_err(format!("no cell {name}: there are {}", names.join(", ")))
        })
    }

    /// Returns a cell with its place; the first one without a name.
    fn cell(&self, name: Option<&str>) -> PyResult<(usize, &Cell)> {
        let place = name.map(|name| self.position(name)).transpose()?;
        let place = place.unwrap_or_default();
        let found = self.cells.get(place).map(|cell| (place, cell));
        found.ok_or_else(|| PyKeyError::new_err("there is no cell"))
    }

    /// Returns the results of one cell.
    fn one(&self, py: Python<'_>, place: usize) -> PyResult<CellResult> {
        let found = py.detach(|| self.source.cell(place)).map_err(stored)?;
        Ok(found.unwrap_or_else(|| empty(&self.cells[place])))
    }
}

/// Returns the names of the flows or links of which a cell has this series.
fn subjects(cell: &CellResult, metric: SeriesMetric) -> BTreeSet<String> {
    let series = tabulate::runs(cell).flat_map(|run| &run.series);
    let found = series.filter(|it| it.metric == metric);
    found.map(|it| it.subject.name().to_owned()).collect()
}

/// Returns the series of a flow or link, which is one of those that are there.
fn named(
    table: Table,
    metric: SeriesMetric,
    of: &str,
    there: &BTreeSet<String>,
) -> PyResult<Table> {
    // Cells may have different flows, but a name that no cell has is a mistake.
    if table.rows() > 0 || there.is_empty() {
        return Ok(table);
    }
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    let (metric, there) = (metric.name(), there.join(", "));
    let text = format!("no series {metric} of {of}: there are {there}");
    Err(PyValueError::new_err(text))
}

/// Returns the results of a cell of which no run is finished.
fn empty(cell: &Cell) -> CellResult {
    CellResult {
        name: cell.name.clone(),
        axes: cell.axes.clone(),
        scenario: cell.scenario.clone(),
        provenance: BTreeMap::new(),
        runs: Vec::new(),
        unperturbed: None,
        partial: true,
    }
}

#[pymethods]
impl Results {
    /// The name of the scenario or paper.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The names of the cells.
    #[getter]
    fn cells(&self) -> Vec<&str> {
        self.cells.iter().map(|cell| cell.name.as_str()).collect()
    }

    /// The names of the axes.
    #[getter]
    fn axis_names(&self) -> Vec<&str> {
        self.how.axes.iter().map(|it| it.name.as_str()).collect()
    }

    /// For each cell the values of its axes as texts, by their names.
    #[getter]
    fn axis_texts(&self) -> Vec<BTreeMap<&str, &str>> {
        let cells = self.cells.iter().map(|cell| cell.axes.iter());
        cells
            .map(|axes| {
                axes.map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect()
            })
            .collect()
    }

    /// The flows that stand for all in a plot of these cells, `most` at most, each with how many it stands for in words.
    fn representatives(&self, cells: Vec<String>, most: usize) -> Vec<(String, Option<String>)> {
        let cells = self.cells.iter().filter(|it| cells.contains(&it.name));
        let cells: Vec<CellResult> = cells.map(empty).collect();
        let found = results::Representative::of(&cells, most).into_iter();
        found
            .map(|it| {
                let among = it.among();
                (it.flow, among)
            })
            .collect()
    }

    /// Whether runs are missing because they were interrupted.
    #[getter]
    fn partial(&self, py: Python<'_>) -> bool {
        match &self.source {
            Source::Memory(results) => results.partial,
            Source::Stored(stored) => py.detach(|| stored.with(|plan, _| !plan.is_complete())),
        }
    }

    /// Notes for the reader, on the scenario and on its runs, each once.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut notes: Vec<String> = match &self.source {
            Source::Memory(results) => results.notes.clone(),
            Source::Stored(_) => fairwire_scenario::notes(&self.cells),
        };
        let on_cell = |cell: &CellResult| {
            let notes = cell.notes().into_iter().map(str::to_owned);
            notes.collect::<Vec<String>>()
        };
        let on_cells = py.detach(|| match &self.source {
            Source::Memory(results) => Ok(results.cells.iter().map(on_cell).collect::<Vec<_>>()),
            Source::Stored(stored) => stored.with(|plan, store| {
                plan.map_cells(store, |cell| {
                    on_cell(cell).into_iter().chain(plan.note(cell)).collect()
                })
            }),
        });
        for note in on_cells.map_err(stored)?.into_iter().flatten() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        Ok(notes)
    }

    /// The number of runs.
    fn __len__(&self, py: Python<'_>) -> usize {
        let count = py.detach(|| self.source.count());
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Every value: a row for each cell, seed, subject, window and metric.
    fn values(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Tabulate::values)
    }

    /// Every value of the unperturbed runs.
    fn unperturbed(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Tabulate::unperturbed)
    }

    /// The means over the seeds with 95 % intervals: a row for each cell, subject, window and metric.
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Tabulate::summary)
    }

    /// One mean for each cell, over several flows or links, or of a difference.
    #[pyo3(signature = (metric, of, minus, against, window, is_total))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn mean(
        &self,
        py: Python<'_>,
        metric: &str,
        of: Vec<String>,
        minus: Option<Vec<String>>,
        against: Option<&str>,
        window: Option<String>,
        is_total: bool,
    ) -> PyResult<Table> {
        let base = against.map(|name| self.position(name)).transpose()?;
        let metric: Metric = metric.parse().map_err(wrong)?;
        let question = Question {
            metric,
            window,
            of,
            minus,
            is_total,
        };
        let answers = self.map(py, |cell| question.ask(cell))?;
        let means = means(answers, base).map_err(PyValueError::new_err)?;
        let rows = self
            .cells
            .iter()
            .zip(means)
            .map(|(cell, mean)| self.how.mean(&empty(cell), mean, metric.unit()));
        Table::joined(rows)
    }

    /// The runs: cell, seed, digest, packets that crossed links, and notes.
    fn runs_table(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Tabulate::runs)
    }

    /// The time series of one metric, of one subject or of all.
    #[pyo3(signature = (metric, of=None, cell=None, unperturbed=false))]
    fn series(
        &self,
        py: Python<'_>,
        metric: &str,
        of: Option<&str>,
        cell: Option<&str>,
        unperturbed: bool,
    ) -> PyResult<Table> {
        let metric: SeriesMetric = metric.parse().map_err(wrong)?;
        let Some(name) = cell else {
            let table = self.table(py, |how, it| how.series(it, metric, of, unperturbed))?;
            return match of {
                Some(of) if table.rows() == 0 && !unperturbed => {
                    let there = self.map(py, |it| subjects(it, metric))?;
                    named(table, metric, of, &there.into_iter().flatten().collect())
                }
                _ => Ok(table),
            };
        };
        let cell = self.one(py, self.position(name)?)?;
        let table = Table::new(self.how.series(&cell, metric, of, unperturbed));
        match of {
            Some(of) if !unperturbed => named(table, metric, of, &subjects(&cell, metric)),
            _ => Ok(table),
        }
    }

    /// The table that the command prints.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        // Series are large, and not in the table.
        let cells = self.map(py, |cell| {
            let mut cell = cell.clone();
            for run in cell.runs.iter_mut().chain(&mut cell.unperturbed) {
                run.series.clear();
            }
            cell
        })?;
        Ok(match cells.as_slice() {
            [cell] => results::table(cell),
            cells => overview(cells),
        })
    }

    /// The results as JSON (docs/results.md).
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let whole = py.detach(|| self.source.whole()).map_err(stored)?;
        Ok(to_json(&whole).to_string())
    }

    /// Runs a seed of a cell again, its first one if none is given, and writes its packets as pcapng. Returns the number
    /// of packets.
    #[pyo3(signature = (path, cell=None, links=None, seed=None))]
    fn pcap(
        &self,
        py: Python<'_>,
        path: PathBuf,
        cell: Option<&str>,
        links: Option<Vec<String>>,
        seed: Option<u64>,
    ) -> PyResult<u64> {
        let (number, cell) = self.cell(cell)?;
        let results = self.one(py, number)?;
        let seeds: Vec<u64> = results.runs.iter().map(|run| run.seed).collect();
        let found = match seed {
            None => seeds.first(),
            Some(seed) => seeds.iter().find(|it| **it == seed),
        };
        let Some(&found) = found else {
            let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
            let wanted = seed.map_or_else(String::new, |seed| format!(" with seed {seed}"));
            let there = match seeds.as_slice() {
                [] => "no run of it is finished".to_owned(),
                seeds => format!("there are {}", seeds.join(", ")),
            };
            let text = format!("no run of {}{wanted}: {there}", cell.name);
            return Err(PyValueError::new_err(text));
        };
        capture(py, cell, found, &path, links.unwrap_or_default())
    }
}
