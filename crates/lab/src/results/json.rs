//! Results as JSON.

use fairwire_measure::Spread;
use serde_json::{Map, Value, json};

use super::{CellResult, Results, Row, RunResult, Series, summary};

/// Everything: resolved scenarios, seeds, digests, values, summaries and, where the scenario asks
/// for them, series. A number that does not exist is `null`.
pub fn to_json(results: &Results) -> Value {
    json_with(results, true)
}

/// The same, with or without the series.
pub(super) fn json_with(results: &Results, series: bool) -> Value {
    let cells = results.cells.iter().map(|one| cell(one, series));
    json!({
        "name": results.name,
        "version": results.version,
        "partial": results.partial,
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn cell(cell: &CellResult, series: bool) -> Value {
    let with_series = series && cell.scenario.measure.series.is_some();
    let one = |result: &RunResult| run(result, with_series);
    json!({
        "name": cell.name,
        "partial": cell.partial,
        "scenario": serde_json::to_value(&cell.scenario).unwrap_or(Value::Null),
        "sources": serde_json::to_value(&cell.provenance).unwrap_or(Value::Null),
        "summary": summary(cell).iter().map(row).collect::<Vec<_>>(),
        "runs": cell.runs.iter().map(one).collect::<Vec<_>>(),
        "unperturbed": cell.unperturbed.as_ref().map(one),
    })
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

fn run(run: &RunResult, with_series: bool) -> Value {
    let values: Vec<Value> = run
        .values
        .iter()
        .map(|value| {
            json!({
                "kind": value.subject.kind(),
                "of": value.subject.name(),
                "window": value.window,
                "metric": value.metric.name(),
                "unit": value.metric.unit(),
                "value": value.value,
            })
        })
        .collect();
    let mut all = Map::new();
    all.insert("seed".into(), json!(run.seed));
    all.insert("perturbed".into(), json!(run.perturbed));
    all.insert("digest".into(), json!(run.digest.to_string()));
    all.insert("packet_hops".into(), json!(run.packet_hops));
    all.insert("notes".into(), json!(run.notes));
    all.insert("captured".into(), json!(run.captured));
    all.insert("values".into(), Value::Array(values));
    if with_series {
        all.insert("period_s".into(), json!(run.period.as_secs_f64()));
        all.insert("series".into(), run.series.iter().map(series).collect());
    }
    Value::Object(all)
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
