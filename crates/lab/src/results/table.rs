//! A cell as a table for people.

use std::fmt::Write;

use fairwire_measure::{Estimate, Spread};

use super::{CellResult, Metric, Subject, WHOLE};

/// A column: a heading, a metric, and what one unit of the column is in the metric's unit.
struct Column {
    heading: &'static str,
    metric: Metric,
    scale: f64,
    digits: usize,
}

const fn column(heading: &'static str, metric: Metric, scale: f64, digits: usize) -> Column {
    Column {
        heading,
        metric,
        scale,
        digits,
    }
}

const FLOW: [Column; 6] = [
    column("throughput kbit/s", Metric::Throughput, 1e3, 1),
    column("goodput kbit/s", Metric::Goodput, 1e3, 1),
    column("loss %", Metric::Loss, 1.0, 3),
    column("delay ms", Metric::DelayMean, 1e-3, 2),
    column("p99 ms", Metric::DelayP99, 1e-3, 2),
    column("jitter ms", Metric::JitterMean, 1e-3, 3),
];

const LINK: [Column; 6] = [
    column("throughput kbit/s", Metric::Throughput, 1e3, 1),
    column("used %", Metric::Utilisation, 1.0, 1),
    column("queue packets", Metric::QueueMean, 1.0, 2),
    column("queue max", Metric::QueueMax, 1.0, 0),
    column("queue drops", Metric::QueueDrops, 1.0, 1),
    column("link losses", Metric::LinkLosses, 1.0, 1),
];

/// One block per window: flows, then links, then fairness. Means with 95 % intervals.
pub fn table(cell: &CellResult) -> String {
    let mut text = String::new();
    let keys = cell.keys();
    let mut windows: Vec<&str> = keys.iter().map(|(_, window, _)| window.as_str()).collect();
    let mut seen = Vec::new();
    windows.retain(|window| {
        let is_new = !seen.contains(window);
        seen.push(window);
        is_new
    });
    for window in windows {
        let subjects = |kind: &str| {
            let mut subjects: Vec<&Subject> = Vec::new();
            for (subject, of, _) in &keys {
                if of == window && subject.kind() == kind && !subjects.contains(&subject) {
                    subjects.push(subject);
                }
            }
            subjects
        };
        let title = title(cell, window);
        let blocks = [("flow", &FLOW), ("link", &LINK)];
        for (kind, columns) in blocks {
            block(
                &mut text,
                cell,
                (window, &title),
                kind,
                columns,
                &subjects(kind),
            );
        }
        if let Some(jain) = cell.estimate(&Subject::All, window, Metric::Jain) {
            let _ = writeln!(text, "  Jain's index {}", show(&jain, 1.0, 3));
        }
    }
    if let Some(unperturbed) = &cell.unperturbed {
        let flows = cell.scenario.enabled_flows().filter_map(|(name, _)| {
            let rate = unperturbed.value(&Subject::flow(name), WHOLE, Metric::Throughput)?;
            Some(format!("{name} {:.1}", rate / 1e3))
        });
        let flows: Vec<String> = flows.collect();
        let _ = writeln!(text, "  unperturbed run, kbit/s: {}", flows.join(", "));
    }
    text
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

fn block(
    text: &mut String,
    cell: &CellResult,
    (window, title): (&str, &str),
    kind: &str,
    columns: &[Column],
    subjects: &[&Subject],
) {
    let mut rows = Vec::new();
    for subject in subjects {
        let has_more = columns[1..]
            .iter()
            .any(|column| cell.estimate(subject, window, column.metric).is_some());
        // Acknowledgements alone are no news; they are in the files. A flow that sent no data is.
        let is_data = kind == "flow" && !subject.name().ends_with("/back");
        if !has_more && !is_data {
            continue;
        }
        let mut row = vec![subject.name().to_owned()];
        for column in columns {
            let estimate = cell.estimate(subject, window, column.metric);
            let cell = estimate.map(|estimate| show(&estimate, column.scale, column.digits));
            row.push(cell.unwrap_or_else(|| "-".to_owned()));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return;
    }
    let heading = if kind == "flow" { title } else { kind };
    let mut head = vec![heading.to_owned()];
    head.extend(columns.iter().map(|column| column.heading.to_owned()));
    rows.insert(0, head);
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|at| {
            rows.iter()
                .map(|row| row[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let _ = write!(text, "  {:<width$}", row[0], width = widths[0]);
        for (part, width) in row.iter().zip(&widths).skip(1) {
            let _ = write!(text, "  {part:>width$}");
        }
        text.push('\n');
    }
}

/// An estimate in a column's unit.
fn show(estimate: &Estimate, scale: f64, digits: usize) -> String {
    let scaled = Estimate {
        mean: estimate.mean / scale,
        spread: match estimate.spread {
            Spread::None => Spread::None,
            Spread::HalfWidth(half) => Spread::HalfWidth(half / scale),
        },
        count: estimate.count,
    };
    if estimate.count == 1 {
        return format!("{:.digits$}", scaled.mean);
    }
    format!("{scaled:.digits$}")
}
