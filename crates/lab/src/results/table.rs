//! The results of a cell as a text table.

mod grid;

use std::fmt::Write;

use fairwire_measure::{Estimate, Spread, counted};

use self::grid::{Grid, Layout};
use super::{CellResult, Metric, Representative, Subject, WHOLE};

/// A column: its heading and its metric.
struct Column {
    heading: String,
    metric: Metric,
}

/// The columns of flows if the scenario selects no metrics.
const FLOW: [(&str, Metric); 6] = [
    ("throughput kbit/s", Metric::Throughput),
    ("goodput kbit/s", Metric::Goodput),
    ("loss %", Metric::Loss),
    ("delay ms", Metric::DelayMean),
    ("p99 ms", Metric::DelayP99),
    ("jitter ms", Metric::JitterMean),
];

/// The columns of links if the scenario selects no metrics.
const LINK: [(&str, Metric); 6] = [
    ("throughput kbit/s", Metric::Throughput),
    ("used %", Metric::Utilisation),
    ("queue packets", Metric::QueueMean),
    ("queue max", Metric::QueueMax),
    ("queue drops", Metric::QueueDrops),
    ("link losses", Metric::LinkLosses),
];

/// The values of all flows together if the scenario selects no metrics.
const ALL: [(&str, Metric); 1] = [("Jain's index", Metric::Jain)];

/// Returns one block per window, with flows, links and all flows together: means with 95 % intervals.
///
/// The metrics are those that the scenario selects, or a fixed few if it selects none.
pub fn table(cell: &CellResult) -> String {
    let keys = cell.keys();
    let mut windows: Vec<&str> = Vec::new();
    for (_, window, _) in &keys {
        if !windows.contains(&window.as_str()) {
            windows.push(window);
        }
    }
    let subjects = |kind: &str, window: &str| {
        let mut subjects: Vec<&Subject> = Vec::new();
        for (subject, of, _) in &keys {
            if of == window && subject.kind() == kind && !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        subjects
    };
    let [of_flows, of_links, of_all] = [&FLOW[..], &LINK, &ALL].map(|fixed| columns(cell, fixed));
    let grids = windows.iter().map(|window| {
        let title = title(cell, window);
        let of_window = |kind, heading: &str, columns: &[Column]| {
            grid(cell, (window, heading), columns, &subjects(kind, window))
        };
        let flows = of_window("flow", &title, &of_flows);
        // The first block of a window has the window's title.
        let heading = if flows.is_some() { "link" } else { &title };
        let links = of_window("link", heading, &of_links);
        (title, [flows, links])
    });
    let grids: Vec<(String, [Option<Grid>; 2])> = grids.collect();
    let layouts = [0, 1].map(|kind| Layout::of(grids.iter().filter_map(|it| it.1[kind].as_ref())));
    let mut text = String::new();
    for (window, (title, blocks)) in windows.iter().zip(&grids) {
        for (grid, layout) in blocks.iter().zip(layouts) {
            if let Some(grid) = grid {
                grid.write(layout, &mut text);
            }
        }
        if blocks.iter().all(Option::is_none) {
            let _ = writeln!(text, "  {title}");
        }
        for column in &of_all {
            if let Some(estimate) = cell.estimate(&Subject::All, window, column.metric) {
                let _ = writeln!(text, "  {} {}", column.heading, show(&estimate, column));
            }
        }
    }
    without_value(cell, &mut text);
    unperturbed(cell, &mut text);
    text
}

/// The most flows with columns in an overview.
const MOST_FLOWS: usize = 3;

/// Returns one table with a row for each cell: a metric of the first flows and links that all cells have, and one of
/// all flows together.
///
/// Without selected metrics these are goodput, utilisation and Jain's index.
pub fn overview(cells: &[CellResult]) -> String {
    let Some(first) = cells.first() else {
        return String::new();
    };
    let keys = first.keys();
    let is_whole = keys.iter().any(|(_, window, _)| window == WHOLE);
    let window = keys.first().filter(|_| !is_whole);
    let window = window.map_or(WHOLE, |(_, window, _)| window.as_str());
    let flows = Representative::of(cells, MOST_FLOWS);
    let link = first.scenario.topology.measured_links().into_iter().next();
    let subjects = (flows
        .iter()
        .map(|it| (Subject::flow(&it.flow), &FLOW[1..2])))
    .chain(link.map(|link| (Subject::link(link), &LINK[1..2])))
    .chain([(Subject::All, &ALL[..])]);
    let columns: Vec<(Subject, Column)> = subjects
        .filter_map(|(subject, fixed)| {
            let has = |column: &Column| {
                let mut cells = cells.iter();
                cells.any(|cell| cell.estimate(&subject, window, column.metric).is_some())
            };
            let column = columns(first, fixed).into_iter().find(has)?;
            Some((subject, column))
        })
        .collect();
    let head = columns.iter().map(|(subject, column)| match subject {
        Subject::All => column.heading.clone(),
        subject => format!("{subject} {}", column.heading),
    });
    let head: Vec<String> = std::iter::once("cell".to_owned()).chain(head).collect();
    let rows = cells.iter().map(|cell| {
        let values = columns.iter().map(|(subject, column)| {
            let estimate = cell.estimate(subject, window, column.metric);
            estimate.map_or_else(|| "-".to_owned(), |estimate| show(&estimate, column))
        });
        std::iter::once(cell.name.clone()).chain(values).collect()
    });
    let grid = Grid(std::iter::once(head).chain(rows).collect());
    let seeds = || cells.iter().map(|cell| cell.runs.len());
    let (least, most) = (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0));
    let seeds = if least == most {
        counted(most as u64, "seed")
    } else {
        format!("{least} to {most} seeds")
    };
    let mut text = format!(
        "{} ({}, {seeds} each; {})\n",
        first.scenario.title,
        counted(cells.len() as u64, "cell"),
        title(first, window)
    );
    grid.write(Layout::of(std::iter::once(&grid)), &mut text);
    for flow in &flows {
        if let Some(among) = flow.among() {
            let _ = writeln!(text, "  {}: {among}", flow.flow);
        }
    }
    text
}

/// Returns the columns that the scenario selects, or else the fixed ones.
fn columns(cell: &CellResult, fixed: &[(&str, Metric)]) -> Vec<Column> {
    let asked = &cell.scenario.measure.metrics;
    let of_asked = |metric: &Metric| {
        let (unit, ..) = shown(*metric);
        Column {
            heading: format!("{metric} {unit}").trim_end().to_owned(),
            metric: *metric,
        }
    };
    let of_fixed = |(heading, metric): &(&str, Metric)| Column {
        heading: (*heading).to_owned(),
        metric: *metric,
    };
    if asked.is_empty() {
        fixed.iter().map(of_fixed).collect()
    } else {
        asked.iter().map(of_asked).collect()
    }
}

/// Returns a metric's unit in tables, its value in the metric's own unit, and the number of digits after the point.
fn shown(metric: Metric) -> (&'static str, f64, usize) {
    match (metric, metric.unit()) {
        (Metric::QueueMax, unit) => (unit, 1.0, 0),
        (Metric::QueueMean | Metric::Mos, unit) => (unit, 1.0, 2),
        (
            Metric::Completed
            | Metric::FirstLoss
            | Metric::PeakAt
            | Metric::Loss
            | Metric::LossOffered
            | Metric::LossPlayout
            | Metric::MaxOverMin
            | Metric::Jain,
            unit,
        ) => (unit, 1.0, 3),
        (_, "bit/s") => ("kbit/s", 1e3, 1),
        (_, "s") if metric.name().starts_with("jitter") => ("ms", 1e-3, 3),
        (_, "s") => ("ms", 1e-3, 2),
        (_, unit) => (unit, 1.0, 1),
    }
}

/// Returns whether the metric is a count that the scenario often determines: packets of a steady source, or a queue at
/// its limit. Such a count is the same in all runs, so "no spread" would tell nothing.
const fn is_often_fixed(metric: Metric) -> bool {
    matches!(metric, Metric::Offered | Metric::Sent | Metric::QueueMax)
}

/// Writes the selected metrics that nothing in this cell has, for example the opinion score of a flow without a codec.
fn without_value(cell: &CellResult, text: &mut String) {
    let has = |metric: &Metric| {
        let mut runs = cell.runs.iter().chain(&cell.unperturbed);
        runs.any(|run| run.values.iter().any(|value| value.metric == *metric))
    };
    let asked = cell.scenario.measure.metrics.iter();
    let none: Vec<&str> = asked
        .filter(|metric| !has(metric))
        .map(|metric| metric.name())
        .collect();
    if !none.is_empty() {
        let _ = writeln!(text, "  no values of: {}", none.join(", "));
    }
}

/// Writes the values of flows in the unperturbed run, for the first column that has any.
fn unperturbed(cell: &CellResult, text: &mut String) {
    let Some(run) = &cell.unperturbed else {
        return;
    };
    for column in columns(cell, &FLOW) {
        let (_, scale, digits) = shown(column.metric);
        let flows = cell.scenario.enabled_flows().filter_map(|(name, _)| {
            let value = run.value(&Subject::flow(name), WHOLE, column.metric)?;
            Some(format!("{name} {:.digits$}", value / scale))
        });
        let flows: Vec<String> = flows.collect();
        if !flows.is_empty() {
            let (heading, flows) = (&column.heading, flows.join(", "));
            let _ = writeln!(text, "  unperturbed run, {heading}: {flows}");
            return;
        }
    }
}

fn title(cell: &CellResult, window: &str) -> String {
    if window == WHOLE {
        return format!("whole run, {}", cell.scenario.run.duration);
    }
    let end = cell.scenario.run.duration;
    match cell.scenario.measure.windows.get(window) {
        Some(span) => {
            let from = span.from.unwrap_or_default();
            format!("{window}, {from} to {}", span.to.unwrap_or(end))
        }
        None => window.to_owned(),
    }
}

/// Returns the flows, or links, in one window.
fn grid(
    cell: &CellResult,
    (window, heading): (&str, &str),
    columns: &[Column],
    subjects: &[&Subject],
) -> Option<Grid> {
    let has = |subject: &Subject, metric: Metric| cell.estimate(subject, window, metric).is_some();
    let is_shown = |subject: &&&Subject| {
        // The reverse direction of a flow is left out if it carries only acknowledgements. A flow without data is
        // shown.
        let is_way_back = subject.kind() == "flow" && subject.name().ends_with("/back");
        let mut columns = columns.iter();
        !is_way_back || columns.any(|it| it.metric != Metric::Throughput && has(subject, it.metric))
    };
    let subjects: Vec<&&Subject> = subjects.iter().filter(is_shown).collect();
    // If the scenario selects metrics, those of flows are shown at flows and those of links at links.
    let is_fixed = cell.scenario.measure.metrics.is_empty();
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|it| is_fixed || subjects.iter().any(|subject| has(subject, it.metric)))
        .collect();
    if subjects.is_empty() || columns.is_empty() {
        return None;
    }
    let head = columns.iter().map(|column| column.heading.clone());
    let head: Vec<String> = std::iter::once(heading.to_owned()).chain(head).collect();
    let rows = subjects.iter().map(|subject| {
        let cells = columns.iter().map(|column| {
            let estimate = cell.estimate(subject, window, column.metric);
            estimate.map_or_else(|| "-".to_owned(), |estimate| show(&estimate, column))
        });
        std::iter::once(subject.name().to_owned())
            .chain(cells)
            .collect()
    });
    Some(Grid(std::iter::once(head).chain(rows).collect()))
}

/// Returns an estimate in a column's unit.
fn show(estimate: &Estimate, column: &Column) -> String {
    let (_, scale, digits) = shown(column.metric);
    let scaled = Estimate {
        mean: estimate.mean / scale,
        spread: match estimate.spread {
            Spread::None => Spread::None,
            Spread::HalfWidth(half) => Spread::HalfWidth(half / scale),
        },
        count: estimate.count,
    };
    let alone = estimate.count == 1;
    if alone || (estimate.spread == Spread::None && is_often_fixed(column.metric)) {
        return format!("{:.digits$}", scaled.mean);
    }
    format!("{scaled:.digits$}")
}
