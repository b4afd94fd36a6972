//! Kinds of queues.

use super::{read, with_set};

const WITH: &str = r#"
title = "queues"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "10 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "2 Mbit/s", delay = "20 ms", queue = QUEUE, back.loss = "1 %" }
flows.one = { traffic = "greedy", wire = "1000 B", tcp = {} }
"#;

/// A queue is chosen by its kind, in a file or on the command line. An unknown kind, or a key of another kind, is
/// refused with a hint.
#[test]
fn queues_are_chosen_by_kind() {
    let with = |queue: &str, option: &str| {
        let text = WITH.replace("QUEUE", queue);
        read(&text, &with_set(&[format!("topology.bottleneck.{option}")]))
    };
    let red = "{ kind = \"red\", min = \"5 packets\", max = \"15 packets\" }";
    let cells = with(red, "queue.ecn=true").expect("a key of RED");
    let bottleneck = cells[0].scenario.topology.link("bottleneck").expect("one");
    assert!(format!("{:?}", bottleneck.queue).contains("ecn: true"));
    assert_eq!(bottleneck.reversed().queue, bottleneck.queue, "both ways");
    for (queue, option, says) in [
        (
            "\"20 packets\"",
            "queue.ecn=true",
            "and this is kind \"droptail\"",
        ),
        (
            "\"20 packets\"",
            "queue.ecn=true",
            "'ecn' belongs to the kinds \"red\", \"codel\" and \"fq-codel\"",
        ),
        (
            red,
            "queue.target=5ms",
            "'target' belongs to the kinds \"codel\" and",
        ),
        ("\"codle\"", "rate=1Mbit/s", "did you mean \"codel\"?"),
        (
            "{ kind = \"rde\" }",
            "rate=1Mbit/s",
            "did you mean \"red\"?",
        ),
        ("\"20 pac\"", "rate=1Mbit/s", "'20 pac' is not a queue size"),
        (
            red,
            "codel.ecn=true",
            "'codel' is now written queue = { kind = \"codel\"",
        ),
        (red, "queue.max=5 packets", "'min' must be less than 'max'"),
        (
            "\"20 packets\"",
            "queue.mark_threshold=20 packets",
            "mark_threshold 20 packets is never reached, because at most 20 packets wait",
        ),
        (
            "\"0 packets\"",
            "rate=1Mbit/s",
            "a queue must hold 1 to 10000000 packets",
        ),
    ] {
        let error = with(queue, option).expect_err(says).to_string();
        assert!(error.contains(says), "{queue}, {option}: {error}");
    }
    let codel = with("\"codel\"", "queue.interval=50ms").expect("by its name alone");
    let bottleneck = codel[0].scenario.topology.link("bottleneck").expect("one");
    assert_eq!(bottleneck.queue_words(), "1000 packets (codel)");
    let tail = with(red, "queue=50 packets").expect("another kind");
    let bottleneck = tail[0].scenario.topology.link("bottleneck").expect("one");
    assert_eq!(bottleneck.queue_words(), "50 packets (droptail)");
}
