//! Quantities: what claims and tables speak of, and what runs say about them.
//!
//! A quantity is a value of a cell (a metric, or a moment read off a series), a published number,
//! or one made of others: ratio, difference, sum, the least, Jain's index, the throughput equation, the distance from what
//! is printed. Names are checked when a paper is loaded, so that evaluating can only find that a run does not have a value.

mod distance;
mod equation;
mod repetitions;

use std::collections::BTreeMap;

use fairwire_measure::{Confidence, Estimate, Moments, Spread, jain};
use serde::Deserialize;

use super::{Names, Unit};
use crate::results::{Metric, Results, RunResult, Subject, WHOLE};
use distance::WrittenDistance;
use equation::{Tfrc, WrittenTfrc};

/// A quantity as it is written in a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    pub(super) cell: Option<String>,
    pub(super) flow: Option<String>,
    pub(super) link: Option<String>,
    pub(super) metric: Option<String>,
    pub(super) window: Option<String>,
    pub(super) published: Option<String>,
    pub(super) ratio: Option<Vec<Written>>,
    pub(super) difference: Option<Vec<Written>>,
    pub(super) sum: Option<Vec<Written>>,
    pub(super) jain: Option<Vec<Written>>,
    pub(super) least: Option<Vec<Written>>,
    pub(super) tfrc: Option<Box<WrittenTfrc>>,
    pub(super) distance: Option<Box<WrittenDistance>>,
}

/// A quantity whose names exist.
#[derive(Clone, Debug)]
pub(super) enum Quantity {
    /// Measured in a cell; a window of its own, or the one that is judged.
    Value {
        cell: String,
        subject: Subject,
        what: What,
        window: Option<String>,
    },
    /// Printed by the paper, in base units.
    Printed {
        label: String,
        value: f64,
        base: &'static str,
    },
    /// Made of others.
    Made { how: Made, parts: Vec<Quantity> },
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Metric(Metric),
    /// By its name in the paper's file.
    Moment(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Made {
    Ratio,
    Difference,
    Sum,
    Jain,
    Least,
    /// The root mean square of differences.
    Rms,
    /// Of a round trip and a loss event rate.
    Tfrc(Tfrc),
}

/// What the runs say about a quantity, in a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What it is about: the cell, or how it is made.
    pub label: String,
    /// The unit of the numbers.
    pub unit: Unit,
    /// Mean and interval over the seeds that have a value; `None` if none has.
    pub estimate: Option<Estimate>,
    /// How many seeds were asked.
    pub asked: usize,
    /// The run in which nothing was moved at random.
    pub unperturbed: Option<f64>,
}

impl Measured {
    /// The mean, or what the unperturbed run says where there is no other.
    pub fn value(&self) -> Option<f64> {
        self.estimate
            .map(|estimate| estimate.mean)
            .or(self.unperturbed)
    }

    /// How far its interval reaches; 0 without one.
    pub(super) fn reach(&self) -> f64 {
        self.estimate.map_or(0.0, |estimate| match estimate.spread {
            Spread::HalfWidth(half) => half,
            Spread::None => 0.0,
        })
    }

    /// `1396.6 ± 0.5` without its unit, or what is missing. What a paper printed is as it was.
    pub fn text(&self) -> String {
        let digits = self.digits();
        match (self.estimate, self.unperturbed) {
            (Some(estimate), _) if estimate.count < self.asked as u64 => {
                format!(
                    "{estimate:.digits$} (in {} of {} runs)",
                    estimate.count, self.asked
                )
            }
            (Some(estimate), _) => format!("{estimate:.digits$}"),
            (None, Some(value)) => format!("{}", (value * 1e9 + 0.5).floor() / 1e9),
            (None, None) => "no value".to_owned(),
        }
    }
}

impl Measured {
    /// Digits that say something: the interval has two of them, and a mean without one four; never
    /// more than its unit has.
    fn digits(&self) -> usize {
        let Some(estimate) = self.estimate else {
            return self.unit.digits;
        };
        let least = match estimate.spread {
            Spread::HalfWidth(half) if half > 0.0 => half / 10.0,
            _ => estimate.mean.abs() / 1e3,
        };
        let mut step = 1.0;
        for digits in 0..self.unit.digits {
            if step <= least * (1.0 + 1e-9) {
                return digits;
            }
            step /= 10.0;
        }
        self.unit.digits
    }
}

impl Written {
    /// Does it name nothing at all?
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same for another cell.
    pub(super) fn of_cell(&self, cell: &str) -> Self {
        Self {
            cell: Some(cell.to_owned()),
            ..self.clone()
        }
    }

    /// Resolves names; the error says which one does not exist.
    pub(super) fn resolve(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let made = [
            (Made::Ratio, &self.ratio),
            (Made::Difference, &self.difference),
            (Made::Sum, &self.sum),
            (Made::Jain, &self.jain),
            (Made::Least, &self.least),
        ];
        let mut made = made
            .into_iter()
            .filter_map(|(how, parts)| parts.as_ref().map(|parts| (how, parts)));
        let Some((how, parts)) = made.next() else {
            if let Some(tfrc) = &self.tfrc {
                return tfrc.resolve(names);
            }
            if let Some(distance) = &self.distance {
                return distance.resolve(names);
            }
            return match &self.published {
                Some(table) => self.resolve_published(table, names),
                None => self.resolve_value(names),
            };
        };
        let alone = made.next().is_none() && self.cell.is_none() && self.metric.is_none();
        if !alone {
            return Err("a quantity is one thing: a cell's metric, published, ratio, difference, sum, least or jain".into());
        }
        let pair = matches!(how, Made::Ratio | Made::Difference);
        if parts.is_empty() || (pair && parts.len() != 2) {
            return Err(
                "a ratio and a difference have two parts, a sum, least and jain at least one"
                    .into(),
            );
        }
        let parts = parts
            .iter()
            .map(|part| part.resolve(names))
            .collect::<Result<Vec<_>, _>>()?;
        if parts.iter().any(|part| part.base() != parts[0].base()) {
            return Err("the parts of a quantity have one unit".into());
        }
        Ok(Quantity::Made { how, parts })
    }

    fn resolve_value(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let cell = names.cell(self.cell.as_deref().ok_or("a quantity names a 'cell'")?)?;
        let metric = self
            .metric
            .as_deref()
            .ok_or("a quantity names a 'metric'")?;
        let what = names.what(metric)?;
        names.keeps(cell, &what)?;
        let subject = match (&self.flow, &self.link) {
            (Some(flow), None) => Subject::flow(names.flow(cell, flow)?),
            (None, Some(link)) => Subject::link(names.link(cell, link)?),
            (None, None) => Subject::All,
            (Some(_), Some(_)) => return Err("a quantity is about a flow or a link".into()),
        };
        let window = match &self.window {
            Some(window) => Some(names.window(cell, window)?.to_owned()),
            None if matches!(what, What::Moment(_)) => Some(WHOLE.to_owned()),
            None => None,
        };
        Ok(Quantity::Value {
            cell: cell.to_owned(),
            subject,
            what,
            window,
        })
    }

    fn resolve_published(&self, table: &str, names: &Names<'_>) -> Result<Quantity, String> {
        let key = |part: &Option<String>| part.clone().unwrap_or_default();
        let (cell, flow, metric) = (key(&self.cell), key(&self.flow), key(&self.metric));
        let known = names
            .published(table, &cell, &flow, &metric)
            .ok_or_else(|| {
                format!("there is no published number '{cell}', '{flow}', '{metric}' in '{table}'")
            })?;
        Ok(Quantity::Printed {
            label: format!("{cell} as printed in {table}"),
            value: known.value * known.unit.scale,
            base: known.unit.base,
        })
    }
}

impl Quantity {
    /// The unit that its values are kept in.
    pub(super) fn base(&self) -> &'static str {
        match self {
            Self::Value {
                what: What::Metric(metric),
                ..
            } => metric.unit(),
            Self::Value {
                what: What::Moment(_),
                ..
            } => "s",
            Self::Printed { base, .. } => base,
            Self::Made {
                how: Made::Ratio | Made::Jain,
                ..
            } => "",
            Self::Made {
                how: Made::Tfrc(_), ..
            } => "bit/s",
            Self::Made { parts, .. } => parts.first().map_or("", |part| part.base()),
        }
    }

    /// Does it need to be told a window?
    pub(super) fn needs_window(&self) -> bool {
        match self {
            Self::Value { window, .. } => window.is_none(),
            Self::Printed { .. } => false,
            Self::Made { parts, .. } => parts.iter().any(Self::needs_window),
        }
    }

    /// The cells that it is measured in.
    pub(super) fn cells(&self) -> Vec<&str> {
        match self {
            Self::Value { cell, .. } => vec![cell],
            Self::Printed { .. } => Vec::new(),
            Self::Made { parts, .. } => parts.iter().flat_map(Self::cells).collect(),
        }
    }

    /// The same in other cells; `None` if one of its cells has no other, or it has no cell.
    pub(super) fn moved(&self, to: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        match self {
            Self::Value {
                cell,
                subject,
                what,
                window,
            } => Some(Self::Value {
                cell: to(cell)?,
                subject: subject.clone(),
                what: what.clone(),
                window: window.clone(),
            }),
            Self::Printed { .. } => None,
            Self::Made { how, parts } => Some(Self::Made {
                how: *how,
                parts: parts
                    .iter()
                    .map(|part| part.moved(to))
                    .collect::<Option<_>>()?,
            }),
        }
    }

    /// What to call it.
    pub(super) fn label(&self) -> String {
        let joined = |parts: &[Self], with: &str| {
            let labels: Vec<String> = parts.iter().map(Self::label).collect();
            labels.join(with)
        };
        match self {
            Self::Value {
                cell,
                subject: Subject::All,
                ..
            } => cell.clone(),
            Self::Value { cell, subject, .. } => format!("{cell} {subject}"),
            Self::Printed { label, .. } => label.clone(),
            Self::Made {
                how: Made::Ratio,
                parts,
            } => joined(parts, " / "),
            Self::Made {
                how: Made::Difference,
                parts,
            } => joined(parts, " - "),
            Self::Made {
                how: Made::Sum,
                parts,
            } => joined(parts, " + "),
            Self::Made {
                how: Made::Jain,
                parts,
            } => format!("Jain({})", joined(parts, ", ")),
            Self::Made {
                how: Made::Least,
                parts,
            } => format!("least of {}", joined(parts, ", ")),
            Self::Made {
                how: Made::Rms,
                parts,
            } => distance::label(parts),
            Self::Made {
                how: Made::Tfrc(_),
                parts,
            } => format!("equation at {}", joined(parts, " and ")),
        }
    }

    /// What `results` say about it in `window`.
    pub(super) fn measure(&self, lens: &Lens<'_>, window: &str, unit: Unit) -> Measured {
        let seeds = self.by_seed(lens, window);
        let asked = seeds.as_ref().map_or(0, BTreeMap::len);
        let moments: Moments = seeds
            .iter()
            .flat_map(BTreeMap::values)
            .flatten()
            .map(|value| value / unit.scale)
            .collect();
        Measured {
            label: self.label(),
            unit,
            estimate: moments.estimate(Confidence::STUDENT_95),
            asked,
            unperturbed: self
                .unperturbed(lens, window)
                .map(|value| value / unit.scale),
        }
    }

    /// What it is more than `other`, seed by seed.
    pub(super) fn less(&self, other: &Self) -> Self {
        Self::Made {
            how: Made::Difference,
            parts: vec![self.clone(), other.clone()],
        }
    }

    /// Values by seed; those of the parts are paired by seed. `None` stands for a constant.
    fn by_seed(&self, lens: &Lens<'_>, window: &str) -> Option<BTreeMap<u64, Option<f64>>> {
        match self {
            Self::Value { cell, .. } => {
                let cell = lens.results.cell(cell);
                let runs = cell.into_iter().flat_map(|cell| &cell.runs);
                Some(
                    runs.map(|run| (run.seed, self.in_run(lens, run, window)))
                        .collect(),
                )
            }
            Self::Printed { .. } => None,
            Self::Made { how, parts } => {
                let columns: Vec<_> = parts
                    .iter()
                    .map(|part| part.by_seed(lens, window))
                    .collect();
                let seeds = columns.iter().flatten().next()?.keys();
                let everywhere =
                    |seed: &&u64| columns.iter().flatten().all(|c| c.contains_key(seed));
                let value = |seed: &u64| {
                    let values = parts
                        .iter()
                        .zip(&columns)
                        .map(|(part, column)| match column {
                            Some(column) => column.get(seed).copied().flatten(),
                            None => part.constant(),
                        });
                    how.of(&values.collect::<Option<Vec<f64>>>()?)
                };
                Some(
                    seeds
                        .filter(everywhere)
                        .map(|seed| (*seed, value(seed)))
                        .collect(),
                )
            }
        }
    }

    fn unperturbed(&self, lens: &Lens<'_>, window: &str) -> Option<f64> {
        match self {
            Self::Value { cell, .. } => {
                let run = lens.results.cell(cell)?.unperturbed.as_ref()?;
                self.in_run(lens, run, window)
            }
            Self::Printed { value, .. } => Some(*value),
            Self::Made { how, parts } => {
                let values: Option<Vec<f64>> = parts
                    .iter()
                    .map(|part| part.unperturbed(lens, window))
                    .collect();
                how.of(&values?)
            }
        }
    }

    fn constant(&self) -> Option<f64> {
        match self {
            Self::Value { .. } => None,
            Self::Printed { value, .. } => Some(*value),
            Self::Made { how, parts } => {
                let values: Option<Vec<f64>> = parts.iter().map(Self::constant).collect();
                how.of(&values?)
            }
        }
    }

    fn in_run(&self, lens: &Lens<'_>, run: &RunResult, judged: &str) -> Option<f64> {
        let Self::Value {
            subject,
            what,
            window,
            ..
        } = self
        else {
            return None;
        };
        let value = match what {
            What::Metric(metric) => {
                run.value(subject, window.as_deref().unwrap_or(judged), *metric)
            }
            What::Moment(name) => lens.moments.get(name)?.at(run, subject),
        };
        value.filter(|value| value.is_finite())
    }
}

impl Made {
    fn of(self, values: &[f64]) -> Option<f64> {
        let value = match (self, values) {
            (Self::Ratio, [above, below]) => above / below,
            (Self::Difference, [from, less]) => from - less,
            (Self::Sum, values) => values.iter().sum(),
            (Self::Jain, values) => jain(values)?,
            (Self::Least, values) => values.iter().copied().reduce(f64::min)?,
            (Self::Rms, values) => distance::root_mean_square(values)?,
            (Self::Tfrc(equation), [rtt, p]) => equation.of(*rtt, *p),
            (Self::Ratio | Self::Difference | Self::Tfrc(_), _) => return None,
        };
        value.is_finite().then_some(value)
    }
}

/// What evaluating looks through: results, and the paper's rules for moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lens<'a> {
    pub(super) results: &'a Results,
    pub(super) moments: &'a BTreeMap<String, super::Moment>,
}

#[cfg(test)]
mod tests;
