//! The results of a cell as tables, and these as text.

mod grid;

use std::fmt::Write;

use fairwire_measure::{Estimate, Spread, counted};

pub use self::grid::Grid;
use self::grid::Layout;
use super::{CellResult, Metric, Question, Representative, Subject, WHOLE};

/// What tables show where there is no value.
pub const NO_VALUE: &str = "-";

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

/// The values of a cell, as tables show them: means with 95 % intervals.
///
/// The metrics are those that the scenario selects, or a fixed few if it selects none.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The windows, in their order.
    pub windows: Vec<WindowTables>,
    /// Selected metrics without values, and the values of the unperturbed run.
    pub remarks: Vec<String>,
}

/// The values of one window.
#[derive(Clone, Debug)]
pub struct WindowTables {
    /// The window's name and span.
    pub title: String,
    /// A table of the flows and one of the links, if there are any.
    pub subjects: [Option<Grid>; 2],
    /// Headings and values of all flows together.
    pub all: Vec<[String; 2]>,
}

/// Returns the tables of a cell.
pub fn tables(cell: &CellResult) -> Tables {
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
    let windows = windows.into_iter().map(|window| {
        let of_kind = |(kind, columns): (&str, &[Column])| {
            grid(cell, (window, kind), columns, &subjects(kind, window))
        };
        let all = of_all.iter().filter_map(|column| {
            let estimate = cell.estimate(&Subject::All, window, column.metric)?;
            Some([column.heading.clone(), show(&estimate, column)])
        });
        WindowTables {
            title: title(cell, window),
            subjects: [("flow", &of_flows[..]), ("link", &of_links)].map(of_kind),
            all: all.collect(),
        }
    });
    Tables {
        windows: windows.collect(),
        remarks: without_value(cell)
            .into_iter()
            .chain(unperturbed(cell))
            .collect(),
    }
}

/// Returns the tables of a cell as text: one block per window, with flows, links and all flows together.
pub fn table(cell: &CellResult) -> String {
    let Tables {
        mut windows,
        remarks,
    } = tables(cell);
    for window in &mut windows {
        // The first block of a window has the window's title.
        let first = window.subjects.iter_mut().flatten().next();
        if let Some(heading) = first.and_then(|grid| grid.0.first_mut()?.first_mut()) {
            heading.clone_from(&window.title);
        }
    }
    let layouts = [0, 1].map(|kind| {
        let grids = windows.iter().filter_map(|it| it.subjects[kind].as_ref());
        Layout::of(grids)
    });
    let mut text = String::new();
    for window in &windows {
        for (grid, layout) in window.subjects.iter().zip(layouts) {
            if let Some(grid) = grid {
                grid.write(layout, &mut text);
            }
        }
        if window.subjects.iter().all(Option::is_none) {
            let _ = writeln!(text, "  {}", window.title);
        }
        for [heading, value] in &window.all {
            let _ = writeln!(text, "  {heading} {value}");
        }
    }
    for remark in remarks {
        let _ = writeln!(text, "  {remark}");
    }
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
            estimate.map_or_else(|| NO_VALUE.to_owned(), |estimate| show(&estimate, column))
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
        "{} ({}, {seeds} each; {})\n{grid}",
        first.scenario.title,
        counted(cells.len() as u64, "cell"),
        title(first, window)
    );
    for flow in &flows {
        if let Some(among) = flow.among() {
            let _ = writeln!(text, "  {}: {among}", flow.flow);
        }
    }
    text
}

/// Returns a table with a row for each cell: the mean that answers a question, and the number of seeds in it. Above it
/// stands what was subtracted, if anything was; `against` is the name of the cell.
pub fn table_of_means(
    cells: &[CellResult],
    question: &Question,
    against: Option<&str>,
    means: &[Option<Estimate>],
) -> String {
    let metric = question.metric;
    let (unit, ..) = shown(metric);
    let column = Column {
        heading: format!("{metric} {unit}").trim_end().to_owned(),
        metric,
    };
    let head = vec![
        "cell".to_owned(),
        column.heading.clone(),
        "seeds".to_owned(),
    ];
    let rows = cells.iter().zip(means).map(|(cell, mean)| {
        let value = mean.as_ref().map(|mean| show(mean, &column));
        let count = mean.map_or(0, |mean| mean.count);
        let value = value.unwrap_or_else(|| NO_VALUE.to_owned());
        vec![cell.name.clone(), value, count.to_string()]
    });
    let grid = Grid(std::iter::once(head).chain(rows).collect());
    let flows = question.minus.as_deref().map(|minus| {
        let of = match question.of.as_slice() {
            [] => "what the flows send".to_owned(),
            of => of.join(", "),
        };
        format!("{of} less {}", minus.join(", "))
    });
    let cells = against.map(|cell| format!("each cell less {cell}"));
    let subtracted: Vec<String> = flows.into_iter().chain(cells).collect();
    let mut text = String::new();
    if !subtracted.is_empty() {
        let _ = writeln!(text, "Differences, seed by seed: {}", subtracted.join("; "));
    }
    grid.write(Layout::Plain, &mut text);
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

/// Returns the selected metrics that nothing in this cell has, for example the opinion score of a flow without a codec.
fn without_value(cell: &CellResult) -> Option<String> {
    let has = |metric: &Metric| {
        let mut runs = cell.runs.iter().chain(&cell.unperturbed);
        runs.any(|run| run.values.iter().any(|value| value.metric == *metric))
    };
    let asked = cell.scenario.measure.metrics.iter();
    let none: Vec<&str> = asked
        .filter(|metric| !has(metric))
        .map(|metric| metric.name())
        .collect();
    (!none.is_empty()).then(|| format!("no values of: {}", none.join(", ")))
}

/// Returns the values of flows in the unperturbed run, for the first column that has any.
fn unperturbed(cell: &CellResult) -> Option<String> {
    let run = cell.unperturbed.as_ref()?;
    columns(cell, &FLOW).into_iter().find_map(|column| {
        let (_, scale, digits) = shown(column.metric);
        let flows = cell.scenario.enabled_flows().filter_map(|(name, _)| {
            let value = run.value(&Subject::flow(name), WHOLE, column.metric)?;
            Some(format!("{name} {:.digits$}", value / scale))
        });
        let flows: Vec<String> = flows.collect();
        let (heading, texts) = (&column.heading, flows.join(", "));
        (!flows.is_empty()).then(|| format!("unperturbed run, {heading}: {texts}"))
    })
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
            estimate.map_or_else(|| NO_VALUE.to_owned(), |estimate| show(&estimate, column))
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
