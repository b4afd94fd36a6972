//! The notes on phase effects and on unequal ECN.

use std::path::Path;

use crate::scenario::{Adjust, ScenarioFile, notes};

const SHARED: &str = r#"
title = "two TCPs"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "100 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = "20 packets" }
flows.one = { wire = "1500 B", traffic = "greedy", tcp = {} }
flows.two = { wire = "1500 B", traffic = "greedy", tcp = {} }
[cells.plain]
[cells.again]
"#;

fn told(text: &str, set: &[&str]) -> Vec<String> {
    let adjust = Adjust {
        set: set.iter().map(|set| (*set).to_owned()).collect(),
        ..Adjust::default()
    };
    let file = ScenarioFile::parse("two.toml", text);
    let cells = file.and_then(|file| file.cells(&adjust));
    notes(&cells.unwrap_or_else(|error| panic!("{error}")))
}

/// Flows without random delays that share a DropTail queue get one note for all cells, with the time that the
/// bottleneck takes for a packet. Any randomness in their timing, or a queue of another kind, removes the note. It
/// names only the cells that it concerns.
#[test]
fn flows_in_step_are_told() {
    let plain = told(SHARED, &[]);
    assert_eq!(plain.len(), 1, "{plain:?}");
    assert!(
        plain[0].contains("the DropTail queue of 'bottleneck'"),
        "{plain:?}"
    );
    assert!(plain[0].contains("jitter of 1.2ms or more"), "{plain:?}");
    assert!(!plain[0].contains("(in "), "{plain:?}");
    for set in [
        "flows.one.jitter=1 ms",
        "topology.bottleneck.queue=codel",
        "flows.two.enabled=false",
        "flows.two.from=right",
        "topology.access.delay_variation={ deviation = \"1 ms\" }",
        "topology.bottleneck.loss=1 %",
        "flows.two.traffic={ kind = \"video\", rate = \"1 Mbit/s\" }",
    ] {
        assert_eq!(told(SHARED, &[set]), [""; 0], "{set}");
    }
    let one = format!("{SHARED}topology.bottleneck.queue = \"codel\"\n");
    assert!(told(&one, &[])[0].ends_with("(in plain)"));
    let slower = format!("{SHARED}topology.bottleneck.rate = \"5 Mbit/s\"\n");
    let both = told(&slower, &[]);
    assert_eq!(both.len(), 1, "{both:?}");
    assert!(both[0].contains("jitter of 2.4ms or more"), "{both:?}");
    assert_eq!(
        told(SHARED, &["flows.one.jitter=0 s"]).len(),
        1,
        "no time is no jitter"
    );
}

/// Flows with and without ECN that share a queue that marks get a note that says what to set. Equal flows do not, nor do
/// flows at a queue that only drops.
#[test]
fn unequal_ecn_is_told() {
    let marking = "topology.bottleneck.queue=fq-codel";
    let told = |set: &[&str]| told(SHARED, set);
    let unequal = told(&[marking, "flows.two.tcp.ecn=true"]);
    assert_eq!(unequal.len(), 1, "{unequal:?}");
    for part in [
        "the queue of 'bottleneck' marks packets of flows with ECN (two)",
        "drops those of flows without (one)",
        "set flows.one.tcp.ecn = true, or flows.two.tcp.ecn = false",
    ] {
        assert!(unequal[0].contains(part), "{part}: {unequal:?}");
    }
    let equal = [marking, "flows.one.tcp.ecn=true", "flows.two.tcp.ecn=true"];
    assert_eq!(told(&equal), [""; 0]);
    assert_eq!(told(&[marking]), [""; 0]);
    let dropping = "topology.bottleneck.queue=codel";
    assert_eq!(told(&[dropping, "flows.two.tcp.ecn=true"]), [""; 0]);
    let ccid3 = "flows.two={ wire = \"1500 B\", traffic = \"greedy\", dccp = { ccid = 3 } }";
    assert!(told(&[marking, ccid3])[0].contains("flows.two.dccp.ecn = false"));
}

/// No scenario of the repository needs the note on phase effects.
#[test]
fn our_scenarios_have_jitter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let is_scenario = path.extension().is_some_and(|end| end == "toml");
        let is_list = path
            .file_name()
            .is_some_and(|name| name == crate::digests::FILE);
        if !is_scenario || is_list {
            continue;
        }
        let cells = ScenarioFile::load(&path).and_then(|file| file.cells(&Adjust::default()));
        let cells = cells.unwrap_or_else(|error| panic!("{error}"));
        let mut notes = notes(&cells).into_iter();
        let in_step = notes.find(|note| note.contains("phase effects"));
        assert_eq!(in_step, None, "{}", path.display());
    }
}
