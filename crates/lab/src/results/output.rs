//! Results as files, written as cells are finished: what was computed is kept whatever comes.

mod contents;
mod directory;
mod lines;
mod lock;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fairwire_measure::Spread;

use super::json::json_with;
use super::{CellResult, Results, RunResult, summary};

pub use contents::Contents;
pub use directory::{OutputDirectory, Published, UNFINISHED};

/// The files that are written, besides the resolved scenarios `CELL.toml`.
const FILES: [&str; 5] = [
    "results.csv",
    "summary.csv",
    "runs.csv",
    "series.csv",
    "results.json",
];

/// Files of results, into one directory.
#[derive(Debug)]
pub struct Output {
    directory: PathBuf,
    values: csv::Writer<File>,
    summary: csv::Writer<File>,
    runs: csv::Writer<File>,
    series: Option<csv::Writer<File>>,
    /// Are series written where a scenario asks for them?
    with_series: bool,
}

/// The columns of each file, as `docs/results.md` describes them.
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

impl Output {
    /// Makes the files in `directory`, a [place](OutputDirectory::place) of an [`OutputDirectory`].
    ///
    /// # Errors
    /// If that cannot be done; the error names the file.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let open = |name: &str, columns: &[&str]| {
            let path = directory.join(name);
            let file = File::create(&path).map_err(|error| named("write", &path, &error))?;
            let mut writer = csv::Writer::from_writer(file);
            writer
                .write_record(columns)
                .map_err(|error| csv_named(&path, &error))?;
            writer
                .flush()
                .map_err(|error| named("write", &path, &error))?;
            Ok::<_, io::Error>(writer)
        };
        Ok(Self {
            values: open("results.csv", &VALUES)?,
            summary: open("summary.csv", &SUMMARY)?,
            runs: open("runs.csv", &RUNS)?,
            series: None,
            with_series: true,
            directory: directory.to_owned(),
        })
    }

    /// Leaves out the series, by far the most of what is written; a run of a resolved scenario gives them again.
    pub fn without_series(mut self) -> Self {
        self.with_series = false;
        self
    }

    /// Writes a finished cell: rows of the CSV files and its resolved scenario.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn cell(&mut self, cell: &CellResult) -> io::Result<()> {
        for run in cell.runs.iter().chain(&cell.unperturbed) {
            self.run(cell, run)?;
        }
        for row in summary(cell) {
            let estimate = row.estimate.as_ref();
            let half = estimate.map(|estimate| match estimate.spread {
                Spread::None => String::new(),
                Spread::HalfWidth(half) => half.to_string(),
            });
            let record = [
                cell.name.clone(),
                row.subject.kind().to_owned(),
                row.subject.name().to_owned(),
                row.window.clone(),
                row.metric.name().to_owned(),
                row.metric.unit().to_owned(),
                estimate.map_or(0, |estimate| estimate.count).to_string(),
                estimate
                    .map(|estimate| estimate.mean.to_string())
                    .unwrap_or_default(),
                half.unwrap_or_default(),
                row.unperturbed
                    .map(|value| value.to_string())
                    .unwrap_or_default(),
            ];
            self.summary
                .write_record(record)
                .map_err(|error| csv_named(&self.directory.join("summary.csv"), &error))?;
        }
        for (writer, name) in [
            (&mut self.values, "results.csv"),
            (&mut self.summary, "summary.csv"),
            (&mut self.runs, "runs.csv"),
        ] {
            writer
                .flush()
                .map_err(|error| named("write", &self.directory.join(name), &error))?;
        }
        if let Some(series) = &mut self.series {
            let path = self.directory.join("series.csv");
            series
                .flush()
                .map_err(|error| named("write", &path, &error))?;
        }
        let text = resolved(cell)?;
        self.replace(&format!("{}.toml", cell.name), text.as_bytes())
    }

    /// Writes `results.json`: everything at once.
    ///
    /// # Errors
    /// If it cannot be written; the error names it.
    pub fn finish(&mut self, results: &Results) -> io::Result<()> {
        // Open are the file, its cells, a cell, its runs, a run, and its lists: then lines.
        let text = lines::lines(&json_with(results, self.with_series), 6)?;
        self.replace("results.json", &text)
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
        self.runs
            .write_record([&cell.name, &seed, &digest, &hops, version, &notes])
            .map_err(|error| csv_named(&self.directory.join("runs.csv"), &error))?;
        for value in &run.values {
            let number = value.value.to_string();
            self.values
                .write_record([
                    cell.name.as_str(),
                    &seed,
                    value.subject.kind(),
                    value.subject.name(),
                    &value.window,
                    value.metric.name(),
                    &number,
                    value.metric.unit(),
                ])
                .map_err(|error| csv_named(&self.directory.join("results.csv"), &error))?;
        }
        if self.with_series && cell.scenario.measure.series.is_some() {
            self.run_series(cell, run, &seed)?;
        }
        Ok(())
    }

    fn run_series(&mut self, cell: &CellResult, run: &RunResult, seed: &str) -> io::Result<()> {
        let path = self.directory.join("series.csv");
        if self.series.is_none() {
            let file = File::create(&path).map_err(|error| named("write", &path, &error))?;
            let mut writer = csv::Writer::from_writer(file);
            writer
                .write_record(SERIES)
                .map_err(|error| csv_named(&path, &error))?;
            self.series = Some(writer);
        }
        let Some(writer) = &mut self.series else {
            return Ok(());
        };
        for series in &run.series {
            for (number, value) in (1u64..).zip(&series.values) {
                let time = (run.period * number).as_secs_f64().to_string();
                let value = if value.is_nan() {
                    String::new()
                } else {
                    value.to_string()
                };
                writer
                    .write_record([
                        cell.name.as_str(),
                        seed,
                        series.subject.kind(),
                        series.subject.name(),
                        series.metric.name(),
                        &time,
                        &value,
                        series.metric.unit(),
                    ])
                    .map_err(|error| csv_named(&path, &error))?;
            }
        }
        Ok(())
    }

    /// Where it is.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn replace(&self, name: &str, content: &[u8]) -> io::Result<()> {
        write_whole(&self.directory, name, content)
    }
}

/// The scenario of a cell as a file that runs as it is. It does not repeat where its values come from, so
/// it does not say that it is a paper's, whose values must; a comment does.
fn resolved(cell: &CellResult) -> io::Result<String> {
    let mut scenario = cell.scenario.clone();
    let paper = scenario.paper.take();
    let text = toml::to_string(&scenario).map_err(io::Error::other)?;
    Ok(match paper {
        Some(paper) => format!(
            "# Cell {} of the paper {paper}, resolved; results.json says where its values come from.\n{text}",
            cell.name
        ),
        None => text,
    })
}

/// Writes a file beside its name first, so that the old one stays if the disk is full.
pub(crate) fn write_whole(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    write_beside(&directory.join(name), content, false)
}

/// The same, and on the disk before it has its name.
fn write_synced(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    write_beside(&directory.join(name), content, true)
}

fn write_beside(path: &Path, content: &[u8], synced: bool) -> io::Result<()> {
    let beside = beside(path);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(content)?;
        if synced {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        // The half-written file is of no use; that it cannot be removed is no further news.
        let _ = fs::remove_file(&beside);
        named("write", path, &error)
    })
}

/// Where a file is written until it is whole.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

/// An error with what could not be done.
fn named(doing: &str, path: &Path, error: &io::Error) -> io::Error {
    let message = format!("cannot {doing} {}: {error}", path.display());
    io::Error::new(error.kind(), message)
}

fn csv_named(path: &Path, error: &csv::Error) -> io::Error {
    io::Error::other(format!("cannot write {}: {error}", path.display()))
}
