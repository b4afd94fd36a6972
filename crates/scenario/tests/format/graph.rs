//! Valid and invalid graphs.

use fairwire_units::Duration;

use fairwire_scenario::Adjust;

use super::{cells, read};

/// A square with a tail, and an island.
const GOOD: &str = r#"
title = "A square with a tail"
run = { duration = "10 s" }
[topology]
kind = "graph"
links.north = { between = ["host", "router"], rate = "10 Mbit/s", delay = "1 ms" }
links.east = { between = ["router", "server"], rate = "10 Mbit/s", delay = "2 ms", back.delay = "3 ms" }
links.south = { between = ["server", "far"], rate = "10 Mbit/s", delay = "4 ms", queue = "2 kB" }
links.west = { between = ["far", "host"], rate = "10 Mbit/s", delay = "5 ms" }
links.island = { between = ["alone", "lonely"], rate = "10 Mbit/s", delay = "1 ms" }
[flows.f]
sender = "host"
receiver = "server"
wire = "1250 B"
traffic = { kind = "cbr", rate = "1 Mbit/s" }
udp = {}
"#;

/// The route has the fewest hops. Of two equal routes, it takes that of the link that comes first in the file.
/// `extra_delay` counts twice.
#[test]
fn a_round_trip_is_that_of_the_route() {
    let rtt = |text: &str| {
        let cells = cells(text, &Adjust::default());
        let scenario = &cells[0].scenario;
        scenario.empty_rtt(scenario.flows.get("f").expect("the flow"))
    };
    // 1 ms for each of two data packets, 32 us for each of two headers; north and east both ways.
    let sent = Duration::from_micros(2 * 1_000 + 2 * 32);
    assert_eq!(rtt(GOOD), sent + Duration::from_millis(1 + 2 + 3 + 1));
    let later = GOOD.replace("traffic", "extra_delay = \"20 ms\"\ntraffic");
    assert_eq!(rtt(&later), rtt(GOOD) + Duration::from_millis(40));
    let near = GOOD.replace("receiver = \"server\"", "receiver = \"far\"");
    let sent = Duration::from_micros(1_000 + 32);
    assert_eq!(rtt(&near), sent + Duration::from_millis(10));
}

/// A resolved scenario reads back as the same scenario.
#[test]
fn a_graph_survives_being_written() {
    let scenario = &cells(GOOD, &Adjust::default())[0].scenario;
    let resolved = toml::to_string(scenario).expect("it is TOML");
    let again = cells(&resolved, &Adjust::default());
    assert_eq!(again[0].scenario, *scenario);
}

/// Each mistake has one error, at its line, with the nearest valid name if there is one.
#[test]
fn impossible_graphs_are_refused() {
    for (from, to, line, told) in [
        (
            "sender = \"host\"",
            "sender = \"hsot\"",
            12,
            "there is no node 'hsot': did you mean 'host'? the nodes are host, router, server",
        ),
        (
            "receiver = \"server\"",
            "receiver = \"lonely\"",
            13,
            "no path leads from 'host' to 'lonely'",
        ),
        (
            "receiver = \"server\"",
            "receiver = \"host\"",
            13,
            "from one node to another",
        ),
        (
            "receiver = \"server\"\n",
            "",
            11,
            "needs a 'sender' and a 'receiver': two of the nodes host",
        ),
        (
            "sender = \"host\"",
            "from = \"right\"\nsender = \"host\"",
            12,
            "has no side",
        ),
        (
            "between = [\"host\", \"router\"], ",
            "",
            6,
            "'between' is missing",
        ),
        ("[\"host\", \"router\"]", "[\"host\"]", 6, "joins two nodes"),
        (
            "[\"host\", \"router\"]",
            "[\"host\", \"host\"]",
            6,
            "two different nodes",
        ),
        (
            "[\"host\", \"router\"]",
            "[\"host\", \"rou.ter\"]",
            6,
            "letters, digits",
        ),
        ("[\"host\", \"router\"]", "\"host\"", 6, "expected a list"),
        (
            "back.delay = \"3 ms\"",
            "back.between = [\"server\", \"router\"]",
            7,
            "unknown key 'between'",
        ),
        (
            "kind = \"graph\"",
            "kind = \"grahp\"",
            5,
            "did you mean \"graph\"?",
        ),
        (
            "links.north",
            "access",
            6,
            "'access' belongs to the kinds \"dumbbell\" and \"wlan\", and this is kind \"graph\"",
        ),
        (
            "receiver = \"server\"\nwire = \"1250 B\"",
            "receiver = \"far\"\nwire = \"3000 B\"",
            0,
            "",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let result = read(&GOOD.replacen(from, to, 1), &Adjust::default());
        if line == 0 {
            // The small queue is not on this route.
            result.unwrap_or_else(|error| panic!("{error}"));
            continue;
        }
        let error = result.expect_err(to);
        assert!(error.message().contains(told), "{to}: {error}");
        assert_eq!(
            error.line_column().map(|(line, _)| line),
            Some(line),
            "{to}: {error}"
        );
    }
}

/// A queue of bytes must hold a data packet of each flow whose route crosses it.
#[test]
fn a_queue_on_the_route_holds_a_packet() {
    let small = GOOD.replace("receiver = \"server\"", "receiver = \"far\"");
    let small = small.replace("sender = \"host\"", "sender = \"server\"");
    let error =
        read(&small.replace("1250 B", "3000 B"), &Adjust::default()).expect_err("a small queue");
    assert!(error.message().contains("queue is smaller"), "{error}");
    assert_eq!(error.line_column().map(|(line, _)| line), Some(8));
}

/// Only flows of a graph or a wlan name their ends.
#[test]
fn a_dumbbell_has_no_nodes_to_name() {
    let text = r#"
title = "A dumbbell"
run = { duration = "10 s" }
topology.kind = "dumbbell"
topology.access = { rate = "10 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "1 Mbit/s", delay = "1 ms" }
[flows.f]
receiver = "b"
wire = "1000 B"
traffic = "greedy"
tcp = {}
"#;
    let error = read(text, &Adjust::default()).expect_err("refused");
    assert!(error.message().contains("go from side to side"), "{error}");
    assert_eq!(error.line_column().map(|(line, _)| line), Some(8));
}
