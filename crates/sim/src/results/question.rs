//! Means over several flows, and differences of runs that have their seed in common.

use std::collections::{BTreeMap, BTreeSet};

use fairwire_measure::{Confidence, Estimate, Moments};
use fairwire_scenario::Cell;

use super::{CellResult, Metric, RunResult, Subject};
use crate::expected::expected;

/// What is asked of each run: one number for several flows or links.
#[derive(Clone, Debug)]
pub struct Question {
    /// The metric.
    pub metric: Metric,
    /// The window of time; the first one in which a cell has the metric if there is none.
    pub window: Option<String>,
    /// Patterns of the names of flows or links; what the flows send if there are none.
    pub of: Vec<String>,
    /// What is subtracted, also by patterns of names.
    pub minus: Option<Vec<String>>,
    /// Whether the values of the flows are added; otherwise it is their mean.
    pub is_total: bool,
}

/// What the runs of a cell answer: a number for each seed.
pub type Answers = BTreeMap<u64, f64>;

/// What a question is of, in one cell.
struct Asked<'a> {
    window: &'a str,
    of: BTreeSet<&'a Subject>,
    minus: Option<BTreeSet<&'a Subject>>,
}

impl Question {
    /// Checks that the runs of these cells can answer, of one at least: cells may have different flows, but a name that
    /// none has is a mistake.
    ///
    /// # Errors
    /// The first cell's, if none can.
    pub fn check(&self, cells: &[Cell]) -> Result<(), String> {
        let mut first = None;
        for cell in cells {
            // If its network cannot be built, its first run says what is wrong.
            let checked = expected(&cell.scenario, self.metric)
                .map_or(Ok(()), |there| self.subjects(&cell.name, &there).map(drop));
            match checked {
                Ok(()) => return Ok(()),
                Err(error) => _ = first.get_or_insert(error),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// Returns the answer of each seed of a cell. A seed in which one of the flows or links has no value has none.
    ///
    /// # Errors
    /// If no flow or link with the metric has a wanted name, in any run.
    pub fn ask(&self, cell: &CellResult) -> Result<Answers, String> {
        let mut there: Vec<(Subject, String)> = Vec::new();
        let values = cell.runs.iter().flat_map(|run| &run.values);
        for it in values.filter(|it| it.metric == self.metric) {
            let is_it = |(subject, window): &(Subject, String)| {
                (subject, window) == (&it.subject, &it.window)
            };
            if !there.iter().any(is_it) {
                there.push((it.subject.clone(), it.window.clone()));
            }
        }
        let Asked { window, of, minus } = self.subjects(&cell.name, &there)?;
        let mut answers = Answers::new();
        for run in &cell.runs {
            let Some(mut answer) = self.combined(run, window, &of) else {
                continue;
            };
            if let Some(minus) = &minus {
                match self.combined(run, window, minus) {
                    Some(other) => answer -= other,
                    None => continue,
                }
            }
            answers.insert(run.seed, answer);
        }
        Ok(answers)
    }

    /// Returns what is asked for, among what has the metric in a cell.
    fn subjects<'a>(
        &'a self,
        cell: &str,
        there: &'a [(Subject, String)],
    ) -> Result<Asked<'a>, String> {
        let first = there.first().map(|(_, window)| window.as_str());
        let Some(window) = first.map(|first| self.window.as_deref().unwrap_or(first)) else {
            return Err(format!("{cell} has no {}", self.metric.name()));
        };
        let named = |names: &[String]| {
            let in_window = there.iter().filter(|(_, other)| other == window);
            let found: BTreeSet<&Subject> = in_window.map(|(subject, _)| subject).collect();
            let named = found.iter().copied();
            let named: BTreeSet<_> = named.filter(|it| is_named(it, names)).collect();
            if !named.is_empty() {
                return Ok(named);
            }
            // Some metrics are of all flows together only.
            if names.is_empty() && found.contains(&Subject::All) {
                return Ok(BTreeSet::from([&Subject::All]));
            }
            let others = there
                .iter()
                .map(|(subject, window)| format!("{subject} in {window}"));
            let others = others.collect::<Vec<_>>().join(", ");
            let names = if names.is_empty() {
                "any flow".to_owned()
            } else {
                names.join(", ")
            };
            let metric = self.metric.name();
            Err(format!(
                "{cell} has no {metric} of {names} in {window}: there are {others}"
            ))
        };
        Ok(Asked {
            window,
            of: named(&self.of)?,
            minus: self.minus.as_deref().map(named).transpose()?,
        })
    }

    /// Returns the number of a run for these flows or links; `None` if one of them has no value.
    fn combined(
        &self,
        run: &RunResult,
        window: &str,
        subjects: &BTreeSet<&Subject>,
    ) -> Option<f64> {
        let values = subjects
            .iter()
            .map(|subject| run.value(subject, window, self.metric));
        let values: Option<Vec<f64>> = values.collect();
        let values = values?;
        let total: f64 = values.iter().sum();
        let count = if self.is_total { 1 } else { values.len() };
        let combined = total / count as f64;
        (!combined.is_nan()).then_some(combined)
    }
}

/// Returns whether a flow or link has a wanted name.
fn is_named(subject: &Subject, names: &[String]) -> bool {
    if names.is_empty() {
        return matches!(subject, Subject::Flow(name) if !name.contains('/'));
    }
    names.iter().any(|pattern| subject.is_named(pattern))
}

/// Returns the mean of each cell's answers with its 95 % interval (Student's t over the seeds); `None` for a cell that
/// has none. With `against` it is the mean of the differences from the cell at this place, over the seeds that both have:
/// what a seed does to both does not widen the interval.
///
/// # Errors
/// The first cell's, if no cell has an answer: cells may have different flows, but a name that none has is a mistake.
pub fn means(
    answers: Vec<Result<Answers, String>>,
    against: Option<usize>,
) -> Result<Vec<Option<Estimate>>, String> {
    if answers.iter().all(Result::is_err)
        && let Some(Err(error)) = answers.first()
    {
        return Err(error.clone());
    }
    let answers: Vec<Answers> = answers.into_iter().map(Result::unwrap_or_default).collect();
    let base = against.and_then(|place| answers.get(place));
    let means = answers.iter().map(|answers| {
        let differences = answers.iter().filter_map(|(seed, value)| match base {
            Some(base) => Some(value - base.get(seed)?),
            None => Some(*value),
        });
        differences
            .collect::<Moments>()
            .estimate(Confidence::STUDENT_95)
    });
    Ok(means.collect())
}
