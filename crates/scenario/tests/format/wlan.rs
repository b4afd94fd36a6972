//! Valid and invalid wireless networks.

use fairwire_scenario::{Adjust, explain};
use fairwire_units::Duration;

use super::{cells, refused, with_set};

const GOOD: &str = r#"
title = "One access point"
run.duration = "10 s"

[topology]
kind = "wlan"
access = { rate = "100 Mbit/s", delay = "1 ms" }

[topology.wlan]
aps.one = { channel = 1 }
aps.two = { channel = 6 }
stations.a = { ap = "one", signal = "20 dB" }
stations.b = { ap = "two", rate = "adaptive", host = { per_packet = "1 ms" } }
handoffs = [
  { station = "a", at = "2 s", to = "two" },
  { station = "a", at = "4 s", to = "one", outage = "1 s" },
]

[flows.tcp]
sender = "a"
receiver = "b"
wire = "1000 B"
traffic = "greedy"
tcp = {}
"#;

fn refusal(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    super::refusal(&GOOD.replace(from, to))
}

/// A valid wlan is read and is random by itself. Each of its values has a meaning, and the resolved scenario reads back
/// as the same scenario.
#[test]
fn a_wlan_is_read() {
    let cell = &cells(GOOD, &Adjust::default())[0];
    assert!(cell.scenario.is_random() && !cell.scenario.is_perturbed_only());
    for line in explain(cell) {
        assert_ne!(line.meaning, "", "{}", line.path);
        let told = "[{ station = \"a\", at = \"2s\", to = \"two\" }, \
                    { station = \"a\", at = \"4s\", to = \"one\", outage = \"1s\" }]";
        assert!(
            !line.path.ends_with("handoffs") || line.value == told,
            "{line}"
        );
    }
    let resolved = toml::to_string(&cell.scenario).expect("it is TOML");
    let again = cells(&resolved, &Adjust::default());
    assert_eq!(again[0].scenario, cell.scenario);
}

/// Each impossible setting is refused at its line, with a hint.
#[test]
fn impossible_networks_are_refused() {
    for (from, to, told) in [
        (
            "ap = \"two\"",
            "ap = \"three\"",
            "there is no access point 'three': there are one, two",
        ),
        ("\"20 dB\"", "\"20\"", "'20' is not a level"),
        ("\"adaptive\"", "\"11 Mbit/s\"", "is not a rate of 802.11g"),
        (
            "station = \"a\", at = \"2 s\"",
            "station = \"c\", at = \"2 s\"",
            "no station 'c'",
        ),
        (
            "at = \"4 s\"",
            "at = \"2.1 s\"",
            "in the order of their times",
        ),
        (
            "at = \"2 s\", to = \"two\"",
            "at = \"2 s\", to = \"one\"",
            "is at 'one' already",
        ),
        // The run takes 10 s.
        (
            "at = \"4 s\"",
            "at = \"10 s\"",
            "this hand-off never happens",
        ),
        (
            "sender = \"a\"",
            "sender = \"x\"",
            "there is no station 'x': there are a, b",
        ),
        (
            "sender = \"a\"",
            "sender = \"b\"",
            "from one host to another",
        ),
        (
            "sender = \"a\"",
            "from = \"right\"\nsender = \"a\"",
            "has no side",
        ),
        ("receiver = \"b\"\n", "", "a 'sender' and a 'receiver'"),
        (
            "kind = \"wlan\"",
            "kind = \"dumbbell\"",
            "'wlan' belongs to kind \"wlan\", and this is kind \"dumbbell\"",
        ),
        (
            "access = { rate = \"100 Mbit/s\", delay = \"1 ms\" }",
            "",
            "'access' is missing",
        ),
        (
            "channel = 1 }",
            "channel = 1, queue = \"0 packets\" }",
            "a queue must hold 1 to 10000000 packets",
        ),
        ("\"1 ms\" } }", "\"1 h\" } }", "must be at most 10 s"),
        (
            "outage = \"1 s\"",
            "outage = \"2 h\"",
            "an outage is at most 1 h",
        ),
        (
            "stations.b",
            "stations.left",
            "call this station something else",
        ),
    ] {
        let message = refusal(from, to);
        assert!(message.contains(told), "{to}: {message}");
        assert!(message.contains("test.toml:"), "{message}");
    }
}

/// A hand-off after the end is refused where it is written, in a list and in a table of its own. One just before the
/// end is accepted. A shorter `--duration` leaves later ones out, as it does windows.
#[test]
fn hand_offs_happen_within_the_run() {
    let message = refusal("at = \"4 s\"", "at = \"10 s\"");
    let line = GOOD
        .lines()
        .position(|line| line.contains("at = \"4 s\""))
        .expect("there");
    assert!(
        message.contains(&format!("test.toml:{}:25", line + 1)),
        "{message}"
    );
    let list =
        GOOD.find("handoffs = [").expect("there")..GOOD.find("]\n\n[flows").expect("there") + 1;
    let tables = "[[topology.wlan.handoffs]]\nstation = \"a\"\nto = \"two\"\nat = \"2 s\"\n\
                  [[topology.wlan.handoffs]]\nstation = \"a\"\nto = \"one\"\nat = \"10 s\"\n";
    let message = refusal(&GOOD[list], tables);
    assert!(message.contains("| at = \"10 s\""), "{message}");
    let hand_offs = |text: &str, duration| {
        let adjust = Adjust {
            duration,
            ..Adjust::default()
        };
        let topology = &cells(text, &adjust)[0].scenario.topology;
        topology.wlan().map(|wlan| wlan.handoffs.len())
    };
    let inside = GOOD.replace("at = \"4 s\"", "at = \"9999 ms\"");
    assert_eq!(hand_offs(&inside, None), Some(2));
    assert_eq!(
        hand_offs(GOOD, Some(Duration::from_secs(4).into())),
        Some(1)
    );
}

/// Hand-offs that `--duration` leaves out do not move errors to other hand-offs. `--set` cannot remove one hand-off
/// from the list, and the error says what to write.
#[test]
fn hand_offs_are_told_apart() {
    let late = GOOD.replace("at = \"2 s\"", "at = \"8 s\"");
    let wrong = late.replace("to = \"one\"", "to = \"three\"");
    let shorter = Adjust {
        duration: Some(Duration::from_secs(5).into()),
        ..Adjust::default()
    };
    let message = refused(&wrong, &shorter);
    assert!(message.contains("no access point 'three'"), "{message}");
    assert!(message.contains("to = \"three\", outage"), "{message}");
    for path in [
        "topology.wlan.handoffs.0",
        "topology.wlan.handoffs.1.outage",
    ] {
        let message = refused(GOOD, &with_set(&[format!("{path}=")]));
        assert!(
            message.contains("'topology.wlan.handoffs' is a list")
                && message.contains("write the list"),
            "{message}"
        );
    }
}

/// Other topologies have sides instead of named ends, and no table of stations.
#[test]
fn only_a_wlan_has_stations() {
    let chain = |flow: &str, more: &str| {
        format!(
            "title = \"x\"\nrun.duration = \"1 s\"\n[topology]\nkind = \"chain\"\n\
             links.one = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n{more}\
             [flows.tcp]\n{flow}wire = \"500 B\"\ntraffic = \"greedy\"\ntcp = {{}}\n"
        )
    };
    assert!(super::refusal(&chain("sender = \"a\"\n", "")).contains("only flows of a wlan"));
    let stations = "[topology.wlan]\naps.a = { channel = 1 }\nstations.b = { ap = \"a\" }\n";
    assert!(super::refusal(&chain("", stations)).contains("'wlan' belongs to kind \"wlan\""));
}
