//! TCP in scenarios: window laws and recoveries, presets, and the laws under CCID 2.

use fairwire_scenario::{Adjust, Cell, ScenarioError, explain};
use fairwire_sim::results::{Metric, Subject};

use fairwire_units::Duration;

use super::{all_seeds, ours, read, with_set};

const PRESETS: [&str; 3] = ["ns2", "linux-2.6", "modern"];
const LAWS: [&str; 8] = [
    "law = \"newreno\"",
    "law = \"newreno\", recovery = \"tahoe\"",
    "law = \"vegas\"",
    "law = { kind = \"vegas\", alpha = \"2 packets\" }",
    "law = \"veno\"",
    "law = \"cubic\"",
    "law = \"cubic-8312\"",
    "law = \"dctcp\"",
];

/// A preset sets what a table does not state, and the explanation names it as the source.
///
/// The values are those of ns-2.35's `ns-default.tcl`, of Linux 2.6 and of RFC 6928, as docs/models/tcp.md lists them.
#[test]
fn presets_set_what_they_say() {
    for (table, expected) in [
        (
            "{ preset = \"ns2\" }",
            &[
                ("window", "\"20 packets\""),
                ("delayed_acks", "false"),
                ("min_rto", "\"200ms\""),
                ("initial_rto", "\"3s\""),
                ("initial_window", "\"2 packets\""),
                ("initial_ssthresh", "\"20 packets\""),
                ("limited_transmit", "true"),
                ("abc", "false"),
            ][..],
        ),
        (
            "{ preset = \"ns2\", law = \"vegas\" }",
            &[("recovery", "\"vegas\""), ("limited_transmit", "false")],
        ),
        // ns-2's `reset()` begins every run with `ssthresh_` at `window_`.
        (
            "{ preset = \"ns2\", window = \"50 packets\" }",
            &[("initial_ssthresh", "\"50 packets\"")],
        ),
        (
            "{ preset = \"linux-2.6\" }",
            &[
                ("law.kind", "\"cubic-8312\""),
                ("recovery", "\"sack\""),
                ("delayed_acks", "true"),
                ("ack_delay", "\"linux-2.6\""),
                ("ack_wait", "\"40ms\""),
                ("quick_acks", "\"16 packets\""),
                ("initial_rto", "\"3s\""),
                ("abc", "false"),
            ],
        ),
        (
            "{ preset = \"linux-2.6\", law = \"newreno\" }",
            &[("recovery", "\"sack\"")],
        ),
        // Linux's `tcp_vegas.c`.
        (
            "{ preset = \"linux-2.6\", law = \"vegas\" }",
            &[
                ("recovery", "\"sack\""),
                ("law.alpha", "\"2 packets\""),
                ("law.beta", "\"4 packets\""),
                ("law.gamma", "\"1 packet\""),
            ],
        ),
        (
            "{ preset = \"modern\", law = { kind = \"vegas\", alpha = \"3 packets\" } }",
            &[("law.beta", "\"4 packets\"")],
        ),
        (
            "{ preset = \"modern\" }",
            &[
                ("law.kind", "\"cubic\""),
                ("recovery", "\"sack\""),
                ("initial_window", "\"10 packets\""),
                ("ack_delay", "\"linux-6.1\""),
                ("initial_rto", "\"1s\""),
                ("abc", "true"),
                ("hystart", "true"),
                ("sack_after_timeout", "\"keep\""),
            ],
        ),
    ] {
        let lines = explain(&cell(table));
        for (key, value) in expected {
            let path = format!("flows.tcp.tcp.{key}");
            let line = lines.iter().find(|line| line.path == path);
            let line = line.unwrap_or_else(|| panic!("{table} lacks {key}"));
            assert_eq!((&*line.value, line.source), (*value, "preset"), "{table}");
        }
    }
}

/// Stated values override the preset, key by key; other values are defaults.
#[test]
fn what_is_stated_wins() {
    for (table, key, value, source) in [
        (
            "{ preset = \"ns2\", window = \"50 packets\" }",
            "window",
            "\"50 packets\"",
            "stated",
        ),
        (
            "{ preset = \"ns2\", window = \"50 packets\", initial_ssthresh = \"20 packets\" }",
            "initial_ssthresh",
            "\"20 packets\"",
            "stated",
        ),
        (
            "{ preset = \"modern\", law = { kind = \"vegas\", alpha = \"3 packets\" } }",
            "law.alpha",
            "\"3 packets\"",
            "stated",
        ),
        // Linux has HyStart in CUBIC only.
        (
            "{ preset = \"modern\", law = \"newreno\" }",
            "hystart",
            "false",
            "default",
        ),
        // The explanation includes what the law uses in slow start.
        (
            "{ law = { kind = \"threshold-window\", cut = \"5 %\" } }",
            "law.slow_start_cut",
            "\"50 %\"",
            "default",
        ),
        // The preset's law has a setting of the same name, which does not apply to another law.
        (
            "{ preset = \"modern\", law = \"veno\" }",
            "law.beta",
            "\"3 packets\"",
            "default",
        ),
    ] {
        let lines = explain(&cell(table));
        let path = format!("flows.tcp.tcp.{key}");
        let line = lines.iter().find(|line| line.path == path);
        let line = line.unwrap_or_else(|| panic!("{table} lacks {key}"));
        assert_eq!((&*line.value, line.source), (value, source), "{table}");
    }
}

/// Without a preset, a flow is `NewReno` with delayed acknowledgements.
#[test]
fn no_preset_is_a_plain_newreno() {
    let plain = cell("{}").scenario;
    let tcp = plain.flows.get("tcp").and_then(|flow| flow.tcp.clone());
    let written = cell(
        "{ law = \"newreno\", recovery = \"newreno\", delayed_acks = true, ack_wait = \"200 ms\", \
         min_rto = \"200 ms\", initial_rto = \"1 s\", rearm = false, abc = false, max_burst = \"4 packets\" }",
    );
    let written = written
        .scenario
        .flows
        .get("tcp")
        .and_then(|flow| flow.tcp.clone());
    assert_eq!(tcp, written);
}

/// A resolved scenario can be read again, for every preset and law.
#[test]
fn what_is_resolved_reads_back() {
    for preset in PRESETS {
        for law in LAWS {
            let cell = cell(&format!("{{ preset = \"{preset}\", {law} }}"));
            let text = toml::to_string(&cell.scenario).expect("prints");
            let again = super::cells(&text, &Adjust::default());
            assert_eq!(again[0].scenario, cell.scenario, "{preset} {law}");
        }
    }
}

/// Settings that do not go together are refused with the key and advice.
#[test]
fn what_does_not_belong_together_is_refused() {
    for (table, told) in [
        (
            "{ law = \"vegas\", alpha = \"1 packet\" }",
            "inside the law",
        ),
        (
            "{ law = { kind = \"cubic\", beta = \"1 packet\" } }",
            "'beta' belongs to the kinds \"vegas\" and \"veno\"",
        ),
        (
            "{ law = { kind = \"vegas\", alpha = \"4 packets\", beta = \"2 packets\" } }",
            "beta of Vegas must be at least alpha",
        ),
        (
            "{ law = { kind = \"threshold-window\", cut = \"5 %\", slow_start_cut = \"100 %\" } }",
            "less than 100 %",
        ),
        (
            "{ law = \"vegas\", recovery = \"tahoe\" }",
            "goes with law = \"newreno\"",
        ),
        (
            "{ preset = \"modern\", recovery = \"tahoe\" }",
            "goes with law = \"newreno\"",
        ),
        ("{ law = \"dctcp\", ecn = false }", "write ecn = true"),
        ("{ variant = \"sack\" }", "as a window law and a recovery"),
        ("{ law = \"bbr\" }", "cubic-8312"),
        ("{ law = \"vegass\" }", "did you mean \"vegas\""),
        ("{ preset = \"ns-2\" }", "linux-2.6"),
        ("{ presets = \"ns2\" }", "presets"),
    ] {
        let error = cells(table).expect_err(table).to_string();
        assert!(error.contains(told), "{table}: {error}");
        assert!(
            error.contains(":14:") || error.contains(":13:"),
            "{table}: {error}"
        );
    }
}

/// Each TCP variant shows its characteristic behaviour at one bottleneck.
///
/// The queue of 20 packets is longer than the path holds (18), so that half a window keeps the link busy; only Tahoe
/// lets it become idle. Retransmissions are as many as drops, except for Tahoe, which retransmits more. Vegas loses
/// nothing and keeps one to three packets in the queue. A window of 20 packets is less than path and queue hold, so it
/// loses nothing.
#[test]
fn every_tcp_shows_its_character() {
    let cells = ours("tcp-variants.toml", &Adjust::default());
    let results = all_seeds(&cells);
    let measured = |cell: &str, metric| {
        let of_cell = results.cell(cell).unwrap_or_else(|| panic!("no {cell}"));
        let found = of_cell.estimate(&Subject::flow("tcp"), "steady", metric);
        found.expect("measured").mean
    };
    for cell in &cells {
        let name = &*cell.name;
        let share = measured(name, Metric::Throughput) / 2e6;
        let (dropped, again) = (
            measured(name, Metric::Dropped),
            measured(name, Metric::Retransmitted),
        );
        let told = format!("{name}: {share} of the link, {dropped} dropped, {again} sent again");
        // 40 s hold one packet more or less.
        assert_eq!(share >= 0.999, name != "tahoe", "{told}");
        assert!(share > 0.85, "{told}");
        assert_eq!(measured(name, Metric::Timeouts), 0.0, "{told}");
        let never_loses = ["vegas", "newreno"].contains(&name);
        assert_eq!(dropped == 0.0, never_loses, "{told}");
        // A packet that is dropped at the end of a window may be retransmitted after it.
        assert!((again - dropped).abs() <= 1.0 || name == "tahoe", "{told}");
    }
    // Packets in the queue, computed from the delay: 58.24 ms on an empty path, 6 ms for each packet.
    let waiting = (measured("vegas", Metric::DelayMean) - 0.058_24) / 0.006;
    assert!((0.5..=3.5).contains(&waiting), "{waiting} packets wait");
}

/// The window laws also work under CCID 2, at a loss of every thousandth packet.
///
/// Veno, which cuts by a fifth, gets sqrt(4.5 / 1.5) times the rate of `NewReno`, which cuts by a half. CUBIC gets the
/// same as `NewReno` (RFC 9438, section 5.1: 38 packets each). The tolerance of a tenth covers the packet or two that
/// whole windows lose of 39 (tests/response.rs).
#[test]
fn the_laws_serve_ccid_2() {
    let rate = |law: &str| {
        let adjust = Adjust {
            seeds: Some(1),
            only: vec!["ccid-2-1000".to_owned()],
            duration: Some(Duration::from_secs(300).into()),
            ..with_set(&[format!("flows.dccp.dccp.ccid2.law={law}")])
        };
        let results = all_seeds(&ours("response.toml", &adjust));
        let found = results.cells[0].estimate(&Subject::flow("dccp"), "steady", Metric::Goodput);
        found.expect("measured").mean
    };
    let newreno = rate("newreno");
    for (law, ratio) in [
        ("veno", 3.0_f64.sqrt()),
        ("cubic", 1.0),
        ("cubic-8312", 1.0),
    ] {
        let measured = rate(law) / newreno;
        assert!((measured / ratio - 1.0).abs() < 0.1, "{law}: {measured}");
    }
}

fn cell(tcp: &str) -> Cell {
    cells(tcp)
        .unwrap_or_else(|error| panic!("{tcp}: {error}"))
        .remove(0)
}

fn cells(tcp: &str) -> Result<Vec<Cell>, ScenarioError> {
    let text = format!(
        "title = \"a TCP\"\n\n[run]\nduration = \"10 s\"\n\n[topology]\nkind = \"dumbbell\"\n\
         access = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"2 Mbit/s\", delay = \"50 ms\" }}\n\n[flows.tcp]\nwire = \"1500 B\"\n\
         traffic = \"greedy\"\ntcp = {tcp}\n"
    );
    read(&text, &Adjust::default())
}
