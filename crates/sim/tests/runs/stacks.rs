//! Presets of DCCP.

use fairwire_proto::{Ccid3Config, LossMean, Reports, Segment, SlowStart};

use fairwire_scenario::{Adjust, Cell, Dccp, Metric, ScenarioError, WHOLE, explain};
use fairwire_sim::results::Subject;

use super::{cells, read, unperturbed, with_set};

const TEXT: &str = r#"
title = "A stack"
run = { duration = "10 s" }
topology = { kind = "chain", links.wire = { rate = "2 Mbit/s", delay = "20 ms" } }
[flows.f]
wire = "500 B"
traffic = "greedy"
dccp = { ccid = 3, preset = "ns2-module" }
"#;

fn with(set: &[&str]) -> Result<Cell, ScenarioError> {
    Ok(read(TEXT, &with_set(set))?.remove(0))
}

fn dccp(cell: &Cell) -> &Dccp {
    let flow = cell.scenario.flows.get("f").expect("the flow");
    flow.dccp.as_ref().expect("over DCCP")
}

/// A preset sets the values that are not stated, in the tables of the CCIDs that the flow has. Stated keys override it.
#[test]
fn a_preset_gives_what_is_not_written() {
    let cell = with(&[]).expect("a scenario");
    let given = dccp(&cell);
    assert_eq!(given.config.ccid3.segment, Segment::Literal(500));
    assert_eq!(given.config.ccid3.reports, Reports::Rate);
    assert!(given.config.short_seqnos && given.config.ccid2.initial_window.is_none());
    let stated =
        with(&["flows.f.dccp.ccid3={ segment = \"80 B literally\" }"]).expect("a scenario");
    let stated = dccp(&stated);
    assert_eq!(stated.config.ccid3.segment, Segment::Literal(80));
    assert_eq!(
        stated.config.ccid3.loss_mean,
        LossMean::AllWeights,
        "still the preset's"
    );
    let other = with(&["flows.f.dccp.ccid=2"]).expect("a scenario");
    let other = dccp(&other);
    assert_eq!(other.config.ccid2.initial_window, Some(3.0));
    assert_eq!(other.config.ccid2.slow_start, SlowStart::OneForOne);
    assert_eq!(other.config.ccid3, Ccid3Config::default());
    let rfc = with(&["flows.f.dccp.preset=rfc"]).expect("a scenario");
    assert_eq!(dccp(&rfc).config.ccid3, Ccid3Config::default());
}

/// `--explain` marks the values that the preset sets. A resolved scenario reads back as the same scenario.
#[test]
fn a_preset_is_explained() {
    let cell = with(&["flows.f.dccp.ccid3.granularity=1 ms"]).expect("a scenario");
    let lines = explain(&cell);
    let source = |path: &str| {
        let line = lines.iter().find(|line| line.path == path);
        line.map_or("", |line| line.source)
    };
    assert_eq!(source("flows.f.dccp.ccid3.reports"), "preset");
    assert_eq!(source("flows.f.dccp.short_seqnos"), "preset");
    assert_eq!(source("flows.f.dccp.ccid3.granularity"), "stated");
    assert_eq!(source("flows.f.dccp.ccid3.b"), "default");
    let resolved = toml::to_string(&cell.scenario).expect("it is TOML");
    let again = cells(&resolved, &Adjust::default());
    assert_eq!(again[0].scenario, cell.scenario);
}

/// Every stack runs under CCID 2 and 3, and delivers data at a good part of the link's rate.
#[test]
fn every_stack_carries_data() {
    for stack in [
        "rfc",
        "ns2-module",
        "linux-2.6.20",
        "linux-2.6.25",
        "linux-6.1",
    ] {
        for ccid in [2, 3] {
            let cell = with(&[
                &format!("flows.f.dccp={{ ccid = {ccid}, preset = \"{stack}\" }}"),
                "run.duration=60 s",
            ]);
            let cell = cell.unwrap_or_else(|error| panic!("{error}"));
            let run = unperturbed(&cell.scenario, 1);
            let goodput = run.value(&Subject::flow("f"), WHOLE, Metric::Goodput);
            let goodput = goodput.unwrap_or_default();
            // The link has 2 Mbit/s. A stack that counts each lost packet as a loss event gets less of it than others.
            assert!(goodput > 100e3, "{stack}, CCID {ccid}: {goodput}");
        }
    }
}

/// With a clock of 20 ms, packets that CCID 3 paces leave in bursts, which queue. Without one, at most a few queue.
#[test]
fn a_coarse_clock_makes_bursts() {
    let most = |tick: &str| {
        let cell = with(&[
            "topology.links.wire.rate=50 Mbit/s",
            "topology.links.wire.delay=50 ms",
            // Slow start has not filled the link by then.
            "run.duration=2 s",
            &format!("flows.f.dccp={{ ccid = 3{tick} }}"),
        ]);
        let cell = cell.unwrap_or_else(|error| panic!("{error}"));
        let run = unperturbed(&cell.scenario, 1);
        run.value(&Subject::link("wire"), WHOLE, Metric::QueueMax)
    };
    let smooth = most("").unwrap_or_default();
    let coarse = most(", tick = \"20 ms\", ccid3 = { granularity = \"20 ms\" }");
    assert!(coarse > Some(2.0 * smooth.max(1.0)), "{coarse:?}, {smooth}");
}

/// CCID 3 of Linux 6.1 does not keep more than its Sequence Window of 100 packets in a round trip: reports on packets
/// further behind are not valid, and without reports the rate falls. A wider window lets slow start fill the link.
#[test]
fn a_sequence_window_that_stays_limits_the_rate() {
    let peak = |window: &str| {
        let cell = with(&[
            "topology.links.wire.rate=10 Mbit/s",
            "topology.links.wire.delay=100 ms",
            &format!("flows.f.dccp={{ ccid = 3, preset = \"linux-6.1\"{window} }}"),
        ]);
        let cell = cell.unwrap_or_else(|error| panic!("{error}"));
        let run = unperturbed(&cell.scenario, 1);
        let peak = run.value(&Subject::flow("f"), WHOLE, Metric::PeakThroughput);
        peak.expect("measured")
    };
    // A round trip has at least 200 ms, and the rate is at most twice what a valid report has counted.
    let bound = 2.0 * 100.0 * 500.0 * 8.0 / 0.2;
    let kept = peak("");
    assert!(kept <= bound, "{kept}");
    let wide = peak(", sequence_window = \"10000 packets\"");
    assert!(wide >= 2.0 * bound, "{wide}");
}

/// CCID 4 is refused for a stack that lacks it, and the error for an unknown stack names the nearest one.
#[test]
fn impossible_stacks_are_refused() {
    for (set, told) in [
        ("flows.f.dccp.ccid=4", "ns2-module has no CCID 4"),
        (
            "flows.f.dccp.preset=ns2-modul",
            "did you mean \"ns2-module\"?",
        ),
    ] {
        let error = with(&[set]).expect_err(set).to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// Short sequence numbers allow a Sequence Window of 1,024 packets (RFC 4340, section 7.6.1), and a window has at least
/// 32 (section 7.5.2).
#[test]
fn a_sequence_window_has_bounds() {
    let short = "flows.f.dccp.short_seqnos=true";
    let window = |packets: u32| format!("flows.f.dccp.sequence_window={packets} packets");
    for sets in [
        vec![window(32)],
        vec![window(1_025), "flows.f.dccp.short_seqnos=false".to_owned()],
        vec![window(1_024), short.to_owned()],
    ] {
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        with(&sets).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    }
    let error = with(&[&window(31)]).expect_err("31 packets").to_string();
    assert!(error.contains("at least 32 packets"), "{error}");
    let error = with(&[&window(1_025), short]).expect_err("a wide window");
    assert!(
        error.to_string().contains("at most 1024 packets"),
        "{error}"
    );
}
