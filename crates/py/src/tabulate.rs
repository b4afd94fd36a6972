//! The tables of a cell's results.

use std::iter::once;

use fairwire_measure::{Estimate, Spread};
use fairwire_sim::results::{Axis, CellResult, Row, RunResult, SeriesMetric, Subject, summary};
use fairwire_sweep::axis_columns;
use fairwire_sweep::columns::{Column, counts, labels, numbers, texts};

/// Makes the tables of cells that have these axes.
#[derive(Debug)]
pub(crate) struct Tabulate {
    pub(crate) axes: Vec<Axis>,
}

/// Returns every run of a cell, in order.
pub(crate) fn runs(cell: &CellResult) -> impl Iterator<Item = &RunResult> + Clone {
    cell.runs.iter().chain(&cell.unperturbed)
}

/// Returns the seed of a run; none for the unperturbed run.
fn seed(run: &RunResult) -> Option<u64> {
    run.perturbed.then_some(run.seed)
}

/// Returns the name of a subject; `all` for all flows together.
fn name(subject: &Subject) -> &str {
    match subject {
        Subject::All => "all",
        named => named.name(),
    }
}

impl Tabulate {
    /// Adds a column for the cell before the others, and those of each axis after them. One that is called like another
    /// column gets the prefix `axis-`.
    fn of_cell(&self, cell: &CellResult, count: usize, columns: Vec<Column>) -> Vec<Column> {
        let repeated = |name: &str, text: &str| labels(name, std::iter::repeat_n(text, count));
        let mut all = vec![repeated("cell", &cell.name)];
        all.extend(columns);
        for axis in &self.axes {
            let value = cell.axes.iter().find(|(name, _)| *name == axis.name);
            let value = value.map(|(_, value)| value.as_str());
            for (name, column) in axis_columns(axis, std::iter::repeat_n(value, count)) {
                let is_taken = all.iter().any(|(other, _)| *other == name);
                let prefix = if is_taken { "axis-" } else { "" };
                all.push((format!("{prefix}{name}"), column));
            }
        }
        all
    }

    /// Every value: a row for each seed, subject, window and metric.
    pub(crate) fn values(&self, cell: &CellResult) -> Vec<Column> {
        self.values_of(cell, &cell.runs)
    }

    /// Every value of the unperturbed run.
    pub(crate) fn unperturbed(&self, cell: &CellResult) -> Vec<Column> {
        self.values_of(cell, cell.unperturbed.as_slice())
    }

    fn values_of(&self, cell: &CellResult, runs: &[RunResult]) -> Vec<Column> {
        let rows = || {
            runs.iter()
                .flat_map(|run| run.values.iter().map(move |it| (run, it)))
        };
        let columns = vec![
            counts("seed", rows().map(|(run, _)| seed(run))),
            labels("kind", rows().map(|(_, it)| it.subject.kind())),
            labels("of", rows().map(|(_, it)| name(&it.subject))),
            labels("window", rows().map(|(_, it)| it.window.as_str())),
            labels("metric", rows().map(|(_, it)| it.metric.name())),
            numbers("value", rows().map(|(_, it)| Some(it.value))),
            labels("unit", rows().map(|(_, it)| it.metric.unit())),
        ];
        self.of_cell(cell, rows().count(), columns)
    }

    /// The means over the seeds with 95 % intervals: a row for each subject, window and metric.
    pub(crate) fn summary(&self, cell: &CellResult) -> Vec<Column> {
        let rows = summary(cell);
        let half = |row: &Row| match row.estimate.as_ref()?.spread {
            Spread::None => None,
            Spread::HalfWidth(half) => Some(half),
        };
        let estimates = || rows.iter().map(|row| row.estimate.as_ref());
        let columns = vec![
            labels("kind", rows.iter().map(|row| row.subject.kind())),
            labels("of", rows.iter().map(|row| name(&row.subject))),
            labels("window", rows.iter().map(|row| row.window.as_str())),
            labels("metric", rows.iter().map(|row| row.metric.name())),
            labels("unit", rows.iter().map(|row| row.metric.unit())),
            counts("n", estimates().map(|it| Some(it.map_or(0, |it| it.count)))),
            numbers("mean", estimates().map(|it| it.map(|it| it.mean))),
            numbers("half_width_95", rows.iter().map(half)),
            numbers("unperturbed", rows.iter().map(|row| row.unperturbed)),
        ];
        self.of_cell(cell, rows.len(), columns)
    }

    /// One mean with its 95 % interval: a single row.
    pub(crate) fn mean(
        &self,
        cell: &CellResult,
        mean: Option<Estimate>,
        unit: &str,
    ) -> Vec<Column> {
        let half = mean.and_then(|it| match it.spread {
            Spread::None => None,
            Spread::HalfWidth(half) => Some(half),
        });
        let columns = vec![
            counts("n", once(Some(mean.map_or(0, |it| it.count)))),
            numbers("mean", once(mean.map(|it| it.mean))),
            numbers("half_width_95", once(half)),
            labels("unit", once(unit)),
        ];
        self.of_cell(cell, 1, columns)
    }

    /// The runs: seed, digest, packets that crossed links, and notes.
    pub(crate) fn runs(&self, cell: &CellResult) -> Vec<Column> {
        let digests: Vec<String> = runs(cell).map(|run| run.digest.to_string()).collect();
        let notes: Vec<String> = runs(cell).map(|run| run.notes.join("; ")).collect();
        let columns = vec![
            counts("seed", runs(cell).map(seed)),
            texts("digest", digests.iter().map(String::as_str)),
            counts("packet_hops", runs(cell).map(|run| Some(run.packet_hops))),
            texts("notes", notes.iter().map(String::as_str)),
        ];
        self.of_cell(cell, digests.len(), columns)
    }

    /// The time series of one metric, of one subject or of all: of the seeds, or of the unperturbed run.
    pub(crate) fn series(
        &self,
        cell: &CellResult,
        metric: SeriesMetric,
        of: Option<&str>,
        is_unperturbed: bool,
    ) -> Vec<Column> {
        let is_wanted = |subject: &Subject| of.is_none_or(|of| name(subject) == of);
        let mut rows = Vec::new();
        let runs = if is_unperturbed {
            cell.unperturbed.as_slice()
        } else {
            &cell.runs
        };
        for run in runs {
            let all = run.series.iter().filter(|it| it.metric == metric);
            for series in all.filter(|it| is_wanted(&it.subject)) {
                for (number, value) in (1u64..).zip(&series.values) {
                    let time = (run.period * number).as_secs_f64();
                    let value = (!value.is_nan()).then_some(*value);
                    rows.push((seed(run), &series.subject, time, value));
                }
            }
        }
        let columns = vec![
            counts("seed", rows.iter().map(|row| row.0)),
            labels("kind", rows.iter().map(|row| row.1.kind())),
            labels("of", rows.iter().map(|row| name(row.1))),
            numbers("time", rows.iter().map(|row| Some(row.2))),
            numbers("value", rows.iter().map(|row| row.3)),
            labels("unit", rows.iter().map(|_| metric.unit())),
        ];
        self.of_cell(cell, rows.len(), columns)
    }
}
