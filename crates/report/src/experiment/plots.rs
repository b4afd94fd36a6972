//! The plots of the cells of a scenario file.
//!
//! If the cells have axes, one of them is the horizontal axis, and there is a line for each combination of the values
//! of the others. Otherwise the cells stand side by side.

use fairwire_measure::{Confidence, Estimate, Moments, Spread};

use super::super::chart::COLOURS;
use fairwire_paper::{Figure, Form, Line, Part, Point, Scale, Unit, XAxis, YAxis};
use fairwire_sim::results::{CellResult, Metric, Representative, SeriesMetric, Subject, WHOLE};

/// The metrics that are plotted if the scenario does not select any.
const OF_FLOWS: [Metric; 3] = [Metric::Goodput, Metric::Loss, Metric::DelayMean];
const OF_LINKS: [Metric; 2] = [Metric::Utilisation, Metric::QueueMean];
const OF_ALL: [Metric; 1] = [Metric::Jain];

/// The greatest number of flows, and of links, that are plotted.
const MOST: usize = 4;

/// The greatest number of cells with a plot over time.
const MOST_OVER_TIME: usize = 6;
const MOST_POINTS: usize = 400;

/// The ratio of the largest value to the smallest from which the axis is logarithmic.
const WIDE: f64 = 20.0;

/// The plots of one metric, which stand side by side.
#[derive(Clone, Debug)]
pub struct Group {
    /// The metric, or what the plots are of.
    pub title: String,
    /// What the metric means.
    pub about: String,
    /// The plots, which have one scale.
    pub plots: Vec<Figure>,
}

/// Returns the plots of `cells`: of their metrics, and of throughput over time where the scenario keeps series.
pub fn plots(cells: &[CellResult]) -> Vec<Group> {
    let layout = Layout::of(cells);
    let flows = Representative::of(cells, MOST);
    let mut all: Vec<Group> = Vec::new();
    let mut count = 0;
    for window in windows(cells) {
        let first = all.len();
        for (subject, metric) in wanted(cells, &flows) {
            let name = title(&subject, &flows);
            let Some(figure) = layout.figure((&subject, &name, &window, metric), count) else {
                continue;
            };
            count += 1;
            let heading = format!("{metric}{}", during(&window));
            let known = all[first..].iter_mut().find(|group| group.title == heading);
            match (known, &subject) {
                // Flows of cells that stand side by side share a plot.
                (Some(group), Subject::Flow(_)) if layout.is_plain => {
                    group.plots[0].lines.extend(figure.lines);
                }
                (Some(group), _) => group.plots.push(figure),
                (None, _) => all.push(Group {
                    title: heading,
                    about: metric.meaning().to_owned(),
                    plots: vec![figure],
                }),
            }
        }
    }
    let with_series = cells.iter();
    let with_series = with_series.filter(|cell| cell.scenario.measure.series.is_some());
    let over_time = with_series.take(MOST_OVER_TIME).enumerate();
    let over_time = over_time.filter_map(|(number, cell)| over_time_of(cell, count + number));
    let over_time: Vec<Figure> = over_time.collect();
    if !over_time.is_empty() {
        all.push(Group {
            title: "throughput over time".to_owned(),
            about: String::new(),
            plots: over_time,
        });
    }
    all.iter_mut().for_each(Group::share_scale);
    all
}

impl Group {
    /// Gives all plots the vertical axis of the one with the greatest value, so that they can be compared.
    fn share_scale(&mut self) {
        let points = self.plots.iter().flat_map(|plot| &plot.lines);
        let measured = points
            .flat_map(|line| &line.points)
            .filter_map(|point| point.measured);
        let greatest = measured
            .map(|one| one.interval().map_or(one.mean, |(_, high)| high))
            .fold(0.0, f64::max);
        if self.plots.len() > 1 && greatest > 0.0 {
            for plot in &mut self.plots {
                plot.y.to = Some(greatest);
            }
        }
    }
}

/// Returns the throughput of the flows of `cell` over time: means over the seeds with their intervals.
fn over_time_of(cell: &CellResult, number: usize) -> Option<Figure> {
    let unit = unit(Metric::Throughput);
    let period = cell.runs.first()?.period.as_secs_f64();
    let flows = cell.scenario.enabled_flows().take(COLOURS);
    let of_flow = |flow: &str| -> Vec<&[f64]> {
        let subject = Subject::flow(flow);
        let series = cell.runs.iter();
        series
            .filter_map(|run| run.series(&subject, SeriesMetric::Throughput))
            .collect()
    };
    let flows: Vec<(&str, Vec<&[f64]>)> = flows.map(|(name, _)| (name, of_flow(name))).collect();
    let longest = flows
        .iter()
        .flat_map(|(_, runs)| runs)
        .map(|run| run.len())
        .max()?;
    let bucket = longest.div_ceil(MOST_POINTS).max(1);
    let point = |runs: &[&[f64]], from: usize| {
        let to = (from + bucket).min(longest);
        let means = runs
            .iter()
            .filter_map(|run| run.get(from..to.min(run.len())));
        let means = means.filter(|values| !values.is_empty());
        let means =
            means.map(|values| values.iter().sum::<f64>() / values.len() as f64 / unit.scale);
        Point {
            x: (from + to) as f64 / 2.0 * period,
            measured: means.collect::<Moments>().estimate(Confidence::STUDENT_95),
            published: None,
            note: String::new(),
        }
    };
    let lines = flows.iter().map(|(name, runs)| Line {
        label: (*name).to_owned(),
        points: (0..longest)
            .step_by(bucket)
            .map(|from| point(runs, from))
            .collect(),
    });
    Some(Figure {
        name: format!("plot-{}", number + 1),
        title: format!("throughput over time: {}", cell.name),
        about: String::new(),
        part: Part::Published,
        form: Form::Line,
        x: XAxis {
            title: "time, s".to_owned(),
            ..XAxis::default()
        },
        y: YAxis {
            title: "throughput".to_owned(),
            unit,
            scale: Scale::Linear,
            from: Some(0.0),
            to: None,
        },
        lines: lines.collect(),
        marks: Vec::new(),
        mean_over: Some(bucket as f64 * period),
    })
}

/// Returns the windows that all cells have, or else the whole run.
fn windows(cells: &[CellResult]) -> Vec<String> {
    let Some((first, others)) = cells.split_first() else {
        return Vec::new();
    };
    let named = first.scenario.measure.windows.iter();
    let in_all = named.map(|(name, _)| name).filter(|name| {
        let mut others = others.iter();
        others.all(|cell| cell.scenario.measure.windows.get(name).is_some())
    });
    let windows: Vec<String> = in_all.map(str::to_owned).collect();
    if windows.is_empty() {
        return vec![WHOLE.to_owned()];
    }
    windows
}

/// Returns the plotted subjects with their metrics: flows that all cells have, links, and all flows together.
fn wanted(cells: &[CellResult], flows: &[Representative]) -> Vec<(Subject, Metric)> {
    let Some(first) = cells.first() else {
        return Vec::new();
    };
    let flows = flows.iter().map(|it| Subject::flow(&it.flow));
    let links = first.scenario.topology.measured_links().into_iter();
    let links = links.take(MOST).map(Subject::link);
    let asked = &first.scenario.measure.metrics;
    let of = |fixed: &[Metric]| {
        if asked.is_empty() {
            fixed.to_vec()
        } else {
            asked.clone()
        }
    };
    let subjects: Vec<(Subject, Vec<Metric>)> = flows
        .map(|flow| (flow, of(&OF_FLOWS)))
        .chain(links.map(|link| (link, of(&OF_LINKS))))
        .chain([(Subject::All, of(&OF_ALL))])
        .collect();
    let pairs = subjects.into_iter().flat_map(|(subject, metrics)| {
        let metrics = metrics.into_iter();
        metrics.map(move |metric| (subject.clone(), metric))
    });
    pairs.collect()
}

/// Returns the name of `subject` in a plot, which says how many flows it stands for.
fn title(subject: &Subject, flows: &[Representative]) -> String {
    let flow = flows.iter().find(|it| Subject::flow(&it.flow) == *subject);
    let among = flow.and_then(Representative::among);
    let among = among.map_or(String::new(), |among| format!(" ({among})"));
    format!("{}{among}", subject.name())
}

/// Returns the window in the words of a title, which are none for the whole run.
fn during(window: &str) -> String {
    if window == WHOLE {
        String::new()
    } else {
        format!(" ({window})")
    }
}

/// The arrangement of cells in a plot.
struct Layout<'a> {
    across: XAxis,
    form: Form,
    /// Whether the cells stand side by side, without an axis.
    is_plain: bool,
    /// The lines by their labels, each with its cells and their positions.
    lines: Vec<(String, Vec<(f64, &'a CellResult)>)>,
}

impl<'a> Layout<'a> {
    fn of(cells: &'a [CellResult]) -> Self {
        let axis = axes_of(cells).into_iter().max_by_key(|(_, values)| {
            let are_numbers = numbers(values).is_some();
            (are_numbers && values.len() > 1, values.len())
        });
        match axis.filter(|(_, values)| values.len() > 1) {
            Some((axis, values)) => Self::along(cells, &axis, &values),
            None => Self::side_by_side(cells),
        }
    }

    fn side_by_side(cells: &'a [CellResult]) -> Self {
        let places = (0..cells.len()).map(|place| place as f64);
        Self {
            across: XAxis {
                title: "cell".to_owned(),
                labels: cells.iter().map(|cell| cell.name.clone()).collect(),
                ..XAxis::default()
            },
            form: Form::Bar,
            is_plain: true,
            lines: vec![(String::new(), places.zip(cells).collect())],
        }
    }

    /// Arranges the cells along `axis`; cells without a value of it are left out.
    fn along(cells: &'a [CellResult], axis: &str, values: &[String]) -> Self {
        let places = numbers(values);
        let (title, places, form) = match places {
            Some((places, unit)) if unit.is_empty() => (axis.to_owned(), places, Form::Line),
            Some((places, unit)) => (format!("{axis}, {unit}"), places, Form::Line),
            None => {
                let places = (0..values.len()).map(|place| place as f64);
                (axis.to_owned(), places.collect(), Form::Bar)
            }
        };
        let mut lines: Vec<(String, Vec<(f64, &CellResult)>)> = Vec::new();
        for cell in cells {
            let Some(value) = value(cell, axis) else {
                continue;
            };
            let Some(place) = values.iter().position(|known| known == value) else {
                continue;
            };
            let label = label(cells, cell, axis);
            let at = (places[place], cell);
            match lines.iter_mut().find(|(known, _)| *known == label) {
                Some((_, line)) => line.push(at),
                None => lines.push((label, vec![at])),
            }
        }
        let is_line = form == Form::Line;
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        let is_wide = sorted.first().zip(sorted.last());
        let is_wide = is_wide.is_some_and(|(least, most)| *least > 0.0 && most / least >= WIDE);
        Self {
            across: XAxis {
                title,
                labels: if is_line { Vec::new() } else { values.to_vec() },
                at: if is_line { sorted } else { Vec::new() },
                scale: if is_line && is_wide {
                    Scale::Log
                } else {
                    Scale::Linear
                },
            },
            form,
            is_plain: false,
            lines,
        }
    }

    /// Returns the plot of one metric; `None` if no cell has a value.
    fn figure(
        &self,
        (subject, name, window, metric): (&Subject, &str, &str, Metric),
        number: usize,
    ) -> Option<Figure> {
        let unit = unit(metric);
        let point = |x: f64, cells: &mut dyn Iterator<Item = &CellResult>| Point {
            x,
            measured: cells
                .next()
                .and_then(|cell| cell.estimate(subject, window, metric))
                .map(|estimate| scaled(estimate, unit.scale)),
            published: None,
            note: String::new(),
        };
        let line = |(label, cells): &(String, Vec<(f64, &CellResult)>)| {
            // There is a point for each place, as the table below the plot needs it.
            let labels = (0..self.across.labels.len()).map(|place| place as f64);
            let places = labels.chain(self.across.at.iter().copied());
            let points = places.map(|x| {
                let mut here = cells
                    .iter()
                    .filter(|(at, _)| at.total_cmp(&x).is_eq())
                    .map(|(_, cell)| *cell);
                point(x, &mut here)
            });
            let label = if self.is_plain { name } else { label };
            Line {
                label: label.to_owned(),
                points: points.collect(),
            }
        };
        let lines: Vec<Line> = self.lines.iter().map(line).collect();
        let mut points = lines.iter().flat_map(|line| &line.points);
        if !points.any(|point| point.measured.is_some()) {
            return None;
        }
        let of = match subject {
            Subject::All => String::new(),
            Subject::Flow(_) if self.is_plain => " of flows".to_owned(),
            _ => format!(" of {name}"),
        };
        Some(Figure {
            name: format!("plot-{}", number + 1),
            title: format!("{metric}{of}{}", during(window)),
            about: String::new(),
            part: Part::Published,
            form: self.form,
            x: self.across.clone(),
            y: YAxis {
                title: axis_title(metric),
                unit,
                scale: Scale::Linear,
                from: Some(0.0),
                to: None,
            },
            lines,
            marks: Vec::new(),
            mean_over: None,
        })
    }
}

/// Returns the axes of `cells` with their values, in the order of the cells.
fn axes_of(cells: &[CellResult]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (axis, value) in cells.iter().flat_map(|cell| &cell.axes) {
        match all.iter_mut().find(|(known, _)| known == axis) {
            Some((_, values)) if values.contains(value) => {}
            Some((_, values)) => values.push(value.clone()),
            None => all.push((axis.clone(), vec![value.clone()])),
        }
    }
    // Of equally suitable axes, `max_by_key` takes the last; reversed, that is the first one.
    all.reverse();
    all
}

/// Returns the value of `axis` in `cell`.
fn value<'a>(cell: &'a CellResult, axis: &str) -> Option<&'a String> {
    let found = cell.axes.iter().find(|(known, _)| known == axis);
    found.map(|(_, value)| value)
}

/// Returns the label of the line of `cell`: the values of its other axes in which cells differ.
///
/// Without such axes, it is the name of the family of cells, which is the cell's name without the axis value.
fn label(cells: &[CellResult], cell: &CellResult, across: &str) -> String {
    let differs = |axis: &str, own: &String| {
        let mut others = cells.iter();
        others.any(|other| value(other, axis).is_some_and(|value| value != own))
    };
    let others = cell.axes.iter();
    let others = others.filter(|(axis, own)| axis != across && differs(axis, own));
    let words = others.map(|(axis, value)| {
        let axis = axis.rsplit('.').next().unwrap_or(axis);
        let is_number = value.starts_with(|c: char| c.is_ascii_digit());
        if is_number {
            format!("{axis} {value}")
        } else {
            value.clone()
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        name_without_axis(cell, across)
    } else {
        words.join(", ")
    }
}

/// Returns the name of `cell` without the value of the horizontal axis. The rest distinguishes cells with equal values.
fn name_without_axis(cell: &CellResult, across: &str) -> String {
    let value = value(cell, across).map(|value| fairwire_scenario::plain(value));
    let name = value.map_or(cell.name.clone(), |value| cell.name.replacen(&value, "", 1));
    let axis = across.rsplit('.').next().unwrap_or(across);
    let name = name.trim_matches('-');
    let name = name.strip_suffix(axis).unwrap_or(name);
    name.trim_matches('-').to_owned()
}

/// Returns `values` as numbers with their common unit; `None` if one is not a number or has another unit.
fn numbers(values: &[String]) -> Option<(Vec<f64>, String)> {
    let split = |value: &String| {
        let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        let end = value.find(|c| !is_number(c)).unwrap_or(value.len());
        let number: f64 = value[..end].parse().ok()?;
        Some((number, value[end..].trim().to_owned()))
    };
    let all: Vec<(f64, String)> = values.iter().map(split).collect::<Option<_>>()?;
    let unit = all.first()?.1.clone();
    let plural = |word: &str| word.trim_end_matches('s').to_owned();
    let are_alike = all.iter().all(|(_, other)| plural(other) == plural(&unit));
    are_alike.then(|| (all.into_iter().map(|(number, _)| number).collect(), unit))
}

/// Returns the title of the vertical axis: the metric, and what its values mean if it has no unit.
fn axis_title(metric: Metric) -> String {
    match metric {
        Metric::Jain => "Jain's fairness index (1: all equal)".to_owned(),
        Metric::MaxOverMin => "greatest / least throughput (1: all equal)".to_owned(),
        metric => metric.name().replace('_', " "),
    }
}

/// Returns the unit of `metric` in plots.
fn unit(metric: Metric) -> Unit {
    let unit = Unit::of(metric.unit());
    // A plot has no room for five digits of a percentage.
    Unit {
        digits: unit.digits.min(2),
        ..unit
    }
}

fn scaled(estimate: Estimate, scale: f64) -> Estimate {
    Estimate {
        mean: estimate.mean / scale,
        spread: match estimate.spread {
            Spread::None => Spread::None,
            Spread::HalfWidth(half) => Spread::HalfWidth(half / scale),
        },
        count: estimate.count,
    }
}
