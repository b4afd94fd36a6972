//! Link models, speech and the metrics of speech, through scenario files.

use std::path::Path;

use fairwire_scenario::explain;
use fairwire_sim::results::{Metric, RunResult, Subject, WHOLE};

use super::{cells, once, read, scenario, with_set};

/// Runs the only cell of `text` with the first seed.
fn result(text: &str, set: &[&str]) -> RunResult {
    once(&scenario(text, set), 1)
}

fn refusal(text: &str, set: &[&str]) -> String {
    match read(text, &with_set(set)) {
        Ok(_) => panic!("{set:?} is taken"),
        Err(error) => error.message().to_owned(),
    }
}

fn of_flow(result: &RunResult, flow: &str, metric: Metric) -> f64 {
    let value = result.value(&Subject::flow(flow), WHOLE, metric);
    value.unwrap_or_else(|| panic!("{flow} has no {metric}"))
}

fn of_link(result: &RunResult, link: &str, metric: Metric) -> f64 {
    let value = result.value(&Subject::link(link), WHOLE, metric);
    value.unwrap_or_else(|| panic!("{link} has no {metric}"))
}

/// One call of G.711 over UDP. The link of 1 Mbit/s takes 1.504 ms for 188 bytes, then 50 ms.
const CALL: &str = r#"
title = "a call"
run = { duration = "200 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "1 Mbit/s", delay = "50 ms" }
flows.voice = { traffic = "cbr", codec = "g711", udp = {} }
measure.playout = "150 ms"
"#;

/// The two directions of a link have their own rate and delay: for 188 bytes, 1 Mbit/s and 50 ms in one and 100 kbit/s
/// and 200 ms in the other.
#[test]
fn a_link_may_be_asymmetric() {
    let back = ["topology.links.wire.back={ rate = \"100 kbit/s\", delay = \"200 ms\" }"];
    let there = result(CALL, &back);
    let delay = of_flow(&there, "voice", Metric::DelayMean);
    assert!((delay - 0.051_504).abs() < 1e-9, "{delay}");
    let from = [back[0], "flows.voice.from=right"];
    let back = result(CALL, &from);
    let delay = of_flow(&back, "voice", Metric::DelayMean);
    assert!((delay - 0.215_04).abs() < 1e-9, "{delay}");
}

/// The call without changes has no loss and a delay of 51.5 ms and a frame of 20 ms from mouth to ear.
///
/// The delay takes 0.024 * 71.5 = 1.7 from the rating of 93.2 (the fit of Cole and Rosenbluth, within half a point of
/// it).
#[test]
fn a_good_call() {
    let call = result(CALL, &[]);
    assert_eq!(of_flow(&call, "voice", Metric::Offered), 10_000.0);
    assert_eq!(of_flow(&call, "voice", Metric::LossPlayout), 0.0);
    let rating = of_flow(&call, "voice", Metric::RFactor);
    assert!((rating - 91.5).abs() < 0.5, "{rating}");
    assert!(of_flow(&call, "voice", Metric::Mos) > 4.3);
}

/// The quality of a call without losses does not depend on the length of the run: packets that are on their way at the
/// end are not lost, over UDP and DCCP, whether they can still be in time or not.
#[test]
fn packets_on_their_way_at_the_end_are_not_lost() {
    for flow in ["udp={}", "dccp={ ccid = 2 }"] {
        for (length, playout) in [("1 s", "10 s"), ("5 s", "1 s"), ("60 s", "160 ms")] {
            let call = result(
                CALL,
                &[
                    &format!("flows.voice.{flow}"),
                    &format!("run.duration={length}"),
                    &format!("measure.playout={playout}"),
                    "topology.links.wire.delay=150 ms",
                ],
            );
            let of = |metric| of_flow(&call, "voice", metric);
            assert_eq!(of(Metric::LossOffered), 0.0, "{flow} {length}");
            // DCCP takes a while to get up to speed, so that packets wait and leave in bursts.
            if flow.starts_with("udp") {
                assert_eq!(of(Metric::Timely), 100.0, "{length}");
                assert_eq!(of(Metric::LossPlayout), 0.0, "{length}");
                // 93.2 without what a delay of 171.5 ms takes: 0.024 * 171.5 = 4.1 in Cole and Rosenbluth's fit.
                let rating = of(Metric::RFactor);
                assert!((rating - 88.5).abs() < 0.6, "{length}: {rating}");
            }
        }
    }
}

/// What the path drops is lost, however late in the run, also without a playout limit. A packet whose limit has passed
/// is lost to the listener though it is still on its way, and not in the loss of the flow.
#[test]
fn packets_dropped_or_late_at_the_end_are_lost() {
    let endless = CALL.replace("measure.playout = \"150 ms\"", "");
    let call = result(&endless, &["topology.links.wire.loss=100 %"]);
    assert_eq!(of_flow(&call, "voice", Metric::LossOffered), 100.0);
    assert_eq!(of_flow(&call, "voice", Metric::Mos), 1.0);
    let call = result(
        CALL,
        &["topology.links.wire.delay=10 s", "run.duration=5 s"],
    );
    // The last 150 ms of 250 packets, every 20 ms, may still be in time.
    assert_eq!(of_flow(&call, "voice", Metric::LossPlayout), 100.0);
    let lost = call.value(&Subject::flow("voice"), WHOLE, Metric::LossOffered);
    assert_eq!(lost, None, "nothing can be judged");
}

/// With 2 % random loss, G.711 has a rating of 93.2 - 1.7 - 95 * 2 / 6.3 = 61.3, with concealment 84.5, and G.729A
/// 72.5.
#[test]
fn loss_costs_what_the_codec_lets_it() {
    for (codec, expected) in [("g711", 61.3), ("g711-plc", 84.5), ("g729a", 72.5)] {
        let codec = format!("flows.voice.codec={codec}");
        let call = result(CALL, &[&codec, "topology.links.wire.loss=2 %"]);
        let rating = of_flow(&call, "voice", Metric::RFactor);
        let lost = of_flow(&call, "voice", Metric::LossOffered);
        // Four standard errors of the loss are 0.56 points; each point of loss takes 10.3 from G.711 here.
        assert!((lost - 2.0).abs() < 0.56, "{lost}");
        assert!((rating - expected).abs() < 6.0, "{codec}: {rating}");
        assert_eq!(of_flow(&call, "voice", Metric::Overdue), 0.0);
    }
}

/// Packets after the playout limit count as lost for the listener, and not in the loss of the flow.
///
/// With a mean delay of 151.5 ms and a deviation of 20 ms, independent for each packet, 53 % of the packets are later
/// than 150 ms.
#[test]
fn overdue_packets_are_lost_to_the_listener() {
    let varies = "topology.links.wire.delay_variation={ deviation = \"20 ms\", reorders = true }";
    let call = result(CALL, &["topology.links.wire.delay=150 ms", varies]);
    let (lost, unplayed) = (
        of_flow(&call, "voice", Metric::LossOffered),
        of_flow(&call, "voice", Metric::LossPlayout),
    );
    assert!(lost < 0.15, "{lost}");
    // 1 - Phi((150 - 151.504) / 20) = 53.0 %; four standard errors are 2 %.
    assert!((unplayed - 53.0).abs() < 2.1, "{unplayed}");
    let spread = of_flow(&call, "voice", Metric::JitterSpread);
    assert!((spread - 0.02).abs() < 0.0006, "{spread}");
}

/// A link changes its rate at stated times, as in RFC 8867, section 5.1, and its utilisation is the share of what it had
/// in each window. A way back with a rate of its own has no changes unless it states them.
#[test]
fn a_link_changes_its_rate() {
    let text = r#"
title = "a varying capacity"
run = { duration = "100 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "1 Mbit/s", delay = "50 ms", queue = "300 ms", rate_changes = [
  { at = "40 s", rate = "2.5 Mbit/s" }, { at = "60 s", rate = "0.6 Mbit/s" }, { at = "80 s", rate = "0 bit/s" },
] }
flows.f = { wire = "1250 B", traffic = { kind = "cbr", rate = "10 Mbit/s" }, udp = {} }
[measure.windows]
one = { from = "10 s", to = "40 s" }
two = { from = "41 s", to = "60 s" }
three = { from = "65 s", to = "80 s" }
both = { from = "30 s", to = "50 s" }
four = { from = "81 s" }
"#;
    let run = result(text, &[]);
    let of = |window, metric| {
        run.value(&Subject::link("wire"), window, metric)
            .expect("counted")
    };
    for (window, rate) in [
        ("one", 1e6),
        ("two", 2.5e6),
        ("three", 0.6e6),
        ("both", 1.75e6),
    ] {
        let measured = of(window, Metric::Throughput);
        assert!((measured / rate - 1.0).abs() < 0.01, "{window}: {measured}");
        let used = of(window, Metric::Utilisation);
        assert!((used - 100.0).abs() < 0.2, "{window}: {used} %");
    }
    assert_eq!(of("four", Metric::Throughput), 0.0);
    assert_eq!(of("one", Metric::QueueMax), 31.0, "30 wait and one leaves");
    for (set, says) in [
        (
            "topology.links.wire.rate_changes=[{ at = \"2 s\", rate = \"1 Mbit/s\" }, { at = \"2 s\", rate = \"2 Mbit/s\" }]",
            "order of their times",
        ),
        (
            "topology.links.wire.rate_changes=[{ at = \"2 s\" }]",
            "rate",
        ),
    ] {
        let refused = refusal(text, &[set]);
        assert!(refused.contains(says), "{refused}");
    }
}

/// A packet has 160 bytes of speech, 12 of RTP, 16 of DCCP and 20 of IP; the link adds 3 of framing.
///
/// A greedy source fills a link of 96 kbit/s with these 211 bytes at 56.872 packets a second (RFC 5762).
#[test]
fn rtp_adds_its_header() {
    let greedy = r#"
title = "greedy RTP"
run = { duration = "100 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "96 kbit/s", delay = "0 s", queue = "20 packets", framing = "3 B" }
flows.video = { traffic = "greedy", codec = "g711", rtp = true, dccp = { ccid = 3 } }
measure.windows.steady = { from = "50 s" }
"#;
    let run = result(greedy, &[]);
    let flow = Subject::flow("video");
    let rate = run
        .value(&flow, "steady", Metric::Delivered)
        .expect("there")
        / 50.0;
    assert!((rate / 56.872 - 1.0).abs() < 0.002, "{rate}");
    let ratio =
        of_flow(&run, "video", Metric::Throughput) / of_flow(&run, "video", Metric::Goodput);
    assert!((ratio / (208.0 / 172.0) - 1.0).abs() < 0.001, "{ratio}");
}

/// A speaker by P.59 sends 39.1 % of what a constant stream would send (1.014 s of each 2.591 s).
#[test]
fn talk_spurts_leave_pauses() {
    let always = result(CALL, &[]);
    let talks = result(
        CALL,
        &["flows.voice.traffic=talk-spurts", "run.duration=5000 s"],
    );
    let share = of_flow(&talks, "voice", Metric::Throughput)
        / of_flow(&always, "voice", Metric::Throughput);
    // 1930 spurts: four standard errors of the share are 4 * 0.391 * 0.609 * sqrt(2 / 1930) = 0.031.
    assert!((share - 0.391).abs() < 0.031, "{share}");
}

/// A finite transfer is complete when its last byte has arrived.
///
/// 1 MB at 10 Mbit/s takes 0.8 s, and the start a few round trips of 20 ms.
#[test]
fn a_finite_transfer_completes() {
    let transfer = r#"
title = "a file"
run = { duration = "10 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "10 Mbit/s", delay = "10 ms" }
flows.file = { traffic = "greedy", wire = "1500 B", total = "1 MB", tcp = {} }
"#;
    let run = result(transfer, &[]);
    let completed = of_flow(&run, "file", Metric::Completed);
    assert!(completed > 0.82 && completed < 1.1, "{completed}");
}

/// Two TCPs through a queue of 200 packets at 10 Mbit/s, with a round trip of 40 ms.
const SHARED: &str = r#"
title = "managed queues"
run = { duration = "60 s", start_offset = "none" }
topology.kind = "dumbbell"
topology.access = { rate = "100 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "10 Mbit/s", delay = "18 ms", queue = "200 packets" }
flows.one = { traffic = "greedy", wire = "1500 B", tcp = {} }
flows.two = { traffic = "greedy", wire = "1500 B", start = "1 s", tcp = {} }
measure.windows.steady = { from = "10 s" }
measure.baseline = "steady"
"#;

fn queue_ms(run: &RunResult) -> f64 {
    // A packet of 1500 bytes takes 1.2 ms; the packet in transmission does not add to the wait.
    let queue = run.value(&Subject::link("bottleneck"), "steady", Metric::QueueMean);
    (queue.expect("there") - 1.0) * 1.2
}

/// `CoDel` keeps the standing queue near its target of 5 ms and the link busy, where DropTail keeps about 100 ms of
/// queue (RFC 8289, section 1).
#[test]
fn codel_keeps_the_queue_near_its_target() {
    let tail = result(SHARED, &[]);
    assert!(queue_ms(&tail) > 80.0, "{}", queue_ms(&tail));
    let codel = result(
        SHARED,
        &["topology.bottleneck.queue={ kind = \"codel\", limit = \"200 packets\" }"],
    );
    // TCP's sawtooth varies the queue around the target; a standing queue would show tens of milliseconds.
    let queue = queue_ms(&codel);
    assert!(queue > 2.0 && queue < 12.0, "{queue}");
    let link = Subject::link("bottleneck");
    let used = codel
        .value(&link, "steady", Metric::Utilisation)
        .expect("there");
    assert!(used > 90.0, "{used}");
    let drops = of_link(&codel, "bottleneck", Metric::QueueDrops);
    let lost = of_flow(&codel, "one", Metric::Dropped) + of_flow(&codel, "two", Metric::Dropped);
    assert_eq!(drops, lost, "each drop is one packet of a flow");
    assert!(drops > 10.0);
}

/// RED keeps the mean queue near its thresholds.
///
/// With ECN it marks instead of dropping, so an ECN-capable DCCP loses nothing.
#[test]
fn red_marks_or_drops() {
    let red = "topology.bottleneck.queue={ kind = \"red\", min = \"10 packets\", max = \"30 packets\", ecn = true, limit = \"200 packets\" }";
    let drops = result(SHARED, &[red]);
    let queue = queue_ms(&drops) / 1.2;
    assert!(queue > 5.0 && queue < 30.0, "{queue} packets");
    assert_eq!(
        of_link(&drops, "bottleneck", Metric::Marks),
        0.0,
        "TCP is not ECN-capable here"
    );
    assert!(of_link(&drops, "bottleneck", Metric::QueueDrops) > 10.0);
    let dccp = "flows.one={ dccp = { ccid = 2 } }";
    let marks = result(SHARED, &[red, dccp, "flows.two.enabled=false"]);
    assert!(of_link(&marks, "bottleneck", Metric::Marks) > 5.0);
    let late = marks.value(&Subject::flow("one"), "steady", Metric::Dropped);
    assert_eq!(late, Some(0.0), "marked, not dropped");
}

/// The throughput ratio compares a window with the baseline, where it is 100 %.
///
/// `max_over_min` is the greatest throughput over the least.
#[test]
fn ratios_and_shares() {
    let run = result(SHARED, &[]);
    let one = Subject::flow("one");
    let rate = |window| run.value(&one, window, Metric::Throughput).expect("there");
    let ratio = run
        .value(&one, WHOLE, Metric::ThroughputRatio)
        .expect("there");
    assert!((ratio - 100.0 * rate(WHOLE) / rate("steady")).abs() < 1e-9);
    assert_eq!(
        run.value(&one, "steady", Metric::ThroughputRatio),
        Some(100.0)
    );
    let factor = run
        .value(&Subject::All, WHOLE, Metric::MaxOverMin)
        .expect("there");
    let two = of_flow(&run, "two", Metric::Throughput);
    let expected = f64::max(rate(WHOLE) / two, two / rate(WHOLE));
    assert!((factor - expected).abs() < 1e-12);
}

/// Losses in bursts and by bit errors are counted like others, and replace an earlier setting of `loss`.
#[test]
fn ways_of_losing() {
    let bursts = "topology.links.wire.loss={ kind = \"gilbert-elliott\", good_to_bad = \"1 %\", bad_to_good = \"25 %\" }";
    let lost = |set: &[&str]| of_link(&result(CALL, set), "wire", Metric::LinkLosses);
    // 1 / 26 of 10000. Bursts have four packets, so four standard errors are 4 * sqrt(385 * 6.7) = 203.
    let bursty = lost(&["topology.links.wire.loss=90 %", bursts]);
    assert!((bursty - 385.0).abs() < 203.0, "{bursty}");
    // 188 bytes at 1e-5: 1 - (1 - 1e-5)^1504 = 1.493 %; four standard errors are 49 packets.
    let bits = lost(&["topology.links.wire.loss={ kind = \"bit-errors\", rate = 1e-5 }"]);
    assert!((bits - 149.3).abs() < 49.0, "{bits}");
}

/// Values that make no sense are refused with a message that names the key or the rule.
#[test]
fn nonsense_is_refused() {
    for (set, says) in [
        (
            "topology.links.wire.loss={ kind = \"gilbert-elliott\", good_to_bad = \"1 %\", bad_to_good = \"0 %\" }",
            "bad_to_good",
        ),
        (
            "topology.links.wire.loss={ kind = \"bit-errors\", rate = 1.0 }",
            "bit errors",
        ),
        (
            "topology.links.wire.loss={ kind = \"every\", n = 0 }",
            "n must be at least 1",
        ),
        (
            "topology.links.wire.queue={ kind = \"red\", min = \"9 packets\", max = \"9 packets\" }",
            "min",
        ),
        (
            "topology.links.wire.queue={ kind = \"red\", min = \"1 packets\", max = \"9 packets\", weight = 0.0 }",
            "weight",
        ),
        (
            "topology.links.wire.queue={ kind = \"codel\", target = \"0 s\" }",
            "target",
        ),
        (
            "topology.links.wire.delay_variation={ deviation = \"2 h\" }",
            "at most 1 h",
        ),
        ("flows.voice.traffic.talk=1 s", "talk-spurts"),
        (
            "flows.voice.traffic={ kind = \"talk-spurts\", talk = \"0 s\" }",
            "the mean of a talk spurt is above 0 s",
        ),
        ("measure.playout=0 s", "playout limit"),
        ("measure.baseline=idle", "baseline"),
    ] {
        let message = refusal(CALL, &[set]);
        assert!(message.contains(says), "{set}: {message}");
    }
    let both = [
        "topology.links.wire.queue={ kind = \"red\", min = \"1 packets\", max = \"9 packets\" }",
        "topology.links.wire.queue.limit=9 kB",
    ];
    assert!(refusal(CALL, &both).contains("packets"));
    let tcp = ["flows.voice.tcp={}", "flows.voice.rtp=true"];
    assert!(refusal(CALL, &tcp).contains("RTP"));
}

/// docs/scenario.md and the pages of docs/scenario name every key of these models.
#[test]
fn every_model_is_described() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs.join("scenario")).expect("a folder");
    let text: String = pages
        .map(|page| page.expect("an entry").path())
        .chain([docs.join("scenario.md")])
        .map(|page| std::fs::read_to_string(page).expect("readable"))
        .collect();
    for set in [
        "topology.links.wire.loss={ kind = \"gilbert-elliott\", good_to_bad = \"1 %\", bad_to_good = \"25 %\" }",
        "topology.links.wire.loss={ kind = \"bit-errors\", rate = 1e-5 }",
        "topology.links.wire.loss={ kind = \"every\", n = 100 }",
        "topology.links.wire.delay_variation={ deviation = \"1 ms\", hold = \"1 s\" }",
        "topology.links.wire.queue={ kind = \"red\", min = \"5 packets\", max = \"15 packets\" }",
        "topology.links.wire.queue=codel",
        "flows.voice={ traffic = \"talk-spurts\", rtp = true }",
        "measure.baseline=whole",
    ] {
        for line in explain(&cells(CALL, &with_set(&[set]))[0]) {
            let key = line.path.rsplit('.').next().expect("a key");
            let named = [format!("`{key}`"), format!(".{key}`"), format!("`{key} =")];
            assert!(
                named.iter().any(|name| text.contains(name)),
                "docs/scenario lacks {}",
                line.path
            );
            assert!(
                !line.meaning.is_empty(),
                "--explain has no words for {}",
                line.path
            );
        }
    }
}
