//! Packets on their routes.

use crate::results::{Metric, RunResult, Subject, WHOLE};
use crate::scenario::{Adjust, ScenarioFile};
use crate::sim::{RunOptions, run};

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

/// A packet takes a millisecond and the delay of each link on its route, there or back. A delay of the
/// flow's own comes on top, with a nanosecond at most for a link without limit. Links are measured under
/// their names.
#[test]
fn packets_take_their_route() {
    let file = ScenarioFile::parse("graph.toml", TEXT).expect("TOML");
    let cells = file.cells(&Adjust::default()).expect("a scenario");
    let run = run(&cells[0].scenario, (1, false), RunOptions::default()).expect("runs");
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
