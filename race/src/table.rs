//! The printed table of a work: medians, their spread, and the goals.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::metrics::Values;
use crate::peers::Peer;
use crate::sim::Network;
use crate::works::Work;

/// Returns the peer that others are compared with in the last column.
const fn reference(work: Work) -> Peer {
    match work {
        Work::Simulation(Network::Equal10) => Peer::Daytone,
        Work::Simulation(_) => Peer::Ns2,
        _ => Peer::Quinn,
    }
}

/// The runs of each peer, in order; `None` where a run failed.
pub type Runs = BTreeMap<Peer, Vec<Option<Values>>>;

/// Returns the table of a work, with its goals below it.
pub fn table(work: Work, runs: &Runs) -> String {
    let mut heads = vec!["peer".to_owned()];
    for metric in work.metrics() {
        heads.push(metric.name.to_owned());
        if metric.spread {
            heads.push("of runs".to_owned());
        }
    }
    heads.push(format!("beside {}", reference(work).name()));
    let mut rows = vec![heads];
    for (peer, values) in runs {
        rows.push(row(work, *peer, values, runs));
    }
    let mut text = format!("\n{}\n", work.name());
    for line in aligned(&rows) {
        let _ = writeln!(text, "  {line}");
    }
    for line in aligned(&goals(work, runs)) {
        let _ = writeln!(text, "  goal: {line}");
    }
    text
}

fn row(work: Work, peer: Peer, values: &[Option<Values>], runs: &Runs) -> Vec<String> {
    let mut cells = vec![peer.name()];
    for metric in work.metrics() {
        let of_runs = values.iter().flatten();
        let sorted = sorted(of_runs.filter_map(|values| values.get(metric.name).copied()));
        let decimals = metric.decimals;
        let shown = |value: Option<f64>| {
            value.map_or_else(|| "failed".to_owned(), |v| format!("{v:.decimals$}"))
        };
        cells.push(shown(median(&sorted)));
        if metric.spread {
            let (least, most) = (sorted.first().copied(), sorted.last().copied());
            cells.push(format!("{}..{}", shown(least), shown(most)));
        }
    }
    let first = work.metrics().first().map_or("", |metric| metric.name);
    let ratio = median(&ratios(first, peer, reference(work), runs));
    cells.push(ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")));
    cells
}

fn goals(work: Work, runs: &Runs) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for goal in work.goals() {
        for peer in goal.peers {
            let values = match goal.beside {
                Some(reference) => ratios(goal.metric, *peer, reference, runs),
                None => sorted(of_peer(goal.metric, *peer, runs).flatten()),
            };
            let Some(value) = median(&values) else {
                continue;
            };
            let verdict = if value <= goal.limit {
                "reached"
            } else {
                "missed"
            };
            let beside = goal
                .beside
                .map_or_else(String::new, |peer| format!("beside {}", peer.name()));
            rows.push(vec![
                peer.name(),
                goal.metric.to_owned(),
                beside,
                format!("{value:.2}"),
                format!("at most {}", goal.limit),
                verdict.to_owned(),
            ]);
        }
    }
    rows
}

fn of_peer<'a>(
    metric: &'a str,
    peer: Peer,
    runs: &'a Runs,
) -> impl Iterator<Item = Option<f64>> + 'a {
    let runs = runs.get(&peer).into_iter().flatten();
    runs.map(move |values| values.as_ref()?.get(metric).copied())
}

/// Returns the ratios of the runs that stood side by side, sorted.
fn ratios(metric: &str, peer: Peer, reference: Peer, runs: &Runs) -> Vec<f64> {
    let pairs = of_peer(metric, peer, runs).zip(of_peer(metric, reference, runs));
    sorted(pairs.filter_map(|(value, reference)| Some(value? / reference?)))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get((sorted.len() - 1) / 2)?;
    Some((upper + lower) / 2.0)
}

/// Returns the rows as lines: the first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::{aligned, median, ratios};
    use crate::peers::Peer;
    use std::collections::BTreeMap;

    /// The median of an even number of values lies between the two in the middle; nothing has none.
    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }

    /// Ratios are of runs side by side: a run that failed at either peer counts for neither.
    #[test]
    fn a_failed_run_has_no_ratio() {
        let value = |value| Some(BTreeMap::from([("sum ns".to_owned(), value)]));
        let runs = BTreeMap::from([
            (Peer::Quinn, vec![value(2.0), None, value(4.0)]),
            (Peer::Ccid2, vec![value(3.0), value(5.0), value(2.0)]),
        ]);
        let ratios = ratios("sum ns", Peer::Ccid2, Peer::Quinn, &runs);
        assert_eq!(ratios, [0.5, 1.5]);
    }

    /// Columns are as wide as their widest cell.
    #[test]
    fn columns_stand_below_each_other() {
        let rows = [["a", "b"], ["long", "100"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), ["a       b", "long  100"]);
    }
}
