//! A report as CSV and JSON.

use std::io;

use fairwire_measure::{Estimate, Spread};
use serde_json::{Value, json};

use super::check::Checked;
use super::quantity::Measured;
use super::verdict::{Judged, Verdict};
use super::{Paper, Report};
use crate::results::Output;

/// The columns of `tables.csv`, as `docs/results.md` describes them.
const TABLES: [&str; 13] = [
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
    "unperturbed",
    "note",
];
/// The columns of `verdicts.csv`.
const VERDICTS: [&str; 6] = ["id", "verdict", "condition", "says", "place", "because"];

impl Report {
    /// Every number of every table, one per line.
    ///
    /// # Errors
    /// None that could be met: it writes to memory.
    pub fn tables_csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(TABLES)?;
        for table in &self.tables {
            for block in &table.blocks {
                for row in &block.rows {
                    for (window, measured) in table.windows.iter().zip(&row.measured) {
                        writer.write_record([
                            table.name.clone(),
                            row.cell.clone(),
                            row.label.clone(),
                            row.flow.clone(),
                            block.metric.clone(),
                            block.unit.name.to_owned(),
                            window.clone(),
                            number(row.published),
                            measured
                                .estimate
                                .map_or(0, |estimate| estimate.count)
                                .to_string(),
                            number(measured.estimate.map(|estimate| estimate.mean)),
                            number(measured.estimate.and_then(half_width)),
                            number(measured.unperturbed),
                            row.note.clone(),
                        ])?;
                    }
                }
            }
        }
        Ok(writer.into_inner().unwrap_or_default())
    }

    /// Every verdict, one per line.
    ///
    /// # Errors
    /// None that could be met: it writes to memory.
    pub fn verdicts_csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(VERDICTS)?;
        for judged in &self.verdicts {
            writer.write_record([
                judged.id.as_str(),
                judged.verdict.words(),
                condition(&judged.verdict),
                &judged.says,
                &judged.place,
                &judged.because,
            ])?;
        }
        Ok(writer.into_inner().unwrap_or_default())
    }
}

impl Paper {
    /// Writes the report beside the results: text, JSON, and CSV of tables and verdicts.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn write(&self, report: &Report, output: &Output) -> io::Result<()> {
        let csv = |table: Result<Vec<u8>, csv::Error>| table.map_err(io::Error::other);
        output.replace("tables.csv", &csv(report.tables_csv())?)?;
        output.replace("verdicts.csv", &csv(report.verdicts_csv())?)?;
        let json = serde_json::to_string_pretty(&self.json(report)).map_err(io::Error::other)?;
        output.replace("paper.json", format!("{json}\n").as_bytes())?;
        output.replace("report.txt", self.text(report).as_bytes())
    }

    /// Tables and verdicts with all that led to them.
    pub fn json(&self, report: &Report) -> Value {
        json!({
            "paper": self.name,
            "title": self.title,
            "version": env!("CARGO_PKG_VERSION"),
            "how": report.how,
            "partial": report.partial,
            "tables": report.tables.iter().map(table).collect::<Vec<_>>(),
            "verdicts": report.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        })
    }
}

fn table(table: &super::Table) -> Value {
    let mut rows = Vec::new();
    for block in &table.blocks {
        for row in &block.rows {
            let windows = table.windows.iter().zip(&row.measured);
            let windows: serde_json::Map<String, Value> = windows
                .map(|(window, measured)| (window.clone(), figure(measured)))
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
    json!({ "name": table.name, "title": table.title, "about": table.about, "rows": rows })
}

fn verdict(judged: &Judged) -> Value {
    json!({
        "id": judged.id,
        "says": judged.says,
        "place": judged.place,
        "verdict": judged.verdict.words(),
        "condition": condition(&judged.verdict),
        "because": judged.because,
        "evidence": judged.evidence.iter().map(checked).collect::<Vec<_>>(),
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
        "wanted": check.wanted(),
        "expected": check.expected,
        "tolerance": check.tolerance,
        "why": check.why,
        "holds": check.holds,
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

fn half_width(estimate: Estimate) -> Option<f64> {
    match estimate.spread {
        Spread::None => None,
        Spread::HalfWidth(half) => Some(half),
    }
}

fn condition(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Condition(condition) => condition,
        _ => "",
    }
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
