//! Short flows: how many begin and complete, and their completion times.

use fairwire_scenario::{Adjust, Cell, ScenarioError};
use fairwire_sim::results::{Metric, RunResult, Subject, WHOLE};

use super::{once, ours, unperturbed};

/// Flows of 10 packets of 1000 bytes, on average every 2 s.
///
/// Each is open for about 0.25 s, so they seldom overlap. A packet of 1040 bytes takes 0.832 ms on the link, then 50
/// ms.
const FLOWS: &str = r#"
title = "short flows"
run = { duration = "400 s" }
topology.kind = "chain"
topology.links.wire = { rate = "10 Mbit/s", delay = "50 ms" }
[flows.web]
payload = "1000 B"
stop = "390 s"
traffic = { kind = "short-flows", every = "2 s", sizes = "10 kB" }
tcp = { initial_window = "10 packets" }
"#;

fn cells(set: &[&str]) -> Result<Vec<Cell>, ScenarioError> {
    super::read(FLOWS, &super::with_set(set))
}

fn result(set: &[&str]) -> RunResult {
    once(&super::scenario(FLOWS, set), 1)
}

fn value(result: &RunResult, metric: Metric) -> f64 {
    let value = result.value(&Subject::flow("web"), WHOLE, metric);
    value.unwrap_or_else(|| panic!("no {metric}"))
}

/// A flow takes a round trip for the handshake and half of one for its ten packets, which leave at once.
///
/// Over TCP these are 150 ms of delays, 3 packets of 40 bytes at 0.032 ms, and ten at 0.832 ms. Over DCCP with an
/// initial window of ten packets it takes the same: the Close follows the last packet, and headers are a little larger.
#[test]
fn a_lone_flow_takes_its_round_trips() {
    let tcp = result(&[]);
    let begun = value(&tcp, Metric::FlowsBegun);
    // Poisson distribution with a mean of 195: four standard deviations are 56.
    assert!((begun - 195.0).abs() < 56.0, "{begun}");
    assert!((value(&tcp, Metric::FlowsCompleted) - begun).abs() < 1e-9);
    let median = value(&tcp, Metric::CompletionP50);
    assert!((median - 0.1584).abs() < 0.0003, "{median}");
    let set = "flows.web.dccp={ ccid = 2, ccid2.initial_window = \"10 packets\" }";
    let dccp = result(&[set]);
    assert!(
        (value(&dccp, Metric::FlowsBegun) - begun).abs() < 1e-9,
        "the same arrivals"
    );
    assert!((value(&dccp, Metric::FlowsCompleted) - begun).abs() < 1e-9);
    let median = value(&dccp, Metric::CompletionP50);
    assert!((median - 0.1584).abs() < 0.001, "{median}");
}

/// With twice the load that the link carries, flows compete: the link stays busy and fewer than 90 % of them complete.
#[test]
fn overload_leaves_flows_behind() {
    let sizes = "flows.web.traffic={ kind = \"short-flows\", every = \"100 ms\", sizes = { kind = \"exponential\", mean = \"25 kB\" } }";
    for transport in ["flows.web.tcp={}", "flows.web.dccp={ ccid = 2 }"] {
        let set = [
            sizes,
            transport,
            "topology.links.wire={ rate = \"1 Mbit/s\", delay = \"10 ms\", queue = \"20 packets\" }",
            "run.duration=60 s",
            "flows.web.stop=59 s",
        ];
        let run = result(&set);
        let (begun, completed) = (
            value(&run, Metric::FlowsBegun),
            value(&run, Metric::FlowsCompleted),
        );
        assert!(
            completed < 0.9 * begun,
            "{transport}: {completed} of {begun}"
        );
        let throughput = value(&run, Metric::Throughput);
        assert!(throughput > 0.9e6, "{transport}");
        // The link ends at the receiver, so what it delivered has arrived, even for flows that have ended.
        let delivered = run.value(&Subject::link("wire"), WHOLE, Metric::Throughput);
        assert_eq!(delivered, Some(throughput), "{transport}");
        let (median, most) = (
            value(&run, Metric::CompletionP50),
            value(&run, Metric::CompletionP95),
        );
        assert!(median < most, "{transport}: {median} {most}");
    }
}

/// Settings that do not go with short flows are refused with advice.
#[test]
fn what_does_not_go_with_short_flows_is_refused() {
    for (set, says) in [
        ("flows.web.udp={}", "use tcp or dccp"),
        ("flows.web.total=1 MB", "sizes of their own"),
        ("flows.web.dccp={ ccid = 2, back_ccid = 2 }", "one way"),
        ("flows.web.traffic.sizes=0 B", "at least one byte"),
        ("flows.web.traffic.every=99 us", "at least 100 us"),
        (
            "flows.web.traffic.sizes={ kind = \"pareto\", shape = 0, least = \"1 kB\", most = \"9 kB\" }",
            "the shape is above 0",
        ),
        (
            "flows.web.traffic={ kind = \"video\", rate = \"1 Mbit/s\", frames_per_second = -1 }",
            "0.1 to 1000 frames per second",
        ),
        (
            "flows.web.traffic={ kind = \"video\", rate = \"20 Gbit/s\", frames_per_second = 1 }",
            "an I frame would have 8000 MB on average, and 100 MB are the most",
        ),
        (
            "flows.web.traffic.sizes={ kind = \"pareto\", shape = 1.2, least = \"9 kB\", most = \"9 kB\" }",
            "'least' must be less than 'most'",
        ),
        (
            "flows.web.traffic.sizes={ kind = \"paretto\" }",
            "did you mean \"pareto\"?",
        ),
    ] {
        let error = cells(&[set]).expect_err(set);
        assert!(error.message().contains(says), "{set}: {error}");
    }
}

/// The results are as the text of scenarios/short-flows.toml says, over its three seeds.
///
/// Alone, a median flow of about ten packets takes two round trips of 44 ms less a one-way delay of 22 ms: 66 ms. The
/// transmission of its packets adds about 14 ms. Behind two downloads, each round trip includes the 150 ms of a full
/// queue. FQ-CoDel keeps the packets of short flows out of that queue. For each of them it sends at most one packet of
/// each download before, which adds half as much again. The margins allow for other seeds.
#[test]
fn the_scenario_shows_what_it_says() {
    let cells = ours("short-flows.toml", &Adjust::default());
    let runs = |name: &str| {
        let cell = cells.iter().find(|cell| cell.name == name).expect(name);
        [1, 2, 3].map(|seed| unperturbed(&cell.scenario, seed))
    };
    let mean = |runs: &[RunResult], metric| {
        let of = |run: &RunResult| {
            let value = run.value(&Subject::flow("requests"), WHOLE, metric);
            value.unwrap_or_else(|| panic!("no {metric}"))
        };
        runs.iter().map(of).sum::<f64>() / runs.len() as f64
    };
    let cells = ["alone", "droptail", "fq-codel", "dccp"].map(runs);
    let [alone, droptail, fq_codel, dccp] =
        cells.each_ref().map(|it| mean(it, Metric::CompletionP50));
    assert!((0.07..0.09).contains(&alone), "{alone}");
    assert!(droptail > 0.28, "{droptail}");
    assert!(fq_codel < 1.5 * alone, "{fq_codel}");
    assert!(dccp > 1.2 * droptail, "{dccp}");
    let [_, loss, _, less] = cells.each_ref().map(|it| mean(it, Metric::Loss));
    assert!((100.0 / 20.0..100.0 / 8.0).contains(&loss), "{loss}");
    assert!(less < 0.6 * loss, "{less}");
}

/// A change of CCID applies to the flows that are open then.
///
/// There is one note for each kind of outcome, however many flows it concerns.
#[test]
fn ccid_changes_are_noted_once() {
    let set = "flows.web.dccp={ ccid = 2, ccid_changes = [{ at = \"20 s\", ccid = 3 }] }";
    let busy = "flows.web.traffic={ kind = \"short-flows\", every = \"200 ms\", sizes = \"1 MB\" }";
    let run = result(&[set, busy, "run.duration=25 s", "flows.web.stop=24 s"]);
    let notes: Vec<&String> = run.notes.iter().filter(|it| it.contains("CCID")).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    for says in [
        "web: the data of open flows changed to CCID 3",
        "web: no change to CCID 3 of flows that were not open, or had nothing left to send, at 20s",
    ] {
        assert!(notes.iter().any(|note| *note == says), "{says}: {notes:?}");
    }
}
