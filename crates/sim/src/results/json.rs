//! Results as JSON.

use fairwire_measure::{Estimate, Spread};
use serde_json::{Value, json};

use super::{Axis, CellResult, Question, Results, Row, RunResult, Series, summary};

/// Returns everything: resolved scenarios, seeds, digests, values, summaries and, where the scenario keeps them,
/// series.
///
/// A number that does not exist is `null`.
pub fn to_json(results: &Results) -> Value {
    json_with(results, true)
}

/// Returns one mean for each cell, in the metric's own unit, with the question that they answer. `against` is the name of
/// the cell that was subtracted, if there is one.
pub fn means_to_json(
    results: &Results,
    question: &Question,
    against: Option<&str>,
    means: &[Option<Estimate>],
) -> Value {
    let all = axes_of(results);
    let cells = results.cells.iter().zip(means).map(|(cell, mean)| {
        json!({
            "name": cell.name,
            "axes": axes(cell, &all),
            "partial": cell.partial,
            "n": mean.map_or(0, |mean| mean.count),
            "mean": mean.map(|mean| mean.mean),
            "half_width_95": mean.as_ref().and_then(half_width),
        })
    });
    json!({
        "name": results.name,
        "version": results.version,
        "partial": results.partial,
        "notes": results.notes,
        "metric": question.metric.name(),
        "unit": question.metric.unit(),
        "window": question.window,
        "of": question.of,
        "minus": question.minus,
        "total": question.is_total,
        "against": against,
        "cells": cells.collect::<Vec<_>>(),
    })
}

/// Returns the same as [`to_json`]; without `numbers` it has no summaries, values and series.
pub(super) fn json_with(results: &Results, numbers: bool) -> Value {
    let axes = axes_of(results);
    let cells = results.cells.iter().map(|one| cell(one, &axes, numbers));
    json!({
        "name": results.name,
        "version": results.version,
        "partial": results.partial,
        "notes": results.notes,
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn cell(cell: &CellResult, all_axes: &[Axis], numbers: bool) -> Value {
    let one = |result: &RunResult| run(cell, result, numbers);
    let mut all = json!({
        "name": cell.name,
        "axes": axes(cell, all_axes),
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

fn axes_of(results: &Results) -> Vec<Axis> {
    Axis::of(&results.cells.iter().map(|cell| cell.axes.as_slice()))
}

/// Returns the values that a cell has on these axes.
fn axes(cell: &CellResult, axes: &[Axis]) -> serde_json::Map<String, Value> {
    let values = axes.iter().flat_map(|axis| {
        let value = cell.axes.iter().find(|(name, _)| *name == axis.name);
        value.into_iter().flat_map(|(_, value)| axis.json(value))
    });
    values.collect()
}

fn half_width(estimate: &Estimate) -> Option<f64> {
    match estimate.spread {
        Spread::None => None,
        Spread::HalfWidth(half) => Some(half),
    }
}

fn row(row: &Row) -> Value {
    let estimate = row.estimate.as_ref();
    json!({
        "kind": row.subject.kind(),
        "of": row.subject.name(),
        "window": row.window,
        "metric": row.metric.name(),
        "unit": row.metric.unit(),
        "n": estimate.map_or(0, |estimate| estimate.count),
        "mean": estimate.map(|estimate| estimate.mean),
        "half_width_95": estimate.and_then(half_width),
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
