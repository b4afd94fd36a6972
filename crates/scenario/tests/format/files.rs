//! Valid and invalid scenario files.

mod bounds;
mod ccids;
mod inherited;
mod options;
mod phases;
mod seeds;
mod shortened;

use fairwire_scenario::{Adjust, Cell, Explained, Source, explain};
use fairwire_units::{Duration, Rate};

use super::{cells, read, refusal, refused, with_set};

const GOOD: &str = r#"
title = "A paper's dumbbell"
paper = "long-delay"

[run]
duration = { value = "200 s", source = "paper", note = "section IV" }

[topology]
source = "paper"
kind = "dumbbell"
access = { rate = "10 Mbit/s", delay = "1 ms" }

[topology.bottleneck]
rate = "2 Mbit/s"
delay = "300 ms"
queue = { value = "20 packets", source = "assumed", note = "direction not given" }
back.loss = "1 %"

[flows.web]
source = "paper"
start = "0.5 s"
wire = "1040 B"
traffic = "greedy"
tcp = { window = { value = "20 packets", source = "derived" } }

[flows.video]
source = "paper"
start = "10 s"
wire = "500 B"
traffic.kind = "cbr"
traffic.rate = "2 Mbit/s"
dccp = { ccid = 2 }

[cells.plain]

[cells.cut-5.flows.video.dccp.ccid2]
source = "paper"
law = { kind = "threshold-window", cut = "5 %" }
"#;

/// Cells are the base with their overrides, and values keep their source and note.
#[test]
fn cells_are_laid_over_the_base() {
    let cells = cells(GOOD, &Adjust::default());
    assert_eq!(cells.len(), 2);
    let (plain, cut) = (&cells[0], &cells[1]);
    assert_eq!((plain.name.as_str(), cut.name.as_str()), ("plain", "cut-5"));
    let video = |cell: &Cell| cell.scenario.flows.get("video").cloned().expect("video");
    assert_eq!(
        video(plain).dccp.expect("dccp").config.ccid2.law.kind(),
        "newreno"
    );
    let law = video(cut).dccp.expect("dccp").config.ccid2.law;
    assert_eq!(law.kind(), "threshold-window");
    assert!(format!("{law:?}").contains("cut: 0.05"), "{law:?}");
    assert_eq!(video(cut).interval(), Some(Duration::from_millis(2)));
    assert_eq!(video(cut).payload_bytes(), 500 - 20 - 16);
    let queue = &plain.provenance["topology.bottleneck.queue.limit"];
    assert_eq!(queue.source, Source::Assumed);
    assert_eq!(queue.note.as_deref(), Some("direction not given"));
    let source = |path: &str| plain.provenance[path].source;
    assert_eq!(source("flows.web.tcp.window"), Source::Derived);
    assert_eq!(source("topology.access.rate"), Source::Paper);
}

/// `--set`, `--only`, `--duration` and `--seeds` are applied after the cells.
#[test]
fn the_command_line_has_the_last_word() {
    let adjust = Adjust {
        only: vec!["plain".into()],
        duration: Some(Duration::from_secs(20).into()),
        seeds: Some(2),
        seed: Some(7),
        ..with_set(&[
            "topology.bottleneck.rate=4 Mbit/s",
            "flows.video.dccp.ccid=3",
            "flows.video.traffic.every = \"1 ms\"",
        ])
    };
    let cells = cells(GOOD, &adjust);
    assert_eq!(cells.len(), 1);
    let scenario = &cells[0].scenario;
    let bottleneck = scenario.topology.link("bottleneck").expect("bottleneck");
    assert_eq!(bottleneck.rate, Some(Rate::from_bits_per_s(4_000_000)));
    let video = scenario.flows.get("video").expect("video");
    assert_eq!(video.dccp.as_ref().map(|dccp| dccp.ccid), Some(3));
    assert_eq!(
        video.interval(),
        Some(Duration::from_millis(1)),
        "'every' replaces 'rate'"
    );
    assert_eq!(scenario.run.duration, Duration::from_secs(20));
    assert_eq!(
        (
            scenario.run.seeds,
            scenario.run.max_seeds,
            scenario.run.seed
        ),
        (2, 2, 7)
    );
}

/// `--set path=` removes a key or a table from the cells that have it. If no cell has it, the error names the keys that
/// exist. An empty text is written with quotes.
#[test]
fn nothing_takes_a_key_away() {
    let with = |set: &[&str]| read(GOOD, &with_set(set));
    let refused = |set: &str| refused(GOOD, &with_set(&[set]));
    let one = with(&["topology.bottleneck.back=", "flows.web = "]).expect("taken away");
    for cell in &one {
        let bottleneck = cell.scenario.topology.link("bottleneck").expect("one");
        assert_eq!(bottleneck.back, None);
        assert!(cell.scenario.flows.get("web").is_none());
        assert!(
            !cell
                .provenance
                .contains_key("topology.bottleneck.back.loss")
        );
    }
    // The key exists in one cell only.
    let cells = with(&["flows.video.dccp.ccid2="]).expect("taken away");
    assert_eq!(cells[0].scenario, cells[1].scenario);
    // A key that `--set` added can be removed again.
    let rate = "topology.bottleneck.framing=8 B";
    let again = with(&[rate, "topology.bottleneck.framing="]).expect("set and taken away");
    assert_eq!(again[0].scenario, with(&[]).expect("plain")[0].scenario);
    let error = refused("topology.bottleneck.mtu=");
    assert!(
        error.contains("nothing states 'topology.bottleneck.mtu'"),
        "{error}"
    );
    assert!(
        error.contains("stated there is rate, delay, queue, back"),
        "{error}"
    );
    // A default cannot be removed, and a required key that is removed is reported where it was.
    assert!(refused("flows.web.tcp.min_rto=").contains("cannot be taken away"));
    assert!(refused("nowhere.at.all=").contains("stated there is title, paper"));
    let error = refused("topology.bottleneck.rate=");
    assert!(
        error.contains("'rate' or 'trace' is missing here: a link has a 'rate'")
            && error.contains("test.toml:"),
        "{error}"
    );
    assert_eq!(
        with(&["about=\"\""]).expect("a text")[0]
            .scenario
            .about
            .as_deref(),
        Some("")
    );
}

/// An override of a flow's protocol replaces it. Flows that have the name of a protocol are kept.
#[test]
fn alternatives_replace_each_other_within_a_flow() {
    let named = GOOD
        .replace("flows.video", "flows.dccp")
        .replace("flows.web", "flows.tcp");
    let adjust = Adjust {
        only: vec!["plain".into()],
        ..with_set(&["flows.dccp.start=3s", "flows.dccp.udp={}"])
    };
    let scenario = cells(&named, &adjust)[0].scenario.clone();
    assert!(scenario.flows.get("tcp").is_some());
    let flow = scenario.flows.get("dccp").expect("still there");
    assert!(flow.dccp.is_none() && flow.udp.is_some());
}

/// The valid text, a mistake in its place, the line of the error, and a part of its message.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    (
        "rate = \"2 Mbit/s\"\ndelay",
        "rate = \"2 Mbit\"\ndelay",
        ":14:8",
        "Mbit/s",
    ),
    (
        "rate = \"2 Mbit/s\"\ndelay",
        "rate = 2\ndelay",
        ":14:8",
        "no unit",
    ),
    (
        "rate = \"2 Mbit/s\"\ndelay",
        "rate = \"0 bit/s\"\ndelay",
        ":14:8",
        "rate zero",
    ),
    ("delay = \"300 ms\"", "dealy = \"300 ms\"", ":15:1", "delay"),
    ("ccid = 2", "ccid = 9", ":32:17", "the CCID is 2"),
    (
        "ccid = 2",
        "ccid = 2, service = \"42\"",
        ":32:30",
        "SC:name",
    ),
    (
        "wire = \"500 B\"",
        "wire = \"36 B\"",
        ":29:8",
        "headers take 36",
    ),
    (
        "wire = \"500 B\"",
        "wire = \"500 B\"\npayload = \"80 B\"",
        ":30:1",
        "'wire' and 'payload' do not go together: state the packet size exactly once",
    ),
    (
        "traffic.kind = \"cbr\"",
        "traffic.kind = \"poisson\"",
        ":30:16",
        "greedy, cbr",
    ),
    (
        "traffic.rate =",
        "rate =",
        ":31:1",
        "'rate' is now written inside the traffic: traffic = { kind = \"cbr\"",
    ),
    (
        "traffic.rate = \"2 Mbit/s\"",
        "",
        ":30:",
        "state the pace of this source exactly once",
    ),
    ("source = \"paper\", note", "note", ":6:", "run.duration"),
    (
        "source = \"assumed\"",
        "source = \"guess\"",
        ":16:42",
        "assumed",
    ),
    (
        "kind = \"threshold-window\", cut = \"5 %\"",
        "kind = \"threshold-window\"",
        ":38:",
        "'cut' is missing here",
    ),
    (
        "start = \"10 s\"",
        "start = \"300 s\"",
        ":28:9",
        "after the run",
    ),
    (
        "[cells.plain]",
        "[measure]\nmetrics = [\"speed\"]",
        ":35:12",
        "throughput",
    ),
    (
        "queue = { value = \"20 packets\"",
        "queue = { value = \"0 packets\"",
        ":16:",
        "a queue must hold 1 to 10000000 packets",
    ),
    (
        "queue = { value = \"20 packets\"",
        "queue = { value = \"1039 B\"",
        ":16:",
        "'web' (1040 B)",
    ),
    (
        "ccid = 2",
        "ccid = 3, ccid2 = { initial_ssthresh = \"20 packets\" }",
        ":32:",
        "'ccid2.initial_ssthresh' is for CCID 2, and this flow has CCID 3",
    ),
    ("title =", "titel =", ":2:1", ", cells"),
    (
        "law = { kind = \"threshold-window\", cut = \"5 %\" }",
        "law = \"new-reno\"",
        ":38:7",
        "did you mean \"newreno\"? write one of newreno, threshold-window, vegas",
    ),
    (
        "law = { kind = \"threshold-window\", cut = \"5 %\" }",
        "law = \"threshold-window\"\ncut = \"5 %\"",
        ":39:1",
        "'cut' is now written inside the law: ccid2 = { law = { kind = \"threshold-window\"",
    ),
    (
        "kind = \"threshold-window\", cut",
        "kind = \"newreno\", cut",
        ":38:",
        "'cut' belongs to kind \"threshold-window\"",
    ),
    (
        "cut = \"5 %\"",
        "cut = \"0 %\"",
        ":38:",
        "a cut must be more than 0 %",
    ),
    (
        "back.loss = \"1 %\"",
        "back.loss = \"1\"",
        ":17:13",
        "percentage",
    ),
    (
        "back.loss = \"1 %\"",
        "back.loss_every = \"100 packets\"",
        ":17:6",
        "'loss_every' is now written loss = { kind = \"every\", n = 100 }",
    ),
    (
        "back.loss = \"1 %\"",
        "back.back.rate = \"1 Mbit/s\"",
        ":17:6",
        "unknown key 'back'",
    ),
];

/// Each mistake is refused at its place, with a hint.
#[test]
fn mistakes_are_refused_where_they_stand() {
    for (from, to, line, hint) in MISTAKES {
        assert!(GOOD.contains(from), "{from}");
        let message = refusal(&GOOD.replacen(from, to, 1));
        assert!(message.contains(hint), "{to}: {message}");
        assert!(message.contains(line), "{to}: {message}");
    }
}

/// A whole number may be written as a float, as arrays of numpy hold it; another float is refused.
#[test]
fn whole_numbers_may_be_floats() {
    let with = |ccid: &str| GOOD.replacen("ccid = 2", &format!("ccid = {ccid}"), 1);
    for ccid in ["2", "2.0"] {
        let cells = cells(&with(ccid), &Adjust::default());
        let flows = cells[0].scenario.flows.iter();
        let ccids: Vec<_> = flows
            .filter_map(|(_, flow)| Some(flow.dccp.as_ref()?.ccid))
            .collect();
        assert_eq!(format!("{ccids:?}"), "[2]", "{ccid}");
    }
    let message = refusal(&with("2.5"));
    assert!(message.contains("whole number"), "{message}");
    let message = refusal(&with("9.0"));
    assert!(!message.contains("whole number"), "{message}");
}

/// A Service Code is written in any of its three forms, and in no other (RFC 5595).
#[test]
fn service_codes_have_three_forms() {
    for code in ["SC:fdpz", "SC=1717858426", "SC=x6664707A"] {
        let text = GOOD.replacen("ccid = 2", &format!("ccid = 2, service = \"{code}\""), 1);
        let cells = cells(&text, &Adjust::default());
        let flows = cells[0].scenario.flows.iter();
        let service = flows.filter_map(|(_, flow)| flow.dccp.as_ref()?.service);
        let written: Vec<_> = service.map(|code| code.to_string()).collect();
        assert_eq!(written, ["SC:fdpz"], "{code}");
    }
    let wrong = refusal(&GOOD.replacen("ccid = 2", "ccid = 2, service = \"42\"", 1));
    assert!(
        wrong.contains(":32:") && wrong.contains("SC:name"),
        "{wrong}"
    );
}

/// Broken TOML, an unknown cell and an unknown key in `--set` are reported.
#[test]
fn other_mistakes_are_told() {
    assert!(refusal("title = ").contains("test.toml:1:"));
    assert!(refusal("title = 1979-05-27").contains("date"));
    assert!(refusal("").contains("missing"));
    let only = Adjust {
        only: vec!["cut-6".into()],
        ..Adjust::default()
    };
    let error = refused(GOOD, &only);
    assert!(error.contains("cut-5"), "{error}");
    for (setting, advice) in [
        ("flows.video.dcpp.ccid=3", "unknown key 'dcpp'"),
        ("flows.vidoe.start=3s", "no flow is called 'vidoe'"),
        ("flows.video=fast", "expected a table, found"),
        ("nothing", "path.to.key=value"),
        ("a..b=1", "empty"),
        ("run.duration=0s", "the duration is above 0 s"),
    ] {
        let error = refused(GOOD, &with_set(&[setting]));
        assert!(error.contains(advice), "{setting}: {error}");
    }
}

/// The error for a misspelled key or word names the nearest valid one, and all valid ones.
#[test]
fn the_nearest_right_one_is_named() {
    for (from, to, place, hint) in [
        (
            "delay = \"300 ms\"",
            "dealy = \"300 ms\"",
            ":15:1",
            "did you mean 'delay'? allowed keys",
        ),
        (
            "kind = \"dumbbell\"",
            "kind = \"dumbell\"",
            ":10:8",
            "did you mean \"dumbbell\"? write one of",
        ),
        (
            "duration =",
            "durations =",
            ":6:1",
            "did you mean 'duration'?",
        ),
        (
            "[flows.video]",
            "[flow.video]",
            ":26:2",
            "did you mean 'flows'?",
        ),
        (
            "ccid = 2",
            "ccid = 2, zzz = 1",
            ":32:20",
            "unknown key 'zzz': allowed keys",
        ),
        (
            "ccid = 2",
            "ccid = \"two\"",
            ":32:17",
            "expected a whole number, found the text \"two\"",
        ),
        ("ccid = 2", "ccid = 300", ":32:17", "the CCID is 2"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let message = refusal(&GOOD.replacen(from, to, 1));
        assert!(message.contains(hint), "{to}: {message}");
        assert!(message.contains(place), "{to}: {message}");
    }
}

/// A run of a day at 10 Gbit/s is refused before it begins, with the number of packets.
#[test]
fn impossible_runs_are_refused() {
    let big = GOOD
        .replace("200 s", "24 h")
        .replace("2 Mbit/s", "10 Gbit/s")
        .replace("10 Mbit/s", "10 Gbit/s");
    assert!(refusal(&big).contains("packets over links"));
}

/// Every value is explained, including defaults, and a resolved scenario reads back as the same scenario.
#[test]
fn every_value_is_explained() {
    for cell in cells(GOOD, &Adjust::default()) {
        let lines = explain(&cell);
        for line in &lines {
            assert!(!line.meaning.is_empty(), "{} means nothing", line.path);
        }
        let source = |path: &str| {
            let line = lines.iter().find(|line| line.path == path);
            line.unwrap_or_else(|| panic!("{path} is missing")).source
        };
        assert_eq!(source("topology.bottleneck.rate"), "paper");
        assert_eq!(source("topology.bottleneck.queue.limit"), "assumed");
        assert_eq!(source("topology.bottleneck.back.loss.rate"), "paper");
        assert_eq!(source("flows.video.dccp.ccid2.min_rto"), "default");
        let mut scenario = cell.scenario.clone();
        scenario.paper = None; // The resolved scenario does not repeat the sources.
        let text = toml::to_string(&scenario).expect("prints");
        assert_eq!(cells(&text, &Adjust::default())[0].scenario, scenario);
    }
}

/// A value that only another CCID reads has no effect, nor has any value of a flow that takes no part. Defaults without
/// effect are left out by `run --explain`. A list of tables is written as `--set` takes it.
#[test]
fn what_does_nothing_is_known() {
    let explained = |set: &[&str]| {
        let adjust = Adjust {
            only: vec!["plain".into()],
            ..with_set(set)
        };
        explain(&cells(GOOD, &adjust)[0])
    };
    let idle = |lines: &[Explained]| -> Vec<String> {
        let idle = lines.iter().filter(|line| !line.has_effect);
        idle.map(|line| line.path.rsplit('.').next().unwrap_or_default().to_owned())
            .collect()
    };
    let tfrc = [
        "send_rtt_estimate",
        "b",
        "bursts",
        "equation",
        "feedback",
        "first_interval",
        "first_interval_lasts",
        "granularity",
        "history_discounting",
        "keep_sequence_window",
        "loss_events",
        "loss_mean",
        "min_nofeedback",
        "oscillation_reduction",
        "oscillation_reduction_from",
        "receive_limit",
        "receive_rate",
        "receiver_rtt",
        "reports",
        "segment",
        "start",
        "t_rto_rtts",
    ];
    assert_eq!(idle(&explained(&[])), tfrc);
    let window = [
        "ecn_nonce",
        "ack_ratio_follows",
        "ack_vector_on_all_data",
        "growth_after_cut",
        "growth_unused",
        "idle",
        "losses_by_time",
        "min_rto",
        "probe_outages",
        "slow_start",
        "window_counts",
        "kind",
        "segment",
    ];
    assert_eq!(idle(&explained(&["flows.video.dccp.ccid=3"])), window[..12]);
    assert_eq!(idle(&explained(&["flows.video.dccp.ccid=4"])), window);
    let stated = explained(&[
        "flows.video.dccp.ccid=3",
        "flows.video.dccp.ccid3.loss_mean=all-weights",
    ]);
    let mut means = stated
        .iter()
        .filter(|line| line.path.ends_with("loss_mean"));
    let mean = means.next().expect("a line");
    assert_eq!(
        (mean.value.as_str(), mean.source),
        ("\"all-weights\"", "stated")
    );
    assert!(means.next().is_none());
    // Both CCIDs read their keys if the CCID changes, and the list of changes is printed in full.
    let both = "flows.video.dccp.ccid_changes=[{ at = \"20 s\", ccid = 3 }]";
    let lines = explained(&[both]);
    assert_eq!(idle(&lines), [""; 0]);
    let changes = lines
        .iter()
        .find(|line| line.path.ends_with("ccid_changes"));
    let changes = changes.expect("a line");
    assert_eq!(changes.value, "[{ at = \"20s\", ccid = 3 }]");
    let again = explained(&[&format!("{} = {}", changes.path, changes.value)]);
    assert_eq!(again, lines);
    // In a flow that is switched off, only `enabled` has an effect. Stated values are marked as without effect.
    let lines = explained(&["flows.web.enabled=false"]);
    let web = lines
        .iter()
        .filter(|line| line.path.starts_with("flows.web."));
    let (works, idle): (Vec<_>, Vec<_>) = web.partition(|line| line.has_effect);
    assert_eq!(works.len(), 1);
    assert_eq!(works[0].path, "flows.web.enabled");
    assert!(idle.iter().any(|line| line.is_stated()));
    assert!(idle[0].to_string().contains("no effect"), "{}", idle[0]);
}
