//! The number of seeds that the spread of the first ones requires.

use fairwire_measure::{Moments, Repetitions};

use crate::results::{CellResult, Metric, Subject};

/// Returns the total number of seeds after which the 95 % interval of each flow's throughput should be within 5 % of
/// its mean in each window.
///
/// This is the rule of the wifi-handoff paper. The result lies between the scenario's bounds.
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

/// Returns whether `subject` is the direction in which a flow sends data.
///
/// The other direction carries its acknowledgements, which follow the data and do not count.
fn is_own_direction(subject: &Subject) -> bool {
    matches!(subject, Subject::Flow(name) if !name.ends_with("/back"))
}
