//! The CCID in a scenario, beside CCID 2.

use fairwire_scenario::{Adjust, ScenarioFile};
use fairwire_sim::results::{Metric, Subject, WHOLE};
use fairwire_sim::{RunOptions, run};

const SCENARIO: &str = r#"
title = "A CCID of one's own and CCID 2, each over a link that loses one packet in a hundred"
run.duration = "60 s"
topology = { kind = "graph", links.a = { between = ["s", "a"], rate = "10 Mbit/s", delay = "50 ms", loss = "1 %", back.loss = "0 %" }, links.b = { between = ["s", "b"], rate = "10 Mbit/s", delay = "50 ms", loss = "1 %", back.loss = "0 %" } }
flows.probing = { sender = "s", receiver = "a", wire = "1000 B", traffic = "greedy", dccp = { ccid = 248 } }
flows.window = { sender = "s", receiver = "b", wire = "1000 B", traffic = "greedy", dccp = { ccid = 2 } }
"#;

/// Random losses say nothing about the rate of the path: the CCID fills it, and a window does not. A window holds
/// sqrt(1.5 / 0.01) = 12 of the 125 packets that fill the path.
#[test]
fn it_fills_a_path_with_losses() {
    own_ccid::register().expect("the only one with this number");
    let file = ScenarioFile::parse("own_ccid", SCENARIO).expect("it names a registered CCID");
    let cells = file.cells(&Adjust::default()).expect("one cell");
    let result = run(&cells[0].scenario, (1, false), RunOptions::default()).expect("it runs");
    let rate = |name| result.value(&Subject::flow(name), WHOLE, Metric::Throughput);
    let (probing, window) = (
        rate("probing").expect("measured"),
        rate("window").expect("measured"),
    );
    assert!(probing > 0.85 * 10e6, "{probing}");
    assert!(window < 0.2 * 10e6, "{window}");
    // A setting that only CCID 2 reads is refused under this one, and the error says so.
    let misplaced = SCENARIO.replace("ccid = 248", "ccid = 248, ccid2.law = \"vegas\"");
    let file = ScenarioFile::parse("own_ccid", &misplaced);
    let error = file
        .and_then(|file| file.cells(&Adjust::default()))
        .expect_err("a law");
    let error = error.to_string();
    assert!(
        error.contains("'ccid2.law' is for CCID 2, and this flow has CCID 248"),
        "{error}"
    );
}
