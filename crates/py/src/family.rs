//! Means over several flows, and differences of runs that have their seed in common.

use std::collections::BTreeMap;

use fairwire_lab::results::{CellResult, Metric, RunResult, Subject, Value};
use fairwire_lab::scenario::matches_pattern;
use fairwire_measure::{Confidence, Estimate, Moments};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What is asked of each run: one number for several flows or links.
#[derive(Debug)]
pub(crate) struct Question {
    metric: Metric,
    window: Option<String>,
    /// Patterns of names; what the flows send if there are none.
    of: Vec<String>,
    /// What is subtracted.
    minus: Option<Vec<String>>,
    /// Whether the values of the flows are added; otherwise it is their mean.
    is_total: bool,
}

/// What the seeds of a cell answer.
pub(crate) type Answers = BTreeMap<u64, f64>;

impl Question {
    pub(crate) fn new(
        metric: &str,
        of: Vec<String>,
        minus: Option<Vec<String>>,
        window: Option<String>,
        is_total: bool,
    ) -> PyResult<Self> {
        let Some(metric) = Metric::find(metric) else {
            let names: Vec<&str> = Metric::ALL.iter().map(|it| it.name()).collect();
            let text = format!("no metric {metric:?}: there are {}", names.join(", "));
            return Err(PyValueError::new_err(text));
        };
        Ok(Self {
            metric,
            window,
            of,
            minus,
            is_total,
        })
    }

    pub(crate) fn unit(&self) -> &'static str {
        self.metric.unit()
    }

    /// Returns the answer of each seed of a cell.
    ///
    /// # Errors
    /// If no flow or link with the metric has a wanted name.
    pub(crate) fn ask(&self, cell: &CellResult) -> Result<Answers, String> {
        let mut answers = Answers::new();
        for run in &cell.runs {
            let mut answer = self.combined(cell, run, &self.of)?;
            if let (Some(value), Some(minus)) = (&mut answer, &self.minus) {
                match self.combined(cell, run, minus)? {
                    Some(other) => *value -= other,
                    None => continue,
                }
            }
            if let Some(answer) = answer {
                answers.insert(run.seed, answer);
            }
        }
        Ok(answers)
    }

    /// Returns the number of a run for the flows or links with these names; `None` if one of them has none.
    fn combined(
        &self,
        cell: &CellResult,
        run: &RunResult,
        names: &[String],
    ) -> Result<Option<f64>, String> {
        let there = || run.values.iter().filter(|it| it.metric == self.metric);
        let first = there().next().map(|it| it.window.as_str());
        let Some(window) = self.window.as_deref().or(first) else {
            return Err(format!("{} has no {}", cell.name, self.metric.name()));
        };
        let is_wanted = |it: &&Value| it.window == window && is_named(&it.subject, names);
        let mut wanted = there().filter(is_wanted).peekable();
        if wanted.peek().is_none() {
            let mut others: Vec<String> = Vec::new();
            for it in there() {
                let other = format!("{} in {}", it.subject, it.window);
                if !others.contains(&other) {
                    others.push(other);
                }
            }
            let names = if names.is_empty() {
                "any flow".to_owned()
            } else {
                names.join(", ")
            };
            let (cell, metric, others) = (&cell.name, self.metric.name(), others.join(", "));
            return Err(format!(
                "{cell} has no {metric} of {names} in {window}: there are {others}"
            ));
        }
        let values: Moments = wanted.map(|it| it.value).collect();
        let count = if self.is_total { values.count() } else { 1 };
        let combined = values.mean().map(|mean| mean * count as f64);
        Ok(combined.filter(|value| !value.is_nan()))
    }
}

/// Returns whether a flow or link has a wanted name. A star does not stand for a slash, which is in the names of the
/// directions back.
fn is_named(subject: &Subject, names: &[String]) -> bool {
    let name = subject.name();
    if names.is_empty() {
        return matches!(subject, Subject::Flow(_)) && !name.contains('/');
    }
    let is = |pattern: &String| {
        pattern.contains('/') == name.contains('/') && matches_pattern(pattern, name)
    };
    names.iter().any(is)
}

/// Returns the mean of the answers with its 95 % interval, without those of `base` if it is given: then of the seeds that
/// both have.
pub(crate) fn estimate(answers: &Answers, base: Option<&Answers>) -> Option<Estimate> {
    let differences = answers.iter().filter_map(|(seed, value)| match base {
        Some(base) => Some(value - base.get(seed)?),
        None => Some(*value),
    });
    let moments: Moments = differences.collect();
    moments.estimate(Confidence::STUDENT_95)
}
