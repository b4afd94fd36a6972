//! How many seeds the spread of the first ones asks for.

use fairwire_measure::{Moments, Repetitions};

use crate::results::{CellResult, Metric, Subject};

/// The number of seeds, in all, after which each flow's throughput in each window should be known
/// to 5 % (95 %, the rule of the wifi-handoff paper), between the scenario's bounds.
pub fn seeds_needed(cell: &CellResult) -> u64 {
    let run = &cell.scenario.run;
    let rule = Repetitions::five_percent(u64::from(run.seeds), u64::from(run.max_seeds));
    let driven = cell
        .keys()
        .into_iter()
        .filter(|(subject, _, metric)| *metric == Metric::Throughput && is_own_direction(subject));
    driven
        .map(|(subject, window, metric)| {
            let moments: Moments = cell
                .samples(&subject, &window, metric)
                .into_iter()
                .collect();
            rule.needed(&moments)
        })
        .max()
        .unwrap_or(u64::from(run.seeds))
}

/// Acknowledgements follow the data: only the flow's own direction counts.
fn is_own_direction(subject: &Subject) -> bool {
    matches!(subject, Subject::Flow(name) if !name.ends_with("/back"))
}
