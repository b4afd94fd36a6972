//! `scenarios/dctcp.toml`: the effect of a marking queue on DCTCP and on NewReno.

use fairwire_sim::results::{Metric, RunResult, Subject};

use super::{once, only, ours};

fn result(cell: &str) -> RunResult {
    once(&ours("dctcp.toml", &only(cell))[0].scenario, 1)
}

fn of(run: &RunResult, subject: &Subject, metric: Metric) -> f64 {
    run.value(subject, "steady", metric)
        .unwrap_or_else(|| panic!("no {metric} of {}", subject.name()))
}

fn of_link(run: &RunResult, metric: Metric) -> f64 {
    of(run, &Subject::link("bottleneck"), metric)
}

/// Marks shorten the queue as the scenario's text says, by the sawtooth of each law over a path of 44 packets and a
/// threshold of 20 packets.
///
/// - Without marks a window of 294 packets is halved to 147, of which 103 still wait in the queue.
/// - The two windows of NewReno together fall from 64 to 32 packets and grow by two per round trip. Below 44 the link
///   is idle at times, so its utilisation is 95.5 %.
/// - DCTCP's queue has its maximum at K + N = 22 packets and its minimum sqrt(2 N (44 + 20)) / 2 = 8 packets below
///   (Alizadeh and others, 2010, section 3.3, for N = 2 flows). It is never empty.
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
    // The mean includes the packet in transmission.
    assert!((14.0..23.0).contains(&queue(&run)), "{}", queue(&run));
    assert!(used(&run) > 99.9, "{}", used(&run));
    assert_eq!(of_link(&run, Metric::QueueDrops), 0.0);
}

/// NewReno starves at a queue that DCTCP holds at the threshold: it is cut in each round trip and keeps a few packets
/// of the 64 that path and queue hold.
///
/// RFC 8257, section 5, recommends to separate the two.
#[test]
fn newreno_starves_beside_dctcp() {
    let run = result("together");
    let rate = |flow| of(&run, &Subject::flow(flow), Metric::Throughput);
    let share = rate("two") / (rate("one") + rate("two"));
    assert!(share > 0.0 && share < 3.0 / 64.0, "{share}");
}
