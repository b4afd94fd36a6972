//! Quantities: the values that claims and tables are about, and how results give them.
//!
//! A quantity is a value of a cell (a metric or a moment of a series), a published number, or a combination of others.
//! Combinations are ratio, difference, sum, least, Jain's index, the throughput equation and the distance from
//! published numbers. Names are checked when a paper is loaded, so the only failure of an evaluation is a run without
//! the value.

mod equation;
mod repetitions;
mod written;

use std::collections::BTreeMap;

use fairwire_measure::{Confidence, Estimate, Moments, Spread, jain};

use super::Unit;
use super::metric_or_moment::MetricOrMoment;
use equation::Tfrc;
use fairwire_sim::results::{Results, RunResult, Subject};

pub(super) use written::{Quantities, Written};

/// A quantity whose names exist.
#[derive(Clone, Debug)]
pub(super) enum Quantity {
    /// A value measured in a cell, in its own window or else in the one that is judged.
    Value {
        cell: String,
        subject: Subject,
        what: MetricOrMoment,
        window: Option<String>,
    },
    /// A number printed by the paper, in base units.
    Printed {
        label: String,
        value: f64,
        base: &'static str,
    },
    /// A combination of other quantities.
    Computed {
        how: Operation,
        parts: Vec<Quantity>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    Ratio,
    Difference,
    Sum,
    Jain,
    Least,
    /// The root mean square of differences.
    Rms,
    /// The throughput equation of a round-trip time and a loss event rate.
    Tfrc(Tfrc),
}

/// The measured value of a quantity, in a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The cell, or how the quantity is computed.
    pub label: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Mean and interval over the seeds with a value; `None` if no seed has one.
    pub estimate: Option<Estimate>,
    /// The number of seeds that were run, with or without a value.
    pub runs: usize,
    /// The value of the unperturbed run.
    pub unperturbed: Option<f64>,
}

impl Measured {
    /// Returns the mean over the seeds, or without one the value of the unperturbed run.
    pub fn value(&self) -> Option<f64> {
        self.estimate
            .map(|estimate| estimate.mean)
            .or(self.unperturbed)
    }

    /// Returns the half-width of its interval; 0 without one.
    pub(super) fn reach(&self) -> f64 {
        self.estimate.map_or(0.0, |estimate| match estimate.spread {
            Spread::HalfWidth(half) => half,
            Spread::None => 0.0,
        })
    }

    /// Returns `1396.6 ± 0.5` without the unit, or `no value`.
    ///
    /// It adds the number of runs if some have no value. A published number is shown as it was printed.
    pub fn text(&self) -> String {
        let digits = self.digits();
        match (self.estimate, self.unperturbed) {
            (Some(estimate), _) if estimate.count < self.runs as u64 => {
                format!(
                    "{estimate:.digits$} (in {} of {} runs)",
                    estimate.count, self.runs
                )
            }
            (Some(estimate), _) => format!("{estimate:.digits$}"),
            (None, Some(value)) => format!("{}", (value * 1e9 + 0.5).floor() / 1e9),
            (None, None) => "no value".to_owned(),
        }
    }
}

impl Measured {
    /// Returns the number of digits to show after the point.
    fn digits(&self) -> usize {
        self.estimate
            .map_or(self.unit.digits, |estimate| self.unit.digits_of(estimate))
    }
}

impl Quantity {
    /// Returns the base unit of its values.
    pub(super) fn base_unit(&self) -> &'static str {
        match self {
            Self::Value {
                what: MetricOrMoment::Metric(metric),
                ..
            } => metric.unit(),
            Self::Value {
                what: MetricOrMoment::Moment(_),
                ..
            } => "s",
            Self::Printed { base, .. } => base,
            Self::Computed {
                how: Operation::Ratio | Operation::Jain,
                ..
            } => "",
            Self::Computed {
                how: Operation::Tfrc(_),
                ..
            } => "bit/s",
            Self::Computed { parts, .. } => parts.first().map_or("", |part| part.base_unit()),
        }
    }

    /// Returns whether it needs the window of its claim.
    pub(super) fn needs_window(&self) -> bool {
        match self {
            Self::Value { window, .. } => window.is_none(),
            Self::Printed { .. } => false,
            Self::Computed { parts, .. } => parts.iter().any(Self::needs_window),
        }
    }

    /// Returns the cells in which it is measured.
    pub(super) fn cells(&self) -> Vec<&str> {
        match self {
            Self::Value { cell, .. } => vec![cell],
            Self::Printed { .. } => Vec::new(),
            Self::Computed { parts, .. } => parts.iter().flat_map(Self::cells).collect(),
        }
    }

    /// Returns the same quantity in other cells; `None` if `to` does not map one of its cells, or if it contains a
    /// published number.
    pub(super) fn moved(&self, to: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        self.map(to, false)
    }

    /// Returns the same quantity with the cells that `by` replaces. Published numbers and other cells stay.
    pub(super) fn replaced(&self, by: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        self.map(&|cell| by(cell).or_else(|| Some(cell.to_owned())), true)
    }

    fn map(&self, to: &dyn Fn(&str) -> Option<String>, keeps_published: bool) -> Option<Self> {
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
            Self::Printed { .. } => keeps_published.then(|| self.clone()),
            Self::Computed { how, parts } => {
                let parts = parts.iter().map(|part| part.map(to, keeps_published));
                Some(Self::Computed {
                    how: *how,
                    parts: parts.collect::<Option<_>>()?,
                })
            }
        }
    }

    /// Returns its name in reports.
    pub(super) fn label(&self) -> String {
        let joined = |parts: &[Self], with: &str| {
            let labels: Vec<String> = parts.iter().map(Self::label).collect();
            labels.join(with)
        };
        let terms = |parts: &[Self], with: &str| {
            let labels: Vec<String> = parts.iter().map(Self::term).collect();
            labels.join(with)
        };
        match self {
            Self::Value {
                cell,
                subject,
                what,
                window,
            } => {
                let what = what.name().replace('_', " ");
                // Only a quantity with a window of its own has one here.
                let window = window.iter().map(|window| format!(" ({window})"));
                let window: String = window.collect();
                match subject {
                    Subject::All => format!("{what} in {cell}{window}"),
                    subject => format!("{what} of {subject} in {cell}{window}"),
                }
            }
            Self::Printed { label, .. } => label.clone(),
            Self::Computed {
                how: Operation::Ratio,
                parts,
            } => format!("ratio of {}", terms(parts, " to ")),
            Self::Computed {
                how: Operation::Difference,
                parts,
            } => terms(parts, " - "),
            Self::Computed {
                how: Operation::Sum,
                parts,
            } => terms(parts, " + "),
            Self::Computed {
                how: Operation::Jain,
                parts,
            } => format!("Jain({})", joined(parts, ", ")),
            Self::Computed {
                how: Operation::Least,
                parts,
            } => format!("least of {}", joined(parts, ", ")),
            Self::Computed {
                how: Operation::Rms,
                parts,
            } => label_of_distance(parts),
            Self::Computed {
                how: Operation::Tfrc(_),
                parts,
            } => format!("equation at {}", joined(parts, " and ")),
        }
    }

    /// Returns its name as a part of a ratio, difference or sum: in brackets if it is one itself.
    fn term(&self) -> String {
        match self {
            Self::Computed {
                how: Operation::Ratio | Operation::Difference | Operation::Sum,
                ..
            } => format!("({})", self.label()),
            _ => self.label(),
        }
    }

    /// Returns its measured value in `window`.
    pub(super) fn measure(&self, context: &EvalContext<'_>, window: &str, unit: Unit) -> Measured {
        let seeds = self.by_seed(context, window);
        let runs = seeds.as_ref().map_or(0, BTreeMap::len);
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
            runs,
            unperturbed: self
                .unperturbed(context, window)
                .map(|value| value / unit.scale),
        }
    }

    /// Returns the quantity `self` minus `other`, taken seed by seed.
    pub(super) fn minus(&self, other: &Self) -> Self {
        Self::Computed {
            how: Operation::Difference,
            parts: vec![self.clone(), other.clone()],
        }
    }

    /// Returns its values by seed. Values of a combination are paired by seed. `None` stands for a constant.
    fn by_seed(
        &self,
        context: &EvalContext<'_>,
        window: &str,
    ) -> Option<BTreeMap<u64, Option<f64>>> {
        match self {
            Self::Value { cell, .. } => {
                let cell = context.results.cell(cell);
                let runs = cell.into_iter().flat_map(|cell| &cell.runs);
                Some(
                    runs.map(|run| (run.seed, self.in_run(context, run, window)))
                        .collect(),
                )
            }
            Self::Printed { .. } => None,
            Self::Computed { how, parts } => {
                let columns: Vec<_> = parts
                    .iter()
                    .map(|part| part.by_seed(context, window))
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

    fn unperturbed(&self, context: &EvalContext<'_>, window: &str) -> Option<f64> {
        match self {
            Self::Value { cell, .. } => {
                let run = context.results.cell(cell)?.unperturbed.as_ref()?;
                self.in_run(context, run, window)
            }
            Self::Printed { value, .. } => Some(*value),
            Self::Computed { how, parts } => {
                let values: Option<Vec<f64>> = parts
                    .iter()
                    .map(|part| part.unperturbed(context, window))
                    .collect();
                how.of(&values?)
            }
        }
    }

    fn constant(&self) -> Option<f64> {
        match self {
            Self::Value { .. } => None,
            Self::Printed { value, .. } => Some(*value),
            Self::Computed { how, parts } => {
                let values: Option<Vec<f64>> = parts.iter().map(Self::constant).collect();
                how.of(&values?)
            }
        }
    }

    fn in_run(&self, context: &EvalContext<'_>, run: &RunResult, judged: &str) -> Option<f64> {
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
            MetricOrMoment::Metric(metric) => {
                run.value(subject, window.as_deref().unwrap_or(judged), *metric)
            }
            MetricOrMoment::Moment(name) => context.moments.get(name)?.at(run, subject),
        };
        value.filter(|value| value.is_finite())
    }
}

impl Operation {
    fn of(self, values: &[f64]) -> Option<f64> {
        let value = match (self, values) {
            (Self::Ratio, [above, below]) => above / below,
            (Self::Difference, [from, less]) => from - less,
            (Self::Sum, values) => values.iter().sum(),
            (Self::Jain, values) => jain(values)?,
            (Self::Least, values) => values.iter().copied().reduce(f64::min)?,
            (Self::Rms, values) => root_mean_square(values)?,
            (Self::Tfrc(equation), [rtt, p]) => equation.of(*rtt, *p),
            (Self::Ratio | Self::Difference | Self::Tfrc(_), _) => return None,
        };
        value.is_finite().then_some(value)
    }
}

/// Returns the root mean square; `None` without values.
fn root_mean_square(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (!values.is_empty()).then(|| f64::sqrt(squares / values.len() as f64))
}

/// Returns the name of a distance: its first cell, or its first and last cell.
fn label_of_distance(parts: &[Quantity]) -> String {
    let cells: Vec<&str> = parts.iter().flat_map(Quantity::cells).collect();
    match (cells.first(), cells.last()) {
        (Some(first), Some(last)) if first == last => format!("r.m.s. of {first}"),
        (Some(first), Some(last)) => format!("r.m.s. of {first} .. {last}"),
        _ => "r.m.s.".to_owned(),
    }
}

/// The inputs of an evaluation: results, and the paper's rules for moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvalContext<'a> {
    pub(super) results: &'a Results,
    pub(super) moments: &'a BTreeMap<String, super::Moment>,
}

#[cfg(test)]
mod tests;
