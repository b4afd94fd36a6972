//! A metric of a table, as it is written: what is measured, and what is made of it.

use fairwire_units::{Duration, Size};
use serde::Deserialize;

use crate::paper::quantity::{Quantity, Written};
use crate::paper::{Names, Unit};
use crate::results::Subject;
use crate::scenario::tree::{Entry, Node, Value};

/// The unit of [`WrittenMetric::repetitions`].
const RUNS: &str = "runs";

/// A metric with what a table makes of it. A metric alone is its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenMetric {
    metric: String,
    /// Taken away from it, seed by seed.
    less: Option<String>,
    /// What the table calls it, where that is something else.
    name: Option<String>,
    /// The usual one of what is measured, unless it is written.
    unit: Option<String>,
    digits: Option<usize>,
    /// Multiplies what was measured, where the paper did so.
    #[serde(default = "once")]
    times: f64,
    /// Makes a rate a total: what comes together in so much time.
    over: Option<String>,
    /// How large a packet is, where packets become bytes.
    each: Option<String>,
    /// Not the number, but how many runs the rule for repetitions asks for to know it.
    #[serde(default)]
    pub(super) repetitions: bool,
    /// What the paper calls it, if it has a number for it.
    published: Option<String>,
    #[serde(default)]
    note: String,
    /// Does it stand among the numbers of the unperturbed run?
    #[serde(default = "yes")]
    pub(super) unperturbed: bool,
}

pub(super) fn yes() -> bool {
    true
}

fn once() -> f64 {
    1.0
}

/// Writes metrics of `table` that are their names alone as tables.
pub(super) fn write_names_out(table: &mut Node) {
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
    /// What the table calls it.
    pub(super) fn called(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.metric)
    }

    /// What the paper calls it: the metric's name unless it says otherwise. A number of repetitions
    /// is not the metric, so its printed one has to be named.
    pub(super) fn published(&self) -> Option<&str> {
        let own = (!self.repetitions).then_some(self.metric.as_str());
        self.published.as_deref().or(own)
    }

    /// What it is, in sentences.
    pub(super) fn meaning(&self, names: &Names<'_>) -> String {
        let meaning = names.meaning(&self.metric);
        match (&self.name, self.note.is_empty()) {
            // Under another name the words of the metric would mislead.
            (Some(_), false) => self.note.clone(),
            (_, true) => meaning,
            (None, false) => format!("{meaning} {}", self.note),
        }
    }

    /// The unit that is printed of what is kept in `base`.
    pub(super) fn unit(&self, base: &'static str) -> Result<Unit, String> {
        let mut unit = match &self.unit {
            Some(name) => Unit::named(name)?,
            None if self.repetitions => Unit::of(RUNS),
            None => Unit::of(base),
        };
        unit.digits = self.digits.unwrap_or(unit.digits);
        Ok(unit)
    }

    /// What is measured of `flow` in `cell`.
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

    /// How many of the unit one of `base` makes, before the unit's own scale.
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
