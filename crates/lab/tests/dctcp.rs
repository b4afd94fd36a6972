//! `scenarios/dctcp.toml`: what a queue that marks does to DCTCP and to NewReno.

use std::path::Path;

use fairwire_lab::results::{Metric, RunResult, Subject};
use fairwire_lab::scenario::{Adjust, ScenarioFile};
use fairwire_lab::sim::{RunOptions, run};

fn result(cell: &str) -> RunResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/dctcp.toml");
    let adjust = Adjust {
        only: vec![cell.to_owned()],
        ..Adjust::default()
    };
    let cells = ScenarioFile::load(&path)
        .and_then(|file| file.cells(&adjust))
        .unwrap_or_else(|error| panic!("{error}"));
    run(&cells[0].scenario, (1, true), RunOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn of(run: &RunResult, subject: &Subject, metric: Metric) -> f64 {
    run.value(subject, "steady", metric)
        .unwrap_or_else(|| panic!("no {metric} of {}", subject.name()))
}

fn of_link(run: &RunResult, metric: Metric) -> f64 {
    of(run, &Subject::link("bottleneck"), metric)
}

/// What the scenario's text promises, by the sawtooth of each law over a path of 44 packets and a threshold of 20.
///
/// - Without marks a window of 294 packets is halved to 147, of which 103 still wait.
/// - NewReno's two windows together go from 64 to 32 and back by two packets per round trip: below 44 the link idles,
///   which leaves it 95.5 % used.
/// - DCTCP's queue has its highest point at K + N = 22 and its lowest at that less sqrt(2 N (44 + 20)) / 2 = 8
///   (Alizadeh and others, 2010, section 3.3, for N = 2 flows), and never runs empty.
#[test]
fn marks_shorten_the_queue() {
    let queue = |run: &RunResult| of_link(run, Metric::QueueMean);
    let used = |run: &RunResult| of_link(run, Metric::Utilisation);

    let run = result("no-marks");
    assert!(queue(&run) > 103.0, "{}", queue(&run));
    assert!(used(&run) > 99.9, "{}", used(&run));

    let run = result("newreno");
    assert!((used(&run) - 95.5).abs() < 3.0, "{}", used(&run));
    assert!(queue(&run) < 14.0, "{}", queue(&run));

    let run = result("dctcp");
    // One packet more is in transmission.
    assert!((14.0..23.0).contains(&queue(&run)), "{}", queue(&run));
    assert!(used(&run) > 99.9, "{}", used(&run));
    assert_eq!(of_link(&run, Metric::QueueDrops), 0.0);
}

/// Over a queue that DCTCP holds at the threshold NewReno is cut in each round trip and left with a few packets in
/// each, of the 64 that path and queue hold (RFC 8257, section 5, recommends to keep the two apart).
#[test]
fn newreno_starves_beside_dctcp() {
    let run = result("together");
    let rate = |flow| of(&run, &Subject::flow(flow), Metric::Throughput);
    let share = rate("two") / (rate("one") + rate("two"));
    assert!(share > 0.0 && share < 3.0 / 64.0, "{share}");
}
