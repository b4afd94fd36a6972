//! Queues whose limit is a bandwidth-delay product or a time.

use fairwire_scenario::{Adjust, explain};

use super::{cells, refused, with_set};

const DUMBBELL: &str = r#"
title = "queues"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "100 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = "1 bdp" }
flows.one = { traffic = "greedy", wire = "1500 B", tcp = {} }
flows.long = { traffic = "greedy", wire = "1000 B", extra_delay = "10 ms", tcp = {} }
"#;

/// Returns the queue's limit with these `--set`.
fn queue(options: &[&str], is_back: bool) -> String {
    let cells = cells(DUMBBELL, &with_set(options));
    let link = cells[0].scenario.topology.link("bottleneck");
    let link = link.expect("a link");
    let link = if is_back { link.reversed() } else { link };
    link.queue.limit().to_string()
}

/// A limit of 1 bdp is the link's rate times the longest empty round trip of its flows. Here the delays are 64 ms.
/// A packet of 1,000 bytes takes 0.96 ms on three links, and an acknowledgement of 40 bytes 0.0384 ms. At 10 Mbit/s
/// this is 81.2 kB: 54.2 packets of the largest size, 1,500 bytes.
#[test]
fn a_product_is_rate_times_the_longest_round_trip() {
    let word = |options: &[&str]| queue(options, false);
    assert_eq!(word(&[]), "55 packets");
    assert_eq!(word(&["topology.bottleneck.queue=0.5 bdp"]), "28 packets");
    assert_eq!(
        word(&["topology.bottleneck.queue.limit=2bdp"]),
        "109 packets"
    );
    assert_eq!(word(&["topology.bottleneck.queue=0.001 bdp"]), "1 packet");
    assert_eq!(word(&["flows.one.enabled=false"]), "82 packets");
    // Each direction has its own rate.
    let back = ["topology.bottleneck.back.rate=5 Mbit/s"];
    assert_eq!(queue(&back, false), "55 packets");
    assert_eq!(queue(&back, true), "28 packets");
}

/// A limit in time is what the link sends in that time, at its rate at the beginning: in 300 ms at 10 Mbit/s 250
/// packets of 1,500 bytes. Every kind of queue takes it.
#[test]
fn a_queue_may_be_given_as_time() {
    let word = |options: &[&str]| queue(options, false);
    assert_eq!(word(&["topology.bottleneck.queue=300 ms"]), "250 packets");
    assert_eq!(word(&["topology.bottleneck.queue=0.3s"]), "250 packets");
    let codel = "topology.bottleneck.queue={ kind = \"codel\", limit = \"300 ms\" }";
    assert_eq!(word(&[codel]), "250 packets");
    let changes = "topology.bottleneck.rate_changes=[{ at = \"5 s\", rate = \"1 Mbit/s\" }]";
    assert_eq!(
        word(&["topology.bottleneck.queue=300 ms", changes]),
        "250 packets"
    );
    let back = [
        "topology.bottleneck.back.queue=300 ms",
        "topology.bottleneck.back.rate=5 Mbit/s",
    ];
    assert_eq!(queue(&back, true), "125 packets");
}

/// `--explain` shows the packets and how they were computed.
#[test]
fn the_calculation_is_shown() {
    let cells = cells(DUMBBELL, &Adjust::default());
    let lines = explain(&cells[0]);
    let mut lines = lines.iter();
    let line = lines.find(|line| line.path == "topology.bottleneck.queue.limit");
    let line = line.expect("a line");
    assert_eq!(line.value, "\"55 packets\"");
    assert!(
        line.meaning
            .ends_with("(1 bdp: 10 Mbit/s x 64.998ms / 1500 B)"),
        "{}",
        line.meaning
    );
}

/// A limit without a computable product is refused.
#[test]
fn what_has_no_product_is_refused() {
    for (options, says) in [
        (
            &["topology.bottleneck.queue.limit=no bdp"][..],
            "as in \"1 bdp\"",
        ),
        (
            &["topology.bottleneck.queue.limit=-1 bdp"],
            "as in \"1 bdp\"",
        ),
        (&["topology.bottleneck.queue=0 s"], "a time above zero"),
        (
            &["topology.bottleneck.queue=1e12 bdp"],
            "at most 10000000 packets",
        ),
        (
            &["topology.bottleneck.queue={ kind = \"codel\", limit = \"1 bdb\" }"],
            "1 bdb",
        ),
    ] {
        let error = refused(DUMBBELL, &with_set(options));
        assert!(error.contains(says), "{options:?}: {error}");
    }
}
