//! A metric of a table as it is written: the measured value and how the table converts it.

use fairwire_units::{Duration, Size};
use serde::Deserialize;

use crate::quantity::{Quantity, Written};
use crate::{Names, Unit};
use fairwire_scenario::tree::{Entry, Node, Value};
use fairwire_sim::results::Subject;

/// The unit of [`WrittenMetric::repetitions`].
const RUNS: &str = "runs";

/// A metric and its conversion. A plain text stands for the metric of that name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "the name of a metric in quotes, or a table as { metric = \"NAME\" }")]
pub(super) struct WrittenMetric {
    metric: String,
    /// A metric that is subtracted, seed by seed.
    less: Option<String>,
    /// Its name in the table, if that differs.
    name: Option<String>,
    /// The unit; by default the usual one of the metric.
    unit: Option<String>,
    digits: Option<usize>,
    /// A factor for the measured value, where the paper has one.
    #[serde(default = "once")]
    times: f64,
    /// The time over which a rate is summed to a total.
    over: Option<String>,
    /// The size of a packet, to convert packets to bytes.
    each: Option<String>,
    /// Whether the table shows, instead of the value, how many runs the rule for repetitions requires to know it.
    #[serde(default)]
    pub(super) repetitions: bool,
    /// The paper's name of the metric, if it printed a number.
    published: Option<String>,
    #[serde(default)]
    note: String,
    /// Whether it is shown for the unperturbed run.
    #[serde(default = "yes")]
    pub(super) unperturbed: bool,
}

pub(super) fn yes() -> bool {
    true
}

fn once() -> f64 {
    1.0
}

/// Replaces each metric of `table` that is a plain name by a table with that name.
pub(super) fn expand_names(table: &mut Node) {
    let metrics = table.below_mut(&["metrics"]).map(|list| &mut list.value);
    let Some(Value::Array(metrics)) = metrics else {
        return;
    };
    for metric in metrics {
        if matches!(metric.value, Value::Text(_)) {
            let name = metric.clone();
            let entry = Entry {
                name: "metric".to_owned(),
                place: name.place.clone(),
                node: name,
            };
            metric.value = Value::Table(vec![entry]);
        }
    }
}

impl WrittenMetric {
    /// Returns its name in the table.
    pub(super) fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.metric)
    }

    /// Returns the name under which its published number is found: by default the metric's own.
    ///
    /// A number of repetitions is not the metric itself, so it has no default.
    pub(super) fn published(&self) -> Option<&str> {
        let own = (!self.repetitions).then_some(self.metric.as_str());
        self.published.as_deref().or(own)
    }

    /// Returns its meaning in sentences.
    pub(super) fn meaning(&self, names: &Names<'_>) -> String {
        let meaning = names.meaning(&self.metric);
        match (&self.name, self.note.is_empty()) {
            // It has another name, so the meaning of the metric would mislead.
            (Some(_), false) => self.note.clone(),
            (_, true) => meaning,
            (None, false) => format!("{meaning} {}", self.note),
        }
    }

    /// Returns the unit in which a value with the base unit `base` is shown.
    pub(super) fn unit(&self, base: &'static str) -> Result<Unit, String> {
        let mut unit = match &self.unit {
            Some(name) => Unit::named(name)?,
            None if self.repetitions => Unit::of(RUNS),
            None => Unit::of(base),
        };
        unit.digits = self.digits.unwrap_or(unit.digits);
        Ok(unit)
    }

    /// Returns the quantity that is measured for `flow` in `cell`.
    pub(super) fn quantity(
        &self,
        flow: &str,
        cell: &str,
        names: &Names<'_>,
    ) -> Result<Quantity, String> {
        let of = |metric: &String| Written {
            cell: Some(cell.to_owned()),
            flow: (flow != Subject::All.to_string()).then(|| flow.to_owned()),
            metric: Some(metric.clone()),
            ..Written::default()
        };
        let written = match &self.less {
            Some(less) => Written {
                difference: Some(vec![of(&self.metric), of(less)]),
                ..Written::default()
            },
            None => of(&self.metric),
        };
        written.resolve(names)
    }

    /// Returns the factor that converts a value from the unit `base` to the base of `unit`.
    pub(super) fn factor(&self, base: &str, unit: Unit) -> Result<f64, String> {
        if self.repetitions {
            let plain = unit.base == RUNS && self.over.is_none() && self.each.is_none();
            return if plain {
                Ok(1.0)
            } else {
                Err(format!("'repetitions' are in '{RUNS}'"))
            };
        }
        let seconds = self.over.as_deref().map(time).transpose()?;
        let bytes = self.each.as_deref().map(size).transpose()?;
        let factor = match (base, seconds, bytes) {
            (base, None, None) if base == unit.base => 1.0,
            ("bit/s", Some(seconds), None) if unit.base == "B" => seconds / 8.0,
            ("packets/s", Some(seconds), Some(bytes)) if unit.base == "B" => seconds * bytes,
            _ => return Err(format!("'{}' is not in '{}'", self.metric, unit.name)),
        };
        Ok(factor * self.times)
    }
}

fn time(text: &str) -> Result<f64, String> {
    let span: Result<Duration, _> = text.parse();
    span.map(Duration::as_secs_f64)
        .map_err(|_| format!("'{text}' is not a time as \"5 s\""))
}

fn size(text: &str) -> Result<f64, String> {
    let size: Result<Size, _> = text.parse();
    size.map(|size| size.bytes() as f64)
        .map_err(|_| format!("'{text}' is not a size as \"512 B\""))
}
