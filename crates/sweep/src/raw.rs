//! Finished runs as plain numbers and texts: what a store keeps, and what travels between machines.
//!
//! Names stay texts here, so that runs of other versions, whose metrics this one may not know, can be kept and copied.

use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::sync::Arc;

use fairwire_sim::campaign::ScenarioKey;
use fairwire_sim::results::{DigestValue, Metric, RunResult, Series, SeriesMetric, Subject, Value};
use fairwire_units::Duration;
use serde::{Deserialize, Serialize};

use crate::record::{Origin, Recorded};

/// What a value or a series is of.
#[derive(Clone, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Name {
    pub(crate) kind: String,
    pub(crate) of: String,
    /// Empty for a series.
    pub(crate) window: String,
    pub(crate) metric: String,
    pub(crate) unit: String,
}

/// A finished run. Its values and series say by number what they are of.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct RawRun {
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    pub(crate) perturbed: bool,
    pub(crate) digest: String,
    pub(crate) packet_hops: u64,
    pub(crate) simulated_ns: u64,
    pub(crate) period_ns: u64,
    pub(crate) notes: String,
    pub(crate) version: String,
    pub(crate) sources: String,
    pub(crate) host: String,
    pub(crate) date: String,
    pub(crate) values: Vec<(usize, f64)>,
    pub(crate) series: Vec<(usize, Vec<f64>)>,
}

/// Finished runs, and the names that they have in common.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct RawRuns {
    pub(crate) names: Vec<Name>,
    pub(crate) runs: Vec<RawRun>,
}

impl RawRuns {
    pub(crate) fn of(runs: &[Recorded]) -> Self {
        let mut names: BTreeMap<Name, usize> = BTreeMap::new();
        let mut number = |subject: &Subject, window: &str, metric: &str, unit: &str| {
            let name = Name {
                kind: subject.kind().to_owned(),
                of: subject.name().to_owned(),
                window: window.to_owned(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
            };
            let next = names.len();
            *names.entry(name).or_insert(next)
        };
        let raw = |it: &Recorded| {
            let run = &it.run;
            let values = run.values.iter().map(|it| {
                let number = number(&it.subject, &it.window, it.metric.name(), it.metric.unit());
                (number, plain(it.value))
            });
            let values = values.collect();
            let series = run.series.iter().map(|it| {
                let number = number(&it.subject, "", it.metric.name(), it.metric.unit());
                (number, it.values.clone())
            });
            RawRun {
                scenario: it.scenario.to_string(),
                seed: run.seed,
                perturbed: run.perturbed,
                digest: run.digest.to_string(),
                packet_hops: run.packet_hops,
                simulated_ns: run.simulated.as_nanos(),
                period_ns: run.period.as_nanos(),
                notes: run.notes.join("\n"),
                version: it.origin.version.clone(),
                sources: it.origin.sources.clone(),
                host: it.origin.host.clone(),
                date: it.origin.date.clone(),
                values,
                series: series.collect(),
            }
        };
        let runs = runs.iter().map(raw).collect();
        let mut list = vec![Name::default(); names.len()];
        for (name, number) in names {
            list[number] = name;
        }
        Self { names: list, runs }
    }

    /// Returns the runs, if this version knows everything in them.
    pub(crate) fn records(&self) -> Result<Vec<Recorded>, String> {
        self.runs
            .iter()
            .map(|run| run.record(&self.names))
            .collect()
    }

    /// Returns them as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("numbers and texts are bytes")
    }
}

impl RawRun {
    /// Returns the checksum of everything in the run.
    pub(crate) fn checksum(&self, names: &[Name]) -> u32 {
        let mut sum = 0;
        let mut add = |bytes: &[u8]| {
            sum = crc32c::crc32c_append(sum, &(bytes.len() as u64).to_le_bytes());
            sum = crc32c::crc32c_append(sum, bytes);
        };
        for text in [
            &self.scenario,
            &self.digest,
            &self.notes,
            &self.version,
            &self.sources,
            &self.host,
            &self.date,
        ] {
            add(text.as_bytes());
        }
        let numbers = [
            self.seed,
            self.perturbed.into(),
            self.packet_hops,
            self.simulated_ns,
            self.period_ns,
        ];
        add(numbers.map(u64::to_le_bytes).as_flattened());
        let values = self
            .values
            .iter()
            .map(|(name, value)| (name, std::slice::from_ref(value)));
        let series = self
            .series
            .iter()
            .map(|(name, values)| (name, values.as_slice()));
        for (name, values) in values.chain(series) {
            if let Some(name) = names.get(*name) {
                for text in [&name.kind, &name.of, &name.window, &name.metric, &name.unit] {
                    add(text.as_bytes());
                }
            }
            add(&list_bytes(values));
        }
        sum
    }

    fn record(&self, names: &[Name]) -> Result<Recorded, String> {
        let unknown =
            |what: &str, found: &str| format!("'{found}' is no {what} that this version knows");
        let name = |number: &usize| names.get(*number).ok_or("a name is missing");
        let values = self.values.iter().map(|(number, value)| {
            let name = name(number)?;
            let metric =
                Metric::find(&name.metric).ok_or_else(|| unknown("metric", &name.metric))?;
            Ok::<_, String>(Value {
                subject: subject(name)?,
                window: name.window.clone(),
                metric,
                value: *value,
            })
        });
        let series = self.series.iter().map(|(number, values)| {
            let name = name(number)?;
            let metric =
                SeriesMetric::find(&name.metric).ok_or_else(|| unknown("metric", &name.metric))?;
            Ok::<_, String>(Series {
                subject: subject(name)?,
                metric,
                values: values.clone(),
            })
        });
        let digest = u128::from_str_radix(&self.digest, 16);
        Ok(Recorded {
            scenario: ScenarioKey::from_str(&self.scenario)
                .map_err(|_| unknown("scenario", &self.scenario))?,
            run: RunResult {
                seed: self.seed,
                perturbed: self.perturbed,
                digest: DigestValue(digest.map_err(|_| unknown("digest", &self.digest))?),
                packet_hops: self.packet_hops,
                simulated: Duration::from_nanos(self.simulated_ns),
                values: values.collect::<Result<_, _>>()?,
                period: Duration::from_nanos(self.period_ns),
                series: series.collect::<Result<_, _>>()?,
                notes: self.notes.lines().map(str::to_owned).collect(),
                captured: None,
                capture_failure: None,
            },
            origin: Arc::new(Origin {
                version: self.version.clone(),
                sources: self.sources.clone(),
                host: self.host.clone(),
                date: self.date.clone(),
            }),
        })
    }
}

/// Returns runs as bytes.
pub fn encode(runs: &[Recorded]) -> Vec<u8> {
    RawRuns::of(runs).bytes()
}

/// Returns the runs that [`encode`] made bytes of.
///
/// # Errors
/// If the bytes are not that, or come from another version.
pub fn decode(bytes: &[u8]) -> Result<Vec<Recorded>, String> {
    let raw: RawRuns = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
    raw.records()
}

/// Returns a list of numbers as a store keeps it.
pub(crate) fn list_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// Returns the list of numbers that a store keeps as these bytes; `None` if they are none.
pub(crate) fn list_of(bytes: &[u8]) -> Option<Vec<f64>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    rest.is_empty()
        .then(|| numbers.iter().map(|it| f64::from_le_bytes(*it)).collect())
}

/// Returns a number as SQLite keeps it: there is one zero, and one value that is no number.
fn plain(value: f64) -> f64 {
    if value.is_nan() {
        f64::NAN
    } else {
        value + 0.0
    }
}

fn subject(name: &Name) -> Result<Subject, String> {
    match name.kind.as_str() {
        "flow" => Ok(Subject::flow(&name.of)),
        "link" => Ok(Subject::link(&name.of)),
        "all" => Ok(Subject::All),
        kind => Err(format!("'{kind}' is no kind that this version knows")),
    }
}
