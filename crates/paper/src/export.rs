//! Reports as CSV and JSON.

use fairwire_measure::{Estimate, Spread};
use serde_json::{Value, json};

use super::{
    Checked, Difference, Figure, Judged, Line, Measured, Paper, Point, Report, Reported, Table,
};

/// The columns of `tables.csv`, as `docs/results.md` describes them.
const TABLES: [&str; 17] = [
    "paper",
    "table",
    "cell",
    "label",
    "flow",
    "metric",
    "unit",
    "window",
    "published",
    "n",
    "mean",
    "half_width_95",
    "difference",
    "difference_unit",
    "unperturbed",
    "note",
    "partial",
];
/// The columns of `verdicts.csv`, as `docs/results.md` describes them.
const VERDICTS: [&str; 9] = [
    "paper",
    "id",
    "verdict",
    "condition",
    "says",
    "place",
    "because",
    "close",
    "partial",
];
/// The columns of `figures.csv`, as `docs/results.md` describes them.
const FIGURES: [&str; 12] = [
    "paper",
    "figure",
    "line",
    "x",
    "x_label",
    "unit",
    "published",
    "n",
    "mean",
    "half_width_95",
    "note",
    "partial",
];

/// The text of a CSV file.
type Csv = Result<Vec<u8>, csv::Error>;

/// Returns the values of all tables of `papers` as CSV, one line for each row and window.
///
/// # Errors
/// None in practice, because it writes to memory.
pub(super) fn tables_csv(papers: &[Reported<'_>]) -> Csv {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(TABLES)?;
    for one in papers {
        for table in &one.report.tables {
            for block in &table.blocks {
                for row in &block.rows {
                    for (window, measured) in table.windows.iter().zip(&row.measured) {
                        let estimate = measured.estimate;
                        let difference = difference(measured, row.published);
                        writer.write_record([
                            one.paper.name.as_str(),
                            &table.name,
                            &row.cell,
                            &row.label,
                            &row.flow,
                            &block.metric,
                            block.unit.name,
                            window,
                            &number(row.published),
                            &count(estimate),
                            &number(estimate.map(|estimate| estimate.mean)),
                            &number(estimate.and_then(half_width)),
                            &number(difference.map(|difference| difference.value)),
                            difference.map_or("", |difference| difference.unit),
                            &number(measured.unperturbed),
                            &row.note,
                            partial(one),
                        ])?;
                    }
                }
            }
        }
    }
    Ok(writer.into_inner().unwrap_or_default())
}

/// Returns all verdicts as CSV, one per line.
///
/// # Errors
/// None in practice, because it writes to memory.
pub(super) fn verdicts_csv(papers: &[Reported<'_>]) -> Csv {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(VERDICTS)?;
    for one in papers {
        for judged in &one.report.verdicts {
            writer.write_record([
                one.paper.name.as_str(),
                &judged.id,
                judged.verdict.words(),
                judged.verdict.condition(),
                &judged.says,
                &judged.place,
                &judged.because,
                if judged.close { "true" } else { "false" },
                partial(one),
            ])?;
        }
    }
    Ok(writer.into_inner().unwrap_or_default())
}

/// Returns all points of all figures as CSV, one per line.
///
/// # Errors
/// None in practice, because it writes to memory.
pub(super) fn figures_csv(papers: &[Reported<'_>]) -> Csv {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(FIGURES)?;
    for one in papers {
        for figure in &one.report.figures {
            for line in &figure.lines {
                for (place, point) in line.points.iter().enumerate() {
                    let label = figure.x.labels.get(place).map_or("", String::as_str);
                    writer.write_record([
                        one.paper.name.as_str(),
                        &figure.name,
                        &line.label,
                        &point.x.to_string(),
                        label,
                        figure.y.unit.name,
                        &number(point.published),
                        &count(point.measured),
                        &number(point.measured.map(|estimate| estimate.mean)),
                        &number(point.measured.and_then(half_width)),
                        &point.note,
                        partial(one),
                    ])?;
                }
            }
        }
    }
    Ok(writer.into_inner().unwrap_or_default())
}

/// Returns the tables, figures and verdicts of a paper, with the evidence for them.
pub(super) fn paper_json(paper: &Paper, report: &Report) -> Value {
    json!({
        "paper": paper.name,
        "title": paper.title,
        "version": env!("CARGO_PKG_VERSION"),
        "how": report.how,
        "partial": report.partial,
        "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
        "figures": report.figures.iter().map(figure_json).collect::<Vec<_>>(),
        "verdicts": report.verdicts.iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn table(table: &Table) -> Value {
    let mut rows = Vec::new();
    for block in &table.blocks {
        for row in &block.rows {
            let windows = table.windows.iter().zip(&row.measured);
            let windows: serde_json::Map<String, Value> = windows
                .map(|(window, measured)| {
                    let mut value = figure(measured);
                    let difference = difference(measured, row.published);
                    value["difference"] = json!(difference.map(|one| one.value));
                    (window.clone(), value)
                })
                .collect();
            rows.push(json!({
                "cell": row.cell,
                "label": row.label,
                "flow": row.flow,
                "metric": block.metric,
                "unit": block.unit.name,
                "published": row.published,
                "note": row.note,
                "windows": windows,
            }));
        }
    }
    json!({
        "name": table.name,
        "title": table.title,
        "about": table.about,
        "part": table.part.name(),
        "rows": rows,
    })
}

fn figure_json(figure: &Figure) -> Value {
    let point = |point: &Point| {
        json!({
            "x": point.x,
            "n": point.measured.map_or(0, |estimate| estimate.count),
            "mean": point.measured.map(|estimate| estimate.mean),
            "half_width_95": point.measured.and_then(half_width),
            "published": point.published,
            "note": point.note,
        })
    };
    let line = |line: &Line| {
        json!({
            "label": line.label,
            "points": line.points.iter().map(point).collect::<Vec<_>>(),
        })
    };
    json!({
        "name": figure.name,
        "title": figure.title,
        "about": figure.about,
        "part": figure.part.name(),
        "x": { "title": figure.x.title, "labels": figure.x.labels },
        "y": { "title": figure.y.title, "unit": figure.y.unit.name },
        "mean_over_s": figure.mean_over,
        "lines": figure.lines.iter().map(line).collect::<Vec<_>>(),
    })
}

fn verdict(judged: &Judged) -> Value {
    json!({
        "id": judged.id,
        "says": judged.says,
        "place": judged.place,
        "verdict": judged.verdict.words(),
        "condition": judged.verdict.condition(),
        "because": judged.because,
        "swept": judged.swept,
        "close": judged.close,
        "evidence": judged.evidence.iter().map(checked).collect::<Vec<_>>(),
        "beyond": judged.beyond.iter().map(checked).collect::<Vec<_>>(),
        "controls": judged.controls.iter().map(|control| json!({
            "says": control.says,
            "held": control.held,
            "of": control.of,
            "passes": control.passes,
        })).collect::<Vec<_>>(),
        "printed": judged.printed.iter().map(checked).collect::<Vec<_>>(),
        "isolated_by": judged.isolated.iter().map(|isolated| json!({
            "says": isolated.says,
            "measured": isolated.measured.iter().map(labelled).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn checked(check: &Checked) -> Value {
    json!({
        "what": check.what,
        "window": check.window,
        "wanted": check.expectation(),
        "expected": check.expected,
        "tolerance": check.tolerance,
        "why": check.why,
        "holds": check.holds,
        "close": check.close,
        "measured": check.measured.iter().map(labelled).collect::<Vec<_>>(),
    })
}

fn labelled(measured: &Measured) -> Value {
    let mut value = figure(measured);
    value["of"] = json!(measured.label);
    value["unit"] = json!(measured.unit.name);
    value
}

fn figure(measured: &Measured) -> Value {
    json!({
        "n": measured.estimate.map_or(0, |estimate| estimate.count),
        "mean": measured.estimate.map(|estimate| estimate.mean),
        "half_width_95": measured.estimate.and_then(half_width),
        "unperturbed": measured.unperturbed,
    })
}

/// Returns the difference of the mean from the published number.
fn difference(measured: &Measured, published: Option<f64>) -> Option<Difference> {
    let mean = measured.estimate?.mean;
    published.map(|published| Difference::of(mean, published, measured.unit))
}

fn half_width(estimate: Estimate) -> Option<f64> {
    match estimate.spread {
        Spread::None => None,
        Spread::HalfWidth(half) => Some(half),
    }
}

/// Returns, as text, whether the paper's run was interrupted. Then a number may be missing or come from fewer seeds.
fn partial(one: &Reported<'_>) -> &'static str {
    if one.report.partial { "true" } else { "false" }
}

fn count(estimate: Option<Estimate>) -> String {
    estimate.map_or(0, |estimate| estimate.count).to_string()
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
