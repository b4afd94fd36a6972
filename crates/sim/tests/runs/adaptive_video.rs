//! Video that adapts, over each transport.

use fairwire_scenario::Adjust;
use fairwire_sim::results::{Metric, RunResult, Subject};

use super::{once, ours, read, scenario, with_set};

/// A video of 150 kbit/s to 1.5 Mbit/s on a link whose rate falls to a fourth: a part of RFC 8867, section 5.1.
const DROP: &str = r#"
title = "the capacity drops"
run = { duration = "60 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "2.5 Mbit/s", delay = "50 ms", queue = "300 ms", rate_changes = [{ at = "30 s", rate = "600 kbit/s" }], back = { rate = "100 Mbit/s" } }
flows.video = { payload = "1000 B", traffic = "adaptive-video", udp = {} }
[measure.windows]
before = { from = "20 s", to = "30 s" }
after = { from = "40 s", to = "60 s" }
"#;

fn runs(text: &str, set: &[&str], seed: u64) -> RunResult {
    once(&scenario(text, set), seed)
}

fn refusal(set: &str) -> String {
    let error = read(DROP, &with_set(&[set])).expect_err(set);
    error.message().to_owned()
}

fn of(run: &RunResult, window: &str, metric: Metric) -> f64 {
    let value = run.value(&Subject::flow("video"), window, metric);
    value.unwrap_or_else(|| panic!("no {metric} in {window}"))
}

/// The encoder rises to its highest rate while the link has room for it, and falls below the rate that is left, so that
/// the queues do not stay full. This holds over each transport with congestion control, encrypted or not.
#[test]
fn the_encoder_follows_the_capacity() {
    for transport in [
        "dccp={ ccid = 2 }",
        "dccp={ ccid = 3 }",
        "dccp={ ccid = 2, security = \"dtls\" }",
        "dccp={ ccid = 3, security = \"dtls\" }",
        "tcp={}",
    ] {
        let run = runs(DROP, &[&format!("flows.video.{transport}")], 1);
        let before = of(&run, "before", Metric::Goodput);
        // The range ends at 1.5 Mbit/s. Over ten seconds, four standard errors of the rate are 7 %.
        assert!(
            (1.4e6..1.6e6).contains(&before),
            "{transport}: {before} before the drop"
        );
        let after = of(&run, "after", Metric::Goodput);
        assert!(
            (0.3e6..0.6e6).contains(&after),
            "{transport}: {after} after the drop"
        );
        // The queue of the link holds 300 ms at 2.5 Mbit/s, which take 1.25 s to send after the drop. An encoder that sent
        // all that the transport takes would fill it, and a window that is halved then leaves half of queue and path
        // in flight, 100 ms of which are the path. So the queue would never be shorter than this. An encoder that
        // leaves room below the capacity lets it empty, and stays below this on average.
        let full = 0.3 * 2.5e6 / 0.6e6;
        let halved = (full - 0.1) / 2.0;
        let delay = of(&run, "after", Metric::DelayMean);
        assert!(
            delay < 0.05 + halved,
            "{transport}: {delay} s on the way after the drop"
        );
        if !transport.starts_with("tcp") {
            // The encoder's target lets 30 ms of its data wait, and drains what is beyond it within 500 ms (the defaults
            // of `queue_allowance` and `drain_within`). TCP has no such metric.
            let waiting = of(&run, "after", Metric::AppDelayMean) - delay;
            assert!(waiting < 0.53, "{transport}: {waiting} s after the drop");
        }
    }
}

/// The same seed gives the same bytes on the wire, another one others.
#[test]
fn a_run_is_reproducible() {
    let digest = |seed| runs(DROP, &["flows.video.dccp={ ccid = 3 }"], seed).digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

/// UDP reports nothing, so the encoder stays at its first rate.
#[test]
fn over_udp_it_stays_at_its_first_rate() {
    let start = "flows.video.traffic.start_rate=500 kbit/s";
    for (set, rate) in [(&[][..], 150e3), (&[start][..], 500e3)] {
        let run = runs(DROP, set, 1);
        let goodput = of(&run, "after", Metric::Goodput);
        // Sizes and intervals deviate by 21 %: over 600 frames, four standard errors are 4.9 %.
        assert!((goodput / rate - 1.0).abs() < 0.049, "{goodput}");
    }
}

/// Frames of a pause do not exist, and the video goes on after it.
#[test]
fn a_pause_is_silent() {
    let pause = "flows.video.traffic.pauses=[{ from = \"20 s\", to = \"30 s\" }]";
    let run = runs(DROP, &["flows.video.dccp={ ccid = 3 }", pause], 1);
    let frames = run.value(&Subject::flow("video"), "before", Metric::Frames);
    assert_eq!(frames.unwrap_or(0.0), 0.0);
    assert!(of(&run, "after", Metric::Goodput) > 0.3e6);
}

/// What makes no sense is refused with the key, what was found and what is accepted.
#[test]
fn nonsense_is_refused() {
    for (set, says) in [
        ("min_rate=0 bit/s", "a rate above zero"),
        ("max_rate=100 kbit/s", "less than min_rate, 150 kbit/s"),
        ("start_rate=2 Mbit/s", "to max_rate, 1.5 Mbit/s"),
        ("start_rate=100", "kbit/s"),
        ("burst_frames=0", "1 to 10000 frames"),
        ("size_scale=1.5", "0 (none) to 1"),
        ("interval_scale=-0.1", "0 (none) to 1"),
        ("frames_per_second=0", "0.1 to 1000"),
        ("headroom=5", "%"),
        (
            "pauses=[{ from = \"2 s\", to = \"1 s\" }]",
            "end after it begins",
        ),
        ("pauses=[{ from = \"2 s\" }]", "to"),
        ("i_ratio=3", "i_ratio"),
    ] {
        let message = refusal(&format!("flows.video.traffic.{set}"));
        assert!(message.contains(says), "{set}: {message}");
    }
    let message = refusal("flows.video.codec=g711");
    assert!(
        message.contains("a speech codec makes no video"),
        "{message}"
    );
}

/// Returns the mean over three seeds of what `flow` has in a cell of `scenarios/rmcat.toml`.
fn rmcat(cell: &str, flow: &str, window: &str, metric: Metric) -> f64 {
    let cells = ours("rmcat.toml", &Adjust::default());
    let cell = cells.iter().find(|it| it.name == cell).expect(cell);
    let of = |seed| {
        let run = once(&cell.scenario, seed);
        let value = run.value(&Subject::flow(flow), window, metric);
        value.unwrap_or_else(|| panic!("{flow} has no {metric}"))
    };
    (1..=3).map(of).sum::<f64>() / 3.0
}

/// RFC 8867, section 5.1: the video converges to each capacity and does not exceed it. CCID 3 loses most when the
/// capacity drops, as docs/models/adaptive-video.md says: 6.5 % of the packets in those 20 s, and CCID 2 0.2 %.
#[test]
fn the_test_case_of_a_variable_capacity_shows_what_it_says() {
    let phases = [("two", 1.5e6), ("three", 0.6e6), ("four", 1e6)];
    for media in ["ccid2", "ccid3", "tcp"] {
        let cell = format!("5-1-50ms-{media}");
        for (window, most) in phases {
            let goodput = rmcat(&cell, "video1", window, Metric::Goodput);
            // RTP's headers are a part of it, and the bitrate is random.
            assert!(
                (0.6 * most..1.05 * most).contains(&goodput),
                "{cell}, {window}: {goodput}"
            );
        }
    }
    let loss = |cell| rmcat(cell, "video1", "three", Metric::Loss);
    let (ccid2, ccid3) = (loss("5-1-50ms-ccid2"), loss("5-1-50ms-ccid3"));
    assert!(ccid2 < 1.5 && ccid3 > 3.0, "{ccid2} {ccid3}");
}

/// RFC 8867, section 5.6: beside a long TCP flow a video keeps more than its lowest rate, and so does the TCP.
#[test]
fn a_video_and_a_tcp_leave_each_other_a_share() {
    for cell in ["5-6-300ms-ccid2", "5-6-300ms-ccid3"] {
        for flow in ["video1", "tcp"] {
            let goodput = rmcat(cell, flow, "both", Metric::Goodput);
            assert!(goodput > 0.4e6, "{cell}: {flow} has {goodput}");
        }
    }
}
