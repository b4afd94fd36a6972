//! Figures as they are written in a paper's file, and with resolved names.

use std::fmt;

use fairwire_measure::counted;
use fairwire_units::Duration;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::axis::{Form, Mark, Scale, XAxis, YAxis};
use crate::quantity::{Quantity, Written};
use crate::{Names, Part, Unit};
use fairwire_sim::results::{SeriesMetric, Subject, WHOLE};

/// A figure as it is written. Its values are defaults for its lines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenFigure {
    name: String,
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    part: Part,
    kind: Form,
    /// Over time: the name of the series.
    series: Option<String>,
    mean_over: Option<String>,
    /// Over cells or windows.
    metric: Option<String>,
    window: Option<String>,
    flow: Option<String>,
    link: Option<String>,
    /// One file of published numbers, or several with different cells.
    #[serde(default, deserialize_with = "one_or_several")]
    published: Vec<String>,
    published_metric: Option<String>,
    #[serde(default)]
    x: XAxis,
    y: WrittenYAxis,
    lines: Vec<WrittenLine>,
    #[serde(default)]
    marks: Vec<Mark>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenYAxis {
    title: Option<String>,
    unit: String,
    #[serde(default)]
    scale: Scale,
    from: Option<f64>,
    to: Option<f64>,
}

/// A line: quantities as `of`, or one for each of `cells`, or one `cell` with `windows`. A series has one cell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a table as { label = \"...\", cells = [\"NAME\"] }")]
struct WrittenLine {
    label: String,
    flow: Option<String>,
    link: Option<String>,
    cell: Option<String>,
    #[serde(default)]
    cells: Vec<String>,
    #[serde(default)]
    windows: Vec<String>,
    #[serde(default)]
    of: Vec<Written>,
    metric: Option<String>,
    window: Option<String>,
    published_metric: Option<String>,
    /// The paper's metric of each point, in the order of the axis.
    #[serde(default)]
    published_metrics: Vec<String>,
}

/// A figure whose names exist.
#[derive(Clone, Debug)]
pub(crate) struct FigurePlan {
    pub(crate) name: String,
    pub(super) title: String,
    pub(crate) about: String,
    pub(super) part: Part,
    pub(super) form: Form,
    pub(super) x: XAxis,
    pub(super) y: YAxis,
    pub(super) lines: Vec<LinePlan>,
    pub(super) marks: Vec<Mark>,
    pub(super) mean_over: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(super) enum LinePlan {
    Series {
        label: String,
        cell: String,
        subject: Subject,
        metric: SeriesMetric,
    },
    Points {
        label: String,
        points: Vec<PointPlan>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct PointPlan {
    pub(super) x: f64,
    pub(super) quantity: Quantity,
    pub(super) window: String,
    pub(super) published: Option<(f64, String)>,
}

#[cfg(test)]
impl FigurePlan {
    /// Returns the cells that it shows.
    pub(crate) fn cells(&self) -> Vec<&str> {
        self.lines.iter().flat_map(LinePlan::cells).collect()
    }
}

impl LinePlan {
    #[cfg(test)]
    fn cells(&self) -> Vec<&str> {
        match self {
            Self::Series { cell, .. } => vec![cell],
            Self::Points { points, .. } => {
                let quantities = points.iter().map(|point| &point.quantity);
                quantities.flat_map(Quantity::cells).collect()
            }
        }
    }

    pub(super) fn label(&self) -> &str {
        match self {
            Self::Series { label, .. } | Self::Points { label, .. } => label,
        }
    }
}

impl WrittenFigure {
    /// Returns the figure with its marks at their places in a quick run, if `is_quick`.
    pub(crate) fn quick_form(mut self, is_quick: bool) -> Self {
        for mark in self.marks.iter_mut().filter(|_| is_quick) {
            mark.at = mark.quick.unwrap_or(mark.at);
        }
        self
    }

    pub(crate) fn resolve(self, names: &Names<'_>) -> Result<FigurePlan, String> {
        let name = self.name.clone();
        self.resolve_parts(names)
            .map_err(|message| format!("figure {name}: {message}"))
    }

    fn resolve_parts(mut self, names: &Names<'_>) -> Result<FigurePlan, String> {
        let unit = Unit::named(&self.y.unit)?;
        self.validate()?;
        for table in &self.published {
            names.table(table)?;
        }
        let lines = self.lines.iter().map(|line| {
            let resolved = match &self.series {
                Some(series) => self.series_line(line, series, unit, names),
                None => self.point_line(line, unit, names),
            };
            resolved.map_err(|message| format!("line '{}': {message}", line.label))
        });
        let lines = lines.collect::<Result<Vec<_>, String>>()?;
        let mean_over = self.mean_over.as_deref().map(time).transpose()?;
        if self.series.is_some() && self.x.title.is_empty() {
            self.x.title = "time, s".into();
        }
        let what = self.series.as_ref().or(self.metric.as_ref());
        let title = what.map(|name| name.replace('_', " "));
        Ok(FigurePlan {
            y: YAxis {
                title: self.y.title.or(title).unwrap_or_default(),
                unit,
                scale: self.y.scale,
                from: self.y.from,
                to: self.y.to,
            },
            name: self.name,
            title: self.title,
            about: self.about,
            part: self.part,
            form: self.kind,
            x: self.x,
            lines,
            marks: self.marks,
            mean_over,
        })
    }

    /// Checks what names cannot tell: how many things there are, and whether the axes can be drawn.
    fn validate(&self) -> Result<(), String> {
        if self.lines.is_empty() {
            return Err("it has no 'lines'".into());
        }
        if self.series.is_some() {
            let plain = self.kind == Form::Line && self.x.at.is_empty() && self.x.labels.is_empty();
            if !plain || self.metric.is_some() || !self.published.is_empty() {
                return Err("a series over time is of kind \"line\" and has no 'metric', 'published', or points in 'x'".into());
            }
            return Ok(());
        }
        let (at, labels) = (self.x.at.len(), self.x.labels.len());
        if at.max(labels) == 0 || (at > 0 && labels > 0 && at != labels) {
            return Err(
                "'x' needs 'at' (numbers) or 'labels'; if both are given, they need the same length"
                    .into(),
            );
        }
        if self.kind == Form::Bar && at > 0 {
            return Err("bars need 'labels' in 'x', not 'at'".into());
        }
        if self.x.at.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("the numbers of x.at must increase".into());
        }
        let log = self.x.scale == Scale::Log;
        if log && (at == 0 || self.x.at.iter().any(|at| *at <= 0.0)) {
            return Err("a logarithmic axis needs numbers above zero in x.at".into());
        }
        if self.y.scale == Scale::Log && self.y.from.is_some_and(|from| from <= 0.0) {
            return Err("y.from must be above zero on a logarithmic axis".into());
        }
        Ok(())
    }

    fn series_line(
        &self,
        line: &WrittenLine,
        series: &str,
        unit: Unit,
        names: &Names<'_>,
    ) -> Result<LinePlan, String> {
        let metric = SeriesMetric::find(series).ok_or_else(|| {
            let known: Vec<&str> = SeriesMetric::ALL.iter().map(|one| one.name()).collect();
            format!(
                "there is no series '{series}': write one of {}",
                known.join(", ")
            )
        })?;
        if metric.unit() != unit.base {
            return Err(format!(
                "'{series}' is in {}, not in '{}'",
                metric.unit(),
                unit.name
            ));
        }
        let cell = line.cell.as_deref().ok_or("a series names its 'cell'")?;
        let cell = names.cell(cell)?;
        let (flow, link) = self.subject(line);
        let subject = match (flow, link) {
            (Some(flow), None) => Subject::flow(names.flow(cell, flow)?),
            (None, Some(link)) => Subject::link(names.link(cell, link)?),
            _ => return Err("a series is of a 'flow' or a 'link'".into()),
        };
        Ok(LinePlan::Series {
            label: line.label.clone(),
            cell: cell.to_owned(),
            subject,
            metric,
        })
    }

    fn point_line(
        &self,
        line: &WrittenLine,
        unit: Unit,
        names: &Names<'_>,
    ) -> Result<LinePlan, String> {
        let written = self.quantities(line)?;
        let wanted = self.x.at.len().max(self.x.labels.len());
        if written.len() != wanted {
            return Err(format!(
                "it has {} where 'x' has {wanted}",
                counted(written.len() as u64, "point")
            ));
        }
        let mut points = Vec::with_capacity(wanted);
        for (number, written) in written.into_iter().enumerate() {
            let quantity = written.resolve(names)?;
            if quantity.base_unit() != unit.base {
                let (label, base) = (quantity.label(), quantity.base_unit());
                return Err(format!("'{label}' is in {base}, not in '{}'", unit.name));
            }
            let window = line.window.as_ref().or(self.window.as_ref());
            let window = window.map_or(WHOLE, String::as_str);
            if quantity.needs_window() {
                for cell in quantity.cells() {
                    names.window(cell, window)?;
                }
            }
            points.push(PointPlan {
                x: self.x.at.get(number).copied().unwrap_or(number as f64),
                window: window.to_owned(),
                published: self.printed(line, &written, number, unit, names)?,
                quantity,
            });
        }
        Ok(LinePlan::Points {
            label: line.label.clone(),
            points,
        })
    }

    /// Returns the quantities of a line, one for each place of the axis.
    fn quantities(&self, line: &WrittenLine) -> Result<Vec<Written>, String> {
        let (flow, link) = self.subject(line);
        let base = Written {
            flow: flow.filter(|flow| *flow != "all").map(str::to_owned),
            link: link.map(str::to_owned),
            metric: line.metric.clone().or(self.metric.clone()),
            ..Written::default()
        };
        let forms = [
            !line.of.is_empty(),
            !line.cells.is_empty(),
            !line.windows.is_empty(),
        ];
        if forms.into_iter().filter(|used| *used).count() != 1 {
            return Err(
                "a line has its points as 'of', 'cells', or 'windows' of one 'cell'".into(),
            );
        }
        if !line.of.is_empty() {
            return Ok(line.of.clone());
        }
        if !line.cells.is_empty() {
            return Ok(line.cells.iter().map(|cell| base.of_cell(cell)).collect());
        }
        let in_window = |window: &String| Written {
            cell: line.cell.clone(),
            window: Some(window.clone()),
            ..base.clone()
        };
        Ok(line.windows.iter().map(in_window).collect())
    }

    fn subject<'w>(&'w self, line: &'w WrittenLine) -> (Option<&'w str>, Option<&'w str>) {
        match (&line.flow, &line.link) {
            (None, None) => (self.flow.as_deref(), self.link.as_deref()),
            (flow, link) => (flow.as_deref(), link.as_deref()),
        }
    }

    /// Returns the published value of a point with its remark, if there is one.
    fn printed(
        &self,
        line: &WrittenLine,
        written: &Written,
        number: usize,
        unit: Unit,
        names: &Names<'_>,
    ) -> Result<Option<(f64, String)>, String> {
        if self.published.is_empty() {
            return Ok(None);
        }
        let named = line.published_metrics.get(number);
        if !line.published_metrics.is_empty() && named.is_none() {
            return Err("'published_metrics' has one name for each place of 'x'".into());
        }
        let one = line
            .published_metric
            .as_ref()
            .or(self.published_metric.as_ref());
        let metric = named.or(one).or(written.metric.as_ref());
        let cell = written.cell.as_ref().or(line.cell.as_ref());
        let (Some(metric), Some(cell)) = (metric, cell) else {
            return Ok(None);
        };
        let flow = self.subject(line).0.unwrap_or("all");
        let mut tables = self.published.iter();
        let found = tables.find_map(|table| names.published(table, cell, flow, metric));
        found.map(|number| number.in_unit(unit)).transpose()
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let span: Duration = text
        .parse()
        .map_err(|_| format!("'{text}' is not a time as \"5 s\""))?;
    if span.is_zero() {
        return Err("'mean_over' must be longer than 0 s".into());
    }
    Ok(span)
}

/// Reads one name or a list of names.
fn one_or_several<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<String>, D::Error> {
    struct Names;
    impl<'de> Visitor<'de> for Names {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a file, or a list of names")
        }

        fn visit_str<E>(self, name: &str) -> Result<Vec<String>, E> {
            Ok(vec![name.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<String>, A::Error> {
            let mut names = Vec::new();
            while let Some(name) = items.next_element()? {
                names.push(name);
            }
            Ok(names)
        }
    }
    reader.deserialize_any(Names)
}
