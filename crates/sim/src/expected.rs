//! What the runs of a scenario can measure, before any of them has run.

use fairwire_net::Streams;
use fairwire_scenario::{Flow, Metric, Scenario};

use crate::RunError;
use crate::build::ground;
use crate::results::{Subject, WHOLE};
use crate::windows::windows;

/// Returns what may have values of a metric: flows and links in both directions, or all flows together, each with the
/// windows. A run may have less, such as one in which no packet is lost.
///
/// # Errors
/// If the scenario's network cannot be built.
pub fn expected(scenario: &Scenario, metric: Metric) -> Result<Vec<(Subject, String)>, RunError> {
    let measure = &scenario.measure;
    let flows: Vec<(&str, &Flow)> = scenario.enabled_flows().collect();
    let mut subjects: Vec<Subject> = Vec::new();
    let is_there = match metric {
        Metric::ThroughputRatio => measure.baseline.is_some(),
        Metric::Timely | Metric::FramesTimely => measure.playout.is_some(),
        Metric::Jain | Metric::MaxOverMin => flows.len() > 1,
        _ => true,
    };
    if !is_there || !measure.wants(metric) {
        return Ok(Vec::new());
    }
    if matches!(metric, Metric::Jain | Metric::MaxOverMin) {
        subjects.push(Subject::All);
    } else if metric == Metric::Throughput || !is_of_links(metric) {
        for (name, flow) in &flows {
            let is_call = matches!(metric, Metric::RFactor | Metric::Mos);
            if !is_call || flow.codec.is_some() {
                subjects.extend([Subject::flow(name), Subject::flow(&format!("{name}/back"))]);
            }
        }
    }
    if is_of_links(metric) {
        let ground = ground(scenario, &flows, Streams::new(scenario.run.seed))?;
        let links = ground.watched.iter();
        subjects.extend(links.map(|(_, name, _)| Subject::link(name)));
    }
    let mut names = windows(scenario).names;
    if is_of_whole_runs(metric) {
        names.retain(|name| name == WHOLE);
    }
    let pairs = subjects.iter().flat_map(|subject| {
        let windows = names.iter();
        windows.map(|window| (subject.clone(), window.clone()))
    });
    Ok(pairs.collect())
}

fn is_of_links(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Throughput
            | Metric::Utilisation
            | Metric::QueueMean
            | Metric::QueueMax
            | Metric::QueueDrops
            | Metric::LinkLosses
            | Metric::Marks
    )
}

/// Returns whether a metric is of the whole run only.
fn is_of_whole_runs(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::FirstLoss | Metric::Completed | Metric::PeakThroughput | Metric::PeakAt
    )
}
