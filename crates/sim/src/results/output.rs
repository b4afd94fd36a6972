//! Results as files. They are written as cells finish, so that computed results are kept if the run ends early.

mod directory;
mod file_list;
mod lock;
mod named;
mod table;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fairwire_measure::Spread;

use super::json::json_with;
use super::{CellResult, Results, Row, RunResult, SeriesChoice, summary};
use fairwire_scenario::{Cell, TraceFile};

use named::write_error;
use table::{GZ, Sink, Table};

pub use directory::{OutputDirectory, Placement, UNFINISHED, is_of_results};
pub use named::{make_directory, obstacle};

/// The columns of `results.csv`. `docs/results.md` describes the columns of all files.
const VALUES: [&str; 8] = [
    "cell", "seed", "kind", "of", "window", "metric", "value", "unit",
];
const SUMMARY: [&str; 10] = [
    "cell",
    "kind",
    "of",
    "window",
    "metric",
    "unit",
    "n",
    "mean",
    "half_width_95",
    "unperturbed",
];
const RUNS: [&str; 6] = ["cell", "seed", "digest", "packet_hops", "version", "notes"];
const SERIES: [&str; 8] = [
    "cell", "seed", "kind", "of", "metric", "time", "value", "unit",
];

/// The format of the written results.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// Whether long files are compressed with gzip; their names then end in `.gz`.
    pub gzip: bool,
    /// The time series that are written.
    pub series: SeriesChoice,
    /// The axes with a column of their own, which is empty for a cell without the axis.
    pub axes: Vec<String>,
}

impl Form {
    /// Returns the name of a long file that is called `name` without compression.
    fn long(&self, name: &str) -> String {
        let end = if self.gzip { GZ } else { "" };
        format!("{name}{end}")
    }

    /// Adds a column for each axis of `cells`.
    #[must_use]
    pub fn with_axes(mut self, cells: &[Cell]) -> Self {
        for (axis, _) in cells.iter().flat_map(|cell| &cell.axes) {
            if !self.axes.contains(axis) {
                self.axes.push(axis.clone());
            }
        }
        self
    }

    /// Returns `columns` and those of the axes. An axis with the name of another column gets the prefix `axis-`.
    fn columns<'a>(&'a self, columns: &[&'a str]) -> Vec<Cow<'a, str>> {
        let axes = self.axes.iter().map(|axis| {
            if columns.contains(&axis.as_str()) {
                format!("axis-{axis}").into()
            } else {
                axis.into()
            }
        });
        let columns = columns.iter().map(|column| Cow::from(*column));
        columns.chain(axes).collect()
    }

    /// Returns the values of `cell` for the columns of the axes.
    fn values<'a>(&'a self, cell: &'a CellResult) -> impl Iterator<Item = &'a str> {
        self.axes.iter().map(|axis| {
            let value = cell.axes.iter().find(|(known, _)| known == axis);
            value.map_or("", |(_, value)| value.as_str())
        })
    }

    /// Returns the names of all files that the results of `cells` may be written to.
    pub fn files(&self, cells: &[Cell]) -> BTreeSet<String> {
        let long = ["results.csv", "summary.csv", "series.csv", "results.json"];
        let long = long.into_iter().map(|name| self.long(name));
        let resolved = cells.iter().map(|cell| format!("{}.toml", cell.name));
        let runs = "runs.csv".to_owned();
        let traces = cells.iter().flat_map(|cell| cell.scenario.traces());
        let traces = traces.map(TraceFile::name);
        long.chain(resolved).chain(traces).chain([runs]).collect()
    }
}

/// A writer of result files into one directory.
#[derive(Debug)]
pub struct Output {
    directory: PathBuf,
    form: Form,
    values: Table,
    summary: Table,
    runs: Table,
    /// Created when there is a series to write.
    series: Option<Table>,
}

impl Output {
    /// Creates the files in `directory`, a [place](OutputDirectory::place) of an [`OutputDirectory`].
    ///
    /// # Errors
    /// If a file cannot be created; the error names it.
    pub fn create(directory: &Path, form: Form) -> io::Result<Self> {
        let open =
            |name: &str, columns: &[&str]| Table::create(directory, name, &form.columns(columns));
        let values = open(&form.long("results.csv"), &VALUES)?;
        let summary = open(&form.long("summary.csv"), &SUMMARY)?;
        Ok(Self {
            values,
            summary,
            runs: open("runs.csv", &RUNS)?,
            series: None,
            form,
            directory: directory.to_owned(),
        })
    }

    /// Writes a finished cell: rows of the CSV files, its traces and its resolved scenario.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn cell(&mut self, cell: &CellResult) -> io::Result<()> {
        for run in cell.runs.iter().chain(&cell.unperturbed) {
            self.run(cell, run)?;
        }
        for row in summary(cell) {
            let record = summary_record(cell, &row);
            let record = record.iter().map(String::as_str);
            self.summary.row(record.chain(self.form.values(cell)))?;
        }
        self.values.flush()?;
        self.summary.flush()?;
        self.runs.flush()?;
        if let Some(series) = &mut self.series {
            series.flush()?;
        }
        for file in cell.scenario.traces() {
            if let Some(trace) = file.trace() {
                let text = trace.to_string();
                write_file(&self.directory, &file.name(), text.as_bytes())?;
            }
        }
        let text = resolved(cell);
        let name = format!("{}.toml", cell.name);
        write_file(&self.directory, &name, text.as_bytes())
    }

    /// Completes the CSV files and writes `results.json`.
    ///
    /// The JSON holds all numbers if all series are written; otherwise only the CSV files hold them.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn finish(self, results: &Results) -> io::Result<()> {
        self.values.finish()?;
        self.summary.finish()?;
        self.runs.finish()?;
        self.series.map_or(Ok(()), Table::finish)?;
        let path = self.directory.join(self.form.long("results.json"));
        let json = json_with(results, matches!(self.form.series, SeriesChoice::All));
        let write = || {
            let mut sink = Sink::create(&path)?;
            serde_json::to_writer(&mut sink, &json)?;
            sink.finish()
        };
        write().map_err(|error| write_error(&path, &error))
    }

    fn run(&mut self, cell: &CellResult, run: &RunResult) -> io::Result<()> {
        let seed = if run.perturbed {
            run.seed.to_string()
        } else {
            "unperturbed".to_owned()
        };
        let hops = run.packet_hops.to_string();
        let digest = run.digest.to_string();
        let notes = run.notes.join("; ");
        let version = env!("CARGO_PKG_VERSION");
        let row = [&cell.name, &seed, &digest, &hops, version, &notes];
        self.runs
            .row(row.into_iter().chain(self.form.values(cell)))?;
        for value in &run.values {
            let number = value.value.to_string();
            let row = [
                cell.name.as_str(),
                &seed,
                value.subject.kind(),
                value.subject.name(),
                &value.window,
                value.metric.name(),
                &number,
                value.metric.unit(),
            ];
            self.values
                .row(row.into_iter().chain(self.form.values(cell)))?;
        }
        self.run_series(cell, run, &seed)
    }

    fn run_series(&mut self, cell: &CellResult, run: &RunResult, seed: &str) -> io::Result<()> {
        for series in &run.series {
            if !self.form.series.has(cell, &series.subject, series.metric) {
                continue;
            }
            let table = match &mut self.series {
                Some(table) => table,
                none => {
                    let name = self.form.long("series.csv");
                    none.insert(Table::create(
                        &self.directory,
                        &name,
                        &self.form.columns(&SERIES),
                    )?)
                }
            };
            for (number, value) in (1u64..).zip(&series.values) {
                let time = (run.period * number).as_secs_f64().to_string();
                let value = if value.is_nan() {
                    String::new()
                } else {
                    value.to_string()
                };
                let row = [
                    cell.name.as_str(),
                    seed,
                    series.subject.kind(),
                    series.subject.name(),
                    series.metric.name(),
                    &time,
                    &value,
                    series.metric.unit(),
                ];
                table.row(row.into_iter().chain(self.form.values(cell)))?;
            }
        }
        Ok(())
    }
}

/// Returns a row of `summary.csv`.
fn summary_record(cell: &CellResult, row: &Row) -> [String; 10] {
    let estimate = row.estimate.as_ref();
    let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let half_width = estimate.and_then(|estimate| match estimate.spread {
        Spread::None => None,
        Spread::HalfWidth(half) => Some(half),
    });
    [
        cell.name.clone(),
        row.subject.kind().to_owned(),
        row.subject.name().to_owned(),
        row.window.clone(),
        row.metric.name().to_owned(),
        row.metric.unit().to_owned(),
        estimate.map_or(0, |estimate| estimate.count).to_string(),
        text(estimate.map(|estimate| estimate.mean)),
        text(half_width),
        text(row.unperturbed),
    ]
}

/// Returns the scenario of a cell as a file that can be run. A comment names its paper.
fn resolved(cell: &CellResult) -> String {
    let text = cell.scenario.resolved().text;
    match &cell.scenario.paper {
        Some(paper) => format!(
            "# Cell {} of the paper {paper}, resolved; the JSON beside it says where its values come from.\n{text}",
            cell.name
        ),
        None => text,
    }
}

/// Writes the file `name` in `directory`, compressed if its name ends in `.gz`.
///
/// # Errors
/// If it cannot be written; the error names it.
pub fn write_file(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let path = directory.join(name);
    let write = || {
        let mut sink = Sink::create(&path)?;
        sink.write_all(content)?;
        sink.finish()
    };
    write().map_err(|error| write_error(&path, &error))
}
