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
pub(crate) fn expected(
    scenario: &Scenario,
    metric: Metric,
) -> Result<Vec<(Subject, String)>, RunError> {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::{WHOLE, expected, is_of_links, is_of_whole_runs};
    use crate::{RunOptions, run};
    use fairwire_scenario::{Adjust, Metric, ScenarioError, ScenarioFile};

    const SCENARIO: &str = r#"
        title = "A call beside TCP"
        [run]
        duration = "4 s"
        [topology]
        kind = "dumbbell"
        access = { rate = "100 Mbit/s", delay = "1 ms" }
        bottleneck = { rate = "500 kbit/s", delay = "5 ms", queue = "5 packets", loss = "1 %" }
        [measure]
        windows.late = { from = "2 s" }
        playout = "100 ms"
        baseline = "whole"
        [flows.call]
        codec = "g711"
        traffic = "cbr"
        dccp = { ccid = 3 }
        [flows.tcp]
        wire = "1500 B"
        traffic = "greedy"
        total = "50 kB"
        tcp = {}
    "#;

    /// Whatever a run has was expected, and every metric that was expected of links or of whole runs is there.
    #[test]
    fn a_run_has_what_is_expected() {
        let seen = seen(ScenarioFile::parse("test.toml", SCENARIO), "4s");
        for metric in Metric::ALL.iter().copied() {
            let has = |kind| seen.contains(&(metric, kind));
            assert_eq!(has("link"), is_of_links(metric), "{metric}");
            if is_of_whole_runs(metric) {
                assert!(has("flow"), "{metric}");
            }
        }
    }

    /// So does a run of each scenario that Fairwire comes with.
    #[test]
    fn every_scenario_has_what_is_expected() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let files = std::fs::read_dir(folder).expect("the scenarios");
        let paths = files.map(|entry| entry.expect("an entry").path());
        let is_scenario = |path: &PathBuf| path.extension().is_some_and(|it| it == "toml");
        for path in paths
            .filter(is_scenario)
            .filter(|it| !it.ends_with("digests.toml"))
        {
            assert!(!seen(ScenarioFile::load(&path), "3s").is_empty());
        }
    }

    /// Runs the first cell of a scenario, checks that its values were expected, and returns which metrics flows and links
    /// have in the whole run.
    fn seen(
        file: Result<ScenarioFile, ScenarioError>,
        duration: &str,
    ) -> BTreeSet<(Metric, &'static str)> {
        let adjust = Adjust {
            duration: Some(duration.parse().expect("a time")),
            ..Adjust::default()
        };
        let cells = file.and_then(|file| file.cells(&adjust));
        let cells = cells.unwrap_or_else(|error| panic!("{error}"));
        let scenario = &cells[0].scenario;
        let result = run(scenario, (1, true), RunOptions::default()).expect("a run");
        for value in &result.values {
            let there = expected(scenario, value.metric).expect("a network");
            let pair = (value.subject.clone(), value.window.clone());
            assert!(there.contains(&pair), "{pair:?} has {}", value.metric);
        }
        let whole = result.values.iter().filter(|it| it.window == WHOLE);
        whole.map(|it| (it.metric, it.subject.kind())).collect()
    }
}
