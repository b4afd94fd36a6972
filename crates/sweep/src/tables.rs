//! Finished runs as three tables: of runs, of values and of series.
//!
//! The same tables travel between machines, are appended to segments, and are compacted to Parquet.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use fairwire_sim::results::{DigestValue, Metric, RunResult, Series, SeriesMetric, Subject, Value};
use fairwire_units::Duration;

use crate::columns::{Column, Columns, counts, flags, labels, lists, numbers, table, texts};
use crate::key::{RunKey, ScenarioKey};
use crate::record::{Origin, Recorded};

/// Finished runs as tables. `docs/sweeps.md` describes the columns.
#[derive(Clone, Debug)]
pub struct Tables {
    /// One row for each run.
    pub runs: RecordBatch,
    /// One row for each value.
    pub values: RecordBatch,
    /// One row for each series.
    pub series: RecordBatch,
}

impl Tables {
    /// Makes the tables of `runs`.
    ///
    /// # Errors
    /// None in practice.
    pub fn of(runs: &[Recorded]) -> Result<Self, ArrowError> {
        let keys: Vec<String> = runs.iter().map(|it| it.scenario.to_string()).collect();
        let digests: Vec<String> = runs.iter().map(|it| it.run.digest.to_string()).collect();
        let notes: Vec<String> = runs.iter().map(|it| it.run.notes.join("\n")).collect();
        let each = || keys.iter().map(String::as_str).zip(runs);
        let values =
            || each().flat_map(|(key, it)| it.run.values.iter().map(move |value| (key, it, value)));
        let series = || {
            each().flat_map(|(key, it)| it.run.series.iter().map(move |series| (key, it, series)))
        };
        let origins = || runs.iter().map(|it| &it.origin);
        let mut of_runs = keyed(each());
        of_runs.extend([
            texts("digest", digests.iter().map(String::as_str)),
            counts(
                "packet_hops",
                runs.iter().map(|it| Some(it.run.packet_hops)),
            ),
            counts(
                "simulated_ns",
                runs.iter().map(|it| Some(it.run.simulated.as_nanos())),
            ),
            counts(
                "period_ns",
                runs.iter().map(|it| Some(it.run.period.as_nanos())),
            ),
            texts("notes", notes.iter().map(String::as_str)),
            labels("version", origins().map(|it| it.version.as_str())),
            labels("host", origins().map(|it| it.host.as_str())),
            labels("date", origins().map(|it| it.date.as_str())),
        ]);
        let mut of_values = keyed(values().map(|(key, it, _)| (key, it)));
        of_values.extend([
            labels("kind", values().map(|(.., it)| it.subject.kind())),
            labels("of", values().map(|(.., it)| it.subject.name())),
            labels("window", values().map(|(.., it)| it.window.as_str())),
            labels("metric", values().map(|(.., it)| it.metric.name())),
            numbers("value", values().map(|(.., it)| Some(it.value))),
            labels("unit", values().map(|(.., it)| it.metric.unit())),
        ]);
        let mut of_series = keyed(series().map(|(key, it, _)| (key, it)));
        of_series.extend([
            labels("kind", series().map(|(.., it)| it.subject.kind())),
            labels("of", series().map(|(.., it)| it.subject.name())),
            labels("metric", series().map(|(.., it)| it.metric.name())),
            lists("values", series().map(|(.., it)| it.values.as_slice())),
            labels("unit", series().map(|(.., it)| it.metric.unit())),
        ]);
        Ok(Self {
            runs: table(of_runs)?,
            values: table(of_values)?,
            series: table(of_series)?,
        })
    }

    /// Returns the runs that the tables were made of, in order.
    ///
    /// # Errors
    /// If a column is missing or has a value that this version does not know.
    pub fn records(&self) -> Result<Vec<Recorded>, ArrowError> {
        Rows::of(self.clone()).records()
    }
}

/// A run of any sources: its key, and the hash of the sources.
pub(crate) type AnyRun = (RunKey, String);

/// Runs as tables that are in several pieces each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) runs: Vec<RecordBatch>,
    pub(crate) values: Vec<RecordBatch>,
    pub(crate) series: Vec<RecordBatch>,
}

impl Rows {
    pub(crate) fn of(tables: Tables) -> Self {
        Self {
            runs: vec![tables.runs],
            values: vec![tables.values],
            series: vec![tables.series],
        }
    }

    /// Returns its runs, each with its origin.
    pub(crate) fn keys(&self) -> Result<Vec<(RunKey, Arc<Origin>)>, ArrowError> {
        let mut all = Vec::new();
        for rows in &self.runs {
            all.extend(keys(rows)?.into_iter().zip(origins(rows)?));
        }
        Ok(all)
    }

    /// Returns only the runs that `is_wanted` wants.
    pub(crate) fn filtered(&self, is_wanted: &dyn Fn(&AnyRun) -> bool) -> Result<Self, ArrowError> {
        let filtered = |tables: &[RecordBatch]| {
            let tables = tables.iter().map(|rows| filtered(rows, is_wanted));
            tables.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            runs: filtered(&self.runs)?,
            values: filtered(&self.values)?,
            series: filtered(&self.series)?,
        })
    }

    /// Returns its tables in one piece each; `None` if there are none.
    pub(crate) fn joined(&self) -> Result<Option<Tables>, ArrowError> {
        let joined = |tables: &[RecordBatch]| match tables.first() {
            Some(first) => concat_batches(&first.schema(), tables).map(Some),
            None => Ok(None),
        };
        let tables = (
            joined(&self.runs)?,
            joined(&self.values)?,
            joined(&self.series)?,
        );
        let (Some(runs), Some(values), Some(series)) = tables else {
            return Ok(None);
        };
        Ok(Some(Tables {
            runs,
            values,
            series,
        }))
    }

    /// Returns the runs. Values of other runs are left out.
    ///
    /// # Errors
    /// If a column is missing or has a value that this version does not know.
    pub(crate) fn records(&self) -> Result<Vec<Recorded>, ArrowError> {
        let mut all = Vec::new();
        for rows in &self.runs {
            all.extend(runs(rows)?);
        }
        let keys = all.iter().map(|it| (it.key(), it.origin.sources.clone()));
        let places: BTreeMap<AnyRun, usize> = keys.zip(0..).collect();
        for rows in &self.values {
            fill_values(&mut all, &places, rows)?;
        }
        for rows in &self.series {
            fill_series(&mut all, &places, rows)?;
        }
        Ok(all)
    }
}

/// Returns the rows of the runs that `is_wanted` wants.
fn filtered(
    rows: &RecordBatch,
    is_wanted: &dyn Fn(&AnyRun) -> bool,
) -> Result<RecordBatch, ArrowError> {
    let mut wanted = Vec::with_capacity(rows.num_rows());
    for run in stretches(rows)? {
        let is_wanted = is_wanted(&run.0);
        wanted.extend(std::iter::repeat_n(is_wanted, run.1));
    }
    if wanted.iter().all(|it| *it) {
        return Ok(rows.clone());
    }
    filter_record_batch(rows, &BooleanArray::from(wanted))
}

/// Returns the runs of a table, each with how many rows it has there.
fn stretches(rows: &RecordBatch) -> Result<Vec<(AnyRun, usize)>, ArrowError> {
    let sources = Columns(rows).texts("sources")?;
    let all: Vec<(RunKey, &str)> = keys(rows)?.into_iter().zip(sources).collect();
    let stretches = all.chunk_by(|one, other| one == other);
    let stretches = stretches.map(|rows| ((rows[0].0, rows[0].1.to_owned()), rows.len()));
    Ok(stretches.collect())
}

/// Returns the columns with the keys of runs.
fn keyed<'a>(runs: impl Iterator<Item = (&'a str, &'a Recorded)> + Clone) -> Vec<Column> {
    vec![
        labels("scenario", runs.clone().map(|(key, _)| key)),
        counts("seed", runs.clone().map(|(_, it)| Some(it.run.seed))),
        flags("perturbed", runs.clone().map(|(_, it)| it.run.perturbed)),
        labels("sources", runs.map(|(_, it)| it.origin.sources.as_str())),
    ]
}

/// Returns the key of each row.
pub(crate) fn keys(rows: &RecordBatch) -> Result<Vec<RunKey>, ArrowError> {
    let rows = Columns(rows);
    let (seeds, perturbed) = (rows.counts("seed")?, rows.flags("perturbed")?);
    let scenarios = rows.texts("scenario")?;
    // Rows of one scenario follow each other.
    let mut last: Option<(&str, ScenarioKey)> = None;
    let keys = scenarios.into_iter().enumerate().map(|(i, text)| {
        let scenario = match last {
            Some((known, key)) if known == text => key,
            _ => ScenarioKey::from_str(text).map_err(|_| wrong("scenario", text))?,
        };
        last = Some((text, scenario));
        Ok(RunKey {
            scenario,
            seed: seeds[i],
            perturbed: perturbed.value(i),
        })
    });
    keys.collect()
}

/// Returns the origin of each row of a table of runs.
pub(crate) fn origins(rows: &RecordBatch) -> Result<Vec<Arc<Origin>>, ArrowError> {
    let rows = Columns(rows);
    let (versions, sources) = (rows.texts("version")?, rows.texts("sources")?);
    let (hosts, dates) = (rows.texts("host")?, rows.texts("date")?);
    let mut last: Option<Arc<Origin>> = None;
    let origins = (0..versions.len()).map(|i| {
        let same = last.take().filter(|it| {
            it.version == versions[i]
                && it.sources == sources[i]
                && it.host == hosts[i]
                && it.date == dates[i]
        });
        let origin = same.unwrap_or_else(|| {
            Arc::new(Origin {
                version: versions[i].to_owned(),
                sources: sources[i].to_owned(),
                host: hosts[i].to_owned(),
                date: dates[i].to_owned(),
            })
        });
        last = Some(Arc::clone(&origin));
        origin
    });
    Ok(origins.collect())
}

/// Returns the runs of a table of runs, without their values and series.
fn runs(rows: &RecordBatch) -> Result<Vec<Recorded>, ArrowError> {
    let origins = origins(rows)?;
    let keys = keys(rows)?;
    let rows = Columns(rows);
    let (digests, notes) = (rows.texts("digest")?, rows.texts("notes")?);
    let hops = rows.counts("packet_hops")?;
    let (simulated, periods) = (rows.counts("simulated_ns")?, rows.counts("period_ns")?);
    let runs = keys
        .into_iter()
        .zip(origins)
        .enumerate()
        .map(|(i, (key, origin))| {
            let digest = u128::from_str_radix(digests[i], 16);
            Ok(Recorded {
                scenario: key.scenario,
                run: RunResult {
                    seed: key.seed,
                    perturbed: key.perturbed,
                    digest: DigestValue(digest.map_err(|_| wrong("digest", digests[i]))?),
                    packet_hops: hops[i],
                    simulated: Duration::from_nanos(simulated[i]),
                    values: Vec::new(),
                    period: Duration::from_nanos(periods[i]),
                    series: Vec::new(),
                    notes: notes[i].lines().map(str::to_owned).collect(),
                    captured: None,
                    capture_failure: None,
                },
                origin,
            })
        });
    runs.collect()
}

/// Gives `runs`, which are at these `places`, their values.
fn fill_values(
    runs: &mut [Recorded],
    places: &BTreeMap<AnyRun, usize>,
    rows: &RecordBatch,
) -> Result<(), ArrowError> {
    let stretches = stretches(rows)?;
    let rows = Columns(rows);
    let (of, windows) = (rows.texts("of")?, rows.texts("window")?);
    let (kinds, metrics) = (rows.texts("kind")?, rows.texts("metric")?);
    let numbers = rows.numbers("value")?;
    let mut from = 0;
    for (run, count) in stretches {
        let rows = from..from + count;
        from += count;
        let Some(place) = places.get(&run) else {
            continue;
        };
        for i in rows {
            let metric = Metric::find(metrics[i]);
            runs[*place].run.values.push(Value {
                subject: subject(kinds[i], of[i])?,
                window: windows[i].to_owned(),
                metric: metric.ok_or_else(|| wrong("metric", metrics[i]))?,
                value: numbers[i],
            });
        }
    }
    Ok(())
}

/// Gives `runs`, which are at these `places`, their series.
fn fill_series(
    runs: &mut [Recorded],
    places: &BTreeMap<AnyRun, usize>,
    rows: &RecordBatch,
) -> Result<(), ArrowError> {
    let stretches = stretches(rows)?;
    let rows = Columns(rows);
    let (of, kinds, metrics) = (
        rows.texts("of")?,
        rows.texts("kind")?,
        rows.texts("metric")?,
    );
    let mut lists = rows.lists("values")?;
    let mut from = 0;
    for (run, count) in stretches {
        let rows = from..from + count;
        from += count;
        let Some(place) = places.get(&run) else {
            continue;
        };
        for i in rows {
            let metric = SeriesMetric::find(metrics[i]);
            runs[*place].run.series.push(Series {
                subject: subject(kinds[i], of[i])?,
                metric: metric.ok_or_else(|| wrong("metric", metrics[i]))?,
                values: std::mem::take(&mut lists[i]),
            });
        }
    }
    Ok(())
}

fn subject(kind: &str, name: &str) -> Result<Subject, ArrowError> {
    match kind {
        "flow" => Ok(Subject::flow(name)),
        "link" => Ok(Subject::link(name)),
        "all" => Ok(Subject::All),
        _ => Err(wrong("kind", kind)),
    }
}

fn wrong(what: &str, found: &str) -> ArrowError {
    ArrowError::ParseError(format!("'{found}' is no {what} that this version knows"))
}
