//! Results as JSON.

use fairwire_measure::Spread;
use serde_json::{Value, json};

use super::{CellResult, Results, Row, RunResult, Series, summary};

/// Returns everything: resolved scenarios, seeds, digests, values, summaries and, where the scenario keeps them,
/// series.
///
/// A number that does not exist is `null`.
pub fn to_json(results: &Results) -> Value {
    json_with(results, true)
}

/// Returns the same; without `numbers` it has no summaries, values and series.
pub(super) fn json_with(results: &Results, numbers: bool) -> Value {
    let cells = results.cells.iter().map(|one| cell(one, numbers));
    json!({
        "name": results.name,
        "version": results.version,
        "partial": results.partial,
        "notes": results.notes,
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn cell(cell: &CellResult, numbers: bool) -> Value {
    let one = |result: &RunResult| run(cell, result, numbers);
    let axes = cell
        .axes
        .iter()
        .map(|(axis, value)| (axis.clone(), json!(value)));
    let axes: serde_json::Map<String, Value> = axes.collect();
    let mut all = json!({
        "name": cell.name,
        "axes": axes,
        "partial": cell.partial,
        "scenario": serde_json::to_value(&cell.scenario).unwrap_or(Value::Null),
        "sources": serde_json::to_value(&cell.provenance).unwrap_or(Value::Null),
        "runs": cell.runs.iter().map(one).collect::<Vec<_>>(),
        "unperturbed": cell.unperturbed.as_ref().map(one),
    });
    if numbers {
        all["summary"] = summary(cell).iter().map(row).collect();
    }
    all
}

fn row(row: &Row) -> Value {
    let estimate = row.estimate.as_ref();
    let half_width = estimate.and_then(|estimate| match estimate.spread {
        Spread::None => None,
        Spread::HalfWidth(half) => Some(half),
    });
    json!({
        "kind": row.subject.kind(),
        "of": row.subject.name(),
        "window": row.window,
        "metric": row.metric.name(),
        "unit": row.metric.unit(),
        "n": estimate.map_or(0, |estimate| estimate.count),
        "mean": estimate.map(|estimate| estimate.mean),
        "half_width_95": half_width,
        "unperturbed": row.unperturbed,
    })
}

fn run(cell: &CellResult, run: &RunResult, numbers: bool) -> Value {
    let mut all = json!({
        "seed": run.seed,
        "perturbed": run.perturbed,
        "digest": run.digest.to_string(),
        "packet_hops": run.packet_hops,
        "notes": run.notes,
        "captured": run.captured,
    });
    if numbers {
        all["values"] = run.values.iter().map(number).collect();
    }
    if numbers && cell.scenario.measure.series.is_some() {
        all["period_s"] = json!(run.period.as_secs_f64());
        all["series"] = run.series.iter().map(series).collect();
    }
    all
}

fn number(value: &super::Value) -> Value {
    json!({
        "kind": value.subject.kind(),
        "of": value.subject.name(),
        "window": value.window,
        "metric": value.metric.name(),
        "unit": value.metric.unit(),
        "value": value.value,
    })
}

fn series(series: &Series) -> Value {
    json!({
        "kind": series.subject.kind(),
        "of": series.subject.name(),
        "metric": series.metric.name(),
        "unit": series.metric.unit(),
        "values": series.values,
    })
}
