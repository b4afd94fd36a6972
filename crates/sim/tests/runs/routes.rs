//! Packets on their routes.

use fairwire_scenario::Adjust;
use fairwire_sim::results::{Metric, RunResult, Subject, WHOLE};

use super::{read, scenario, unperturbed};

const TEXT: &str = r#"
title = "A short way and a long one"
run = { duration = "2 s", start_offset = "none" }
[topology]
kind = "graph"
links.up = { between = ["a", "b"], rate = "10 Mbit/s", delay = "1 ms" }
links.on = { between = ["b", "c"], rate = "10 Mbit/s", delay = "2 ms", back.delay = "4 ms" }
links.idle = { between = ["c", "d"], rate = "10 Mbit/s", delay = "8 ms" }
[flows.there]
sender = "a"
receiver = "c"
wire = "1250 B"
traffic = { kind = "cbr", every = "20 ms" }
udp = {}
[flows.back]
sender = "c"
receiver = "a"
extra_delay = "16 ms"
wire = "1250 B"
traffic = { kind = "cbr", every = "20 ms" }
udp = {}
"#;

fn value(run: &RunResult, subject: &Subject, metric: Metric) -> f64 {
    run.value(subject, WHOLE, metric).expect("a value")
}

/// A packet takes a millisecond and the propagation delay on each link of its route, in either direction. `extra_delay`
/// adds to it, with at most a nanosecond for transmission on a link without a rate limit. Links are measured under
/// their names.
#[test]
fn packets_take_their_route() {
    let run = unperturbed(&scenario(TEXT, &[""; 0]), 1);
    let delay = |flow| value(&run, &Subject::flow(flow), Metric::DelayMin);
    assert!((delay("there") - 0.005).abs() < 1e-12);
    assert!((delay("back") - 0.023).abs() < 2e-9, "{}", delay("back"));
    let used = |link| value(&run, &Subject::link(link), Metric::Utilisation);
    for link in ["up", "on", "up/back", "on/back"] {
        assert!(used(link) > 4.0, "{link}");
    }
    for link in ["idle", "idle/back"] {
        assert!(used(link).abs() < 1e-12, "{link}");
    }
}

/// The way back of an access link leads to the host on the left, and to the router on the right. Packets of 1250 bytes
/// take 1 ms on each link of 10 Mbit/s.
#[test]
fn packets_take_the_way_back_of_an_access_link() {
    let text = r#"
title = "Two ways"
run = { duration = "2 s", start_offset = "none" }
[topology]
kind = "dumbbell"
access = { rate = "10 Mbit/s", delay = "1 ms", back.delay = "3 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "10 ms", back.delay = "20 ms" }
[flows.there]
wire = "1250 B"
traffic = { kind = "cbr", every = "20 ms" }
udp = {}
[flows.back]
from = "right"
wire = "1250 B"
traffic = { kind = "cbr", every = "20 ms" }
udp = {}
[flows.off]
enabled = false
wire = "1250 B"
traffic = { kind = "cbr", every = "20 ms" }
udp = {}
"#;
    let scenario = scenario(text, &[""; 0]);
    let run = unperturbed(&scenario, 1);
    for (flow, delay) in [("there", 0.003 + 0.012), ("back", 0.003 + 0.026)] {
        let found = value(&run, &Subject::flow(flow), Metric::DelayMin);
        assert!((found - delay).abs() < 1e-12, "{flow}: {found}");
        let rtt = scenario.empty_rtt(scenario.flows.get(flow).expect("the flow"));
        // The delays of the other direction, and 32 us for a header of 40 bytes on each link.
        let both = 0.003 + 0.012 + 0.026 + 3.0 * 0.000_032;
        assert!((rtt.as_secs_f64() - both).abs() < 1e-9, "{flow}: {rtt}");
    }
    let small = text.replace("back.delay = \"3 ms\"", "back.queue = \"1 kB\"");
    let error =
        read(&small, &Adjust::default()).expect_err("too small for the flow from the right");
    assert!(error.message().contains("of flow 'back'"), "{error}");
    assert_eq!(error.line_column().map(|(line, _)| line), Some(6));
}

/// A link that is called `kind` keeps its place in the order of links.
#[test]
fn a_link_called_kind_stays_in_its_place() {
    let scenario = scenario(&TEXT.replace("links.on", "links.kind"), &[""; 0]);
    let links = scenario.topology.links();
    let names: Vec<&str> = links.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["up", "kind", "idle"]);
}
