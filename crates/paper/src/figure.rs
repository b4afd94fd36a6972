//! Figures: measured curves and bars, with the published points beside them.
//!
//! A figure shows either time series, or quantities (metrics, moments, ratios) over cells or windows. This module
//! computes the numbers; the crate `fairwire-report` draws them.

mod axis;
mod plan;

use std::collections::BTreeSet;

use super::quantity::EvalContext;
use super::{Paper, Part, Unit};
use fairwire_measure::{Confidence, Estimate, Moments};
use fairwire_sim::results::{Results, SeriesName};
use fairwire_units::Duration;

pub(super) use plan::{FigurePlan, WrittenFigure};
use plan::{LinePlan, PointPlan};

pub use axis::{Form, Mark, Scale, XAxis, YAxis};

/// The greatest number of points of a series in a figure; more could not be told apart on paper.
const MOST_POINTS: usize = 400;

/// A figure with its values.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name in file names.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What it shows, in words; may be empty.
    pub about: String,
    /// The part of the report in which it stands.
    pub part: Part,
    /// Its form: curves or bars.
    pub form: Form,
    /// The horizontal axis.
    pub x: XAxis,
    /// The vertical axis.
    pub y: YAxis,
    /// The curves, or the bars of one colour each.
    pub lines: Vec<Line>,
    /// The marked moments.
    pub marks: Vec<Mark>,
    /// The time over which each point of a series is averaged, s.
    pub mean_over: Option<f64>,
}

/// One curve, or the bars of one colour.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its label in the legend.
    pub label: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// One point of a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its horizontal position: a number of the axis, or the index of its label.
    pub x: f64,
    /// What was measured, in the figure's unit; `None` if no run has a value.
    pub measured: Option<Estimate>,
    /// The value that the paper printed, if any.
    pub published: Option<f64>,
    /// A remark about the published value; may be empty.
    pub note: String,
}

impl Paper {
    /// Returns all figures with their values, in the order of the paper's file.
    pub fn fill_figures(&self, results: &Results) -> Vec<Figure> {
        let context = EvalContext {
            results,
            moments: &self.moments,
        };
        self.figures
            .iter()
            .map(|plan| plan.fill(&context))
            .collect()
    }

    /// Returns the names of the time series that the figures show.
    pub fn series_of_figures(&self) -> BTreeSet<SeriesName> {
        let lines = self.figures.iter().flat_map(|figure| &figure.lines);
        lines.filter_map(LinePlan::series_name).collect()
    }
}

impl FigurePlan {
    fn fill(&self, context: &EvalContext<'_>) -> Figure {
        let lines: Vec<(Line, Option<f64>)> = self
            .lines
            .iter()
            .map(|line| line.fill(context, self))
            .collect();
        // Cells may have different periods: the caption states the longest.
        let mean_over = lines.iter().filter_map(|(_, over)| *over).reduce(f64::max);
        Figure {
            name: self.name.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            part: self.part,
            form: self.form,
            x: self.x.clone(),
            y: self.y.clone(),
            lines: lines.into_iter().map(|(line, _)| line).collect(),
            marks: self.marks.clone(),
            mean_over,
        }
    }
}

impl LinePlan {
    /// Returns the name of the series that it shows, if it shows one.
    fn series_name(&self) -> Option<SeriesName> {
        match self {
            Self::Points { .. } => None,
            Self::Series {
                cell,
                subject,
                metric,
                ..
            } => Some(SeriesName {
                cell: cell.clone(),
                subject: subject.clone(),
                metric: *metric,
            }),
        }
    }

    fn fill(&self, context: &EvalContext<'_>, figure: &FigurePlan) -> (Line, Option<f64>) {
        let (points, over) = match self {
            Self::Points { points, .. } => {
                let points = points
                    .iter()
                    .map(|point| point.fill(context, figure.y.unit))
                    .collect();
                (points, None)
            }
            Self::Series { .. } => self.series(context, figure),
        };
        let label = self.label().to_owned();
        (Line { label, points }, over)
    }

    /// Returns the mean series of all seeds and the time over which each point is averaged, s.
    fn series(&self, context: &EvalContext<'_>, figure: &FigurePlan) -> (Vec<Point>, Option<f64>) {
        let Self::Series {
            cell,
            subject,
            metric,
            ..
        } = self
        else {
            return (Vec::new(), None);
        };
        let Some(result) = context.results.cell(cell) else {
            return (Vec::new(), None);
        };
        // A cell may have an unperturbed run only.
        let runs: Vec<_> = if result.runs.is_empty() {
            result.unperturbed.iter().collect()
        } else {
            result.runs.iter().collect()
        };
        let series: Vec<&[f64]> = runs
            .iter()
            .filter_map(|run| run.series(subject, *metric))
            .collect();
        let step = runs.first().map_or(Duration::ZERO, |run| run.period);
        let period = step.as_secs_f64();
        let periods = series.iter().map(|values| values.len()).max().unwrap_or(0);
        let wanted = figure
            .mean_over
            .and_then(|over| over.as_nanos().checked_div(step.as_nanos()))
            .map_or(1, |count| usize::try_from(count).unwrap_or(periods));
        let bucket = wanted.max(periods.div_ceil(MOST_POINTS)).max(1);
        let scale = figure.y.unit.scale;
        let point = |number: usize| {
            let from = number * bucket;
            let to = (from + bucket).min(periods);
            let means = series
                .iter()
                .filter_map(|values| mean(values.get(from..to.min(values.len()))?));
            let moments: Moments = means.map(|mean| mean / scale).collect();
            Point {
                x: (from + to) as f64 / 2.0 * period,
                measured: moments.estimate(Confidence::STUDENT_95),
                published: None,
                note: String::new(),
            }
        };
        let points = (0..periods.div_ceil(bucket)).map(point).collect();
        (points, Some(bucket as f64 * period))
    }
}

impl PointPlan {
    fn fill(&self, context: &EvalContext<'_>, unit: Unit) -> Point {
        let measured = self.quantity.measure(context, &self.window, unit);
        let (published, note) = match &self.published {
            Some((value, note)) => (Some(*value), note.clone()),
            None => (None, String::new()),
        };
        Point {
            x: self.x,
            measured: measured.estimate,
            published,
            note,
        }
    }
}

/// Returns the mean of the finite values; a period without a reading is NaN.
fn mean(values: &[f64]) -> Option<f64> {
    let there: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    (!there.is_empty()).then(|| there.iter().sum::<f64>() / there.len() as f64)
}

#[cfg(test)]
mod tests;
