//! Runs whose results can be computed by hand.

use fairwire_scenario::Scenario;
use fairwire_sim::results::{Metric, RunResult, SeriesMetric, Subject, WHOLE};

use super::{once, unperturbed};

fn scenario(text: &str) -> Scenario {
    super::scenario(text, &[""; 0])
}

fn value(run: &RunResult, subject: &Subject, metric: Metric) -> f64 {
    run.value(subject, WHOLE, metric)
        .unwrap_or_else(|| panic!("seed {}: no {metric} of {subject}", run.seed))
}

const UDP: &str = r#"
title = "CBR over a chain"
[run]
duration = "10 s"
start_offset = "none"
[topology]
kind = "chain"
[topology.links.first]
rate = "10 Mbit/s"
delay = "5 ms"
[topology.links.second]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "4 packets"
[flows.cbr]
wire = "500 B"
traffic = { kind = "cbr", rate = "2 Mbit/s" }
udp = {}
"#;

/// A CBR flow at twice the bottleneck's rate fills the bottleneck and loses half of its packets. The queue holds its
/// four packets and the one in transmission.
#[test]
fn cbr_overload_is_as_computed() {
    let run = once(&scenario(UDP), 1);
    let flow = Subject::flow("cbr");
    let link = Subject::link("second");
    assert_eq!(value(&run, &flow, Metric::Sent), 5_000.0);
    // 10 s at 1 Mbit/s, less the delay of the first packet (0.4 + 5 + 4 + 20 ms) and 7 packets at the end.
    let throughput = value(&run, &flow, Metric::Throughput);
    assert!((0.995e6..1.0e6).contains(&throughput), "{throughput}");
    let loss = value(&run, &flow, Metric::Loss);
    assert!((49.8..50.0).contains(&loss), "{loss}");
    assert_eq!(value(&run, &link, Metric::QueueMax), 5.0);
    let queue = value(&run, &link, Metric::QueueMean);
    // Full except in the first 30 ms: packets arrive at the same moments at which others leave.
    assert!((4.98..5.0).contains(&queue), "{queue}");
    let goodput = value(&run, &flow, Metric::Goodput);
    assert!(
        (goodput / throughput - 472.0 / 500.0).abs() < 1e-12,
        "{goodput}"
    );
    // The empty path: 0.4 + 5 + 4 + 20 ms.
    assert_eq!(value(&run, &flow, Metric::DelayMin), 0.0294);
    // The first drop: packet n arrives 2 (n - 1) ms after the first, and one packet leaves each 4 ms. The drop happens
    // when five packets are inside.
    let first = value(&run, &flow, Metric::FirstLoss);
    assert!((0.01..0.04).contains(&first), "{first}");
}

/// Bernoulli losses of 5 % lose 5 % of the packets. Runs with the same seed have the same digest, and different seeds
/// lose different packets.
#[test]
fn random_loss_is_as_asked() {
    let lossy = UDP
        .replace("queue = \"4 packets\"", "loss = \"5 %\"")
        .replace("2 Mbit/s", "0.5 Mbit/s");
    let scenario = scenario(&lossy);
    let runs: Vec<RunResult> = (1..=4).map(|seed| once(&scenario, seed)).collect();
    for run in &runs {
        let loss = value(run, &Subject::flow("cbr"), Metric::Loss);
        // 1250 packets: a standard deviation is 0.62 %; the bound is four of them.
        assert!((2.5..7.5).contains(&loss), "seed {}: {loss}", run.seed);
        assert_eq!(
            run.digest,
            once(&scenario, run.seed).digest,
            "seed {}",
            run.seed
        );
    }
    assert_ne!(runs[0].digest, runs[1].digest);
}

const TCP: &str = r#"
title = "TCP over a dumbbell"
[run]
duration = "60 s"
[topology]
kind = "dumbbell"
access = { rate = "100 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "2 Mbit/s", delay = "48 ms", queue = "20 packets" }
[flows.one]
wire = "1000 B"
traffic = "greedy"
tcp = {}
[measure]
series = "1 s"
windows.steady = { from = "20 s" }
"#;

/// A lone TCP with almost a bandwidth-delay product of buffer fills the link, in the results of both the flow and the
/// link.
#[test]
fn a_lone_tcp_fills_the_link() {
    let run = once(&scenario(TCP), 1);
    let flow = Subject::flow("one");
    let steady = run
        .value(&flow, "steady", Metric::Throughput)
        .expect("a window");
    // RFC 5681 with a buffer of 0.8 bandwidth-delay products.
    assert!(steady > 0.93 * 2e6, "{steady}");
    let used = run
        .value(&Subject::link("bottleneck"), "steady", Metric::Utilisation)
        .expect("a link");
    assert!((used - steady / 2e4).abs() < 0.2, "{used} {steady}");
    let cwnd = run.series(&flow, SeriesMetric::Cwnd).expect("cwnd");
    assert_eq!(cwnd.len(), 60);
    assert!(cwnd.iter().all(|packets| *packets >= 1.0));
    assert!(value(&run, &flow, Metric::Cuts) >= 1.0);
}

/// A receive window of 20 packets of 1000 bytes per round trip of 100 ms allows 1.6 Mbit/s, whatever the link could
/// carry, and nothing is lost.
#[test]
fn a_window_limits_tcp() {
    let limited = TCP
        .replace(
            "tcp = {}",
            "tcp = { window = \"20 packets\", delayed_acks = false }",
        )
        .replace("rate = \"2 Mbit/s\"", "rate = \"10 Mbit/s\"");
    let run = once(&scenario(&limited), 1);
    let flow = Subject::flow("one");
    let steady = run
        .value(&flow, "steady", Metric::Throughput)
        .expect("a window");
    // A round trip: 100 ms of delay, 0.08 + 0.8 + 0.08 ms forth, and a tenth of a millisecond back.
    let expected = 20.0 * 8_000.0 / 0.101;
    assert!(
        (steady / expected - 1.0).abs() < 0.01,
        "{steady} {expected}"
    );
    assert_eq!(value(&run, &flow, Metric::Dropped), 0.0);
}

/// Seeds delay the starts of two TCPs differently, and each seed repeats its run exactly.
#[test]
fn starts_are_moved_by_the_seed() {
    let two = format!("{TCP}\n[flows.two]\nwire = \"1000 B\"\ntraffic = \"greedy\"\ntcp = {{}}\n");
    let scenario = scenario(&two);
    assert!(scenario.is_perturbed_only());
    let first = once(&scenario, 1);
    assert_eq!(first.digest, once(&scenario, 1).digest);
    assert_ne!(first.digest, once(&scenario, 2).digest);
    let exact = |seed| unperturbed(&scenario, seed).digest;
    assert_eq!(
        exact(1),
        exact(2),
        "unperturbed runs do not depend on the seed"
    );
    let jain = value(&first, &Subject::All, Metric::Jain);
    assert!((0.5..=1.0).contains(&jain), "{jain}");
}

const DCCP: &str = r#"
title = "DCCP over a chain"
[run]
duration = "20 s"
start_offset = "none"
[topology]
kind = "chain"
links.one = { rate = "2 Mbit/s", delay = "50 ms" }
[flows.cbr]
start = "1 s"
payload = "500 B"
traffic = { kind = "cbr", every = "10 ms" }
dccp = { ccid = 2 }
[measure]
windows.first = { to = "1.2 s" }
"#;

/// A CBR source within the path's rate loses nothing. It sends one packet per 10 ms from the end of the handshake on.
/// Each arrives after 50 ms and its transmission time, with a header of 16 bytes.
#[test]
fn cbr_over_dccp_is_as_computed() {
    let bytes = 536.0;
    for ccid in ["2", "3"] {
        let run = once(
            &scenario(&DCCP.replace("ccid = 2", &format!("ccid = {ccid}"))),
            1,
        );
        let flow = Subject::flow("cbr");
        // CCID 3 starts with a few packets per round trip (RFC 5348, 4.2). Until it is fast enough, packets wait in the
        // send queue of 256, which holds all of them.
        assert_eq!(value(&run, &flow, Metric::Refused), 0.0, "CCID {ccid}");
        let sent = value(&run, &flow, Metric::Sent);
        // 18.9 s of packets; the handshake takes a round trip of 100 ms.
        assert!((1_885.0..=1_890.0).contains(&sent), "CCID {ccid}: {sent}");
        assert_eq!(value(&run, &flow, Metric::Dropped), 0.0);
        let least = value(&run, &flow, Metric::DelayMin);
        let expected = 0.05 + bytes * 8.0 / 2e6;
        assert!((least - expected).abs() < 1e-9, "CCID {ccid}: {least}");
        let early = run.value(&flow, "first", Metric::Sent).expect("a window");
        assert!(
            (1.0..=11.0).contains(&early),
            "CCID {ccid}: {early} within 200 ms of the start"
        );
        let goodput = value(&run, &flow, Metric::Goodput);
        let throughput = value(&run, &flow, Metric::Throughput);
        let overhead = throughput / goodput - bytes / 500.0;
        // The handshake, and acknowledgements of acknowledgements.
        assert!((0.0..0.01).contains(&overhead), "CCID {ccid}: {overhead}");
        assert!(run.notes.is_empty(), "{:?}", run.notes);
    }
}

/// UDP encapsulation adds eight bytes to each packet.
#[test]
fn encapsulation_costs_eight_bytes() {
    let native = scenario(DCCP);
    let in_udp = scenario(&DCCP.replace("ccid = 2", "ccid = 2, encapsulation = \"udp\""));
    let flow = Subject::flow("cbr");
    let bytes = |scenario: &Scenario| {
        let run = once(scenario, 1);
        let delivered = value(&run, &flow, Metric::Delivered);
        value(&run, &flow, Metric::Throughput) * 20.0 / 8.0 / delivered
    };
    let more = bytes(&in_udp) - bytes(&native);
    // Per data packet; one packet in 60 is an acknowledgement of acknowledgements.
    assert!((8.0..8.2).contains(&more), "{more}");
}

/// Short sequence numbers save four bytes on Data, and eight on an Ack, which has two numbers (RFC 4340, 5.1).
///
/// The sender's Acks are acknowledgements of acknowledgements, one per window of data (RFC 4341, 6.2). With a final
/// window of about 32 packets these are 60 for 1,885 packets, which saves a quarter of a byte more per packet. Nothing
/// is saved until OPEN: the first window of three datagrams leaves on `DataAcks`. The two options that negotiate the
/// feature add up to eight bytes each to these, the Request and the first Ack.
#[test]
fn short_numbers_save_four_bytes() {
    let long = scenario(&DCCP.replace("[measure]", "[measure]\nseries = \"1 s\""));
    let short = scenario(&DCCP.replace("ccid = 2", "ccid = 2, short_seqnos = true"));
    let flow = Subject::flow("cbr");
    let [long, short] = [&long, &short].map(|scenario| once(scenario, 1));
    let delivered = value(&long, &flow, Metric::Delivered);
    assert_eq!(value(&short, &flow, Metric::Delivered), delivered);
    let bytes = |run: &RunResult| value(run, &flow, Metric::Throughput) * 20.0 / 8.0;
    let saved = bytes(&long) - bytes(&short);
    let cwnd = value(&long, &flow, Metric::CwndMax);
    // A report covers two packets, so a window may be larger by one. The windows of slow start, from 3 on, are eight at
    // most, and smaller. Data in flight at the end is not acknowledged.
    let (least_acks, most_acks) = (
        (delivered - 12.0) / (cwnd + 1.0) - 1.0,
        delivered / cwnd + 8.0,
    );
    let least = 4.0 * (delivered - 3.0) + 8.0 * least_acks - 5.0 * 8.0;
    let most = 4.0 * (delivered - 3.0) + 8.0 * most_acks;
    assert!(
        (least..=most).contains(&saved),
        "{least} to {most}: {saved}"
    );
    // The tolerance is less than a fiftieth of the expected saving.
    assert!(most - least < 160.0, "{least} to {most}");
}

/// The data of a flow changes its CCID one round trip after the scenario asks for it. A flow within the path's rate
/// loses nothing by the change.
#[test]
fn ccids_change_when_the_scenario_says() {
    let changes =
        "ccid = 2, ccid_changes = [{ at = \"8 s\", ccid = 3 }, { at = \"14 s\", ccid = 2 }]";
    let run = once(&scenario(&DCCP.replace("ccid = 2", changes)), 1);
    let flow = Subject::flow("cbr");
    assert_eq!(run.notes.len(), 2, "{:?}", run.notes);
    for (note, ccid, seconds) in [(&run.notes[0], 3, "8.1"), (&run.notes[1], 2, "14.1")] {
        let expected = format!("the data has CCID {ccid} from {seconds}");
        assert!(note.contains(&expected), "{note}");
    }
    assert_eq!(value(&run, &flow, Metric::Refused), 0.0);
    assert_eq!(value(&run, &flow, Metric::Dropped), 0.0);
    let sent = value(&run, &flow, Metric::Sent);
    assert!((1_885.0..=1_890.0).contains(&sent), "{sent}");
}

/// A source with a `total` delivers exactly that much and then stops. So does one that sends from right to left between
/// the same two hosts.
#[test]
fn finite_sources_end() {
    let flows = r#"
[flows.dccp]
payload = "500 B"
traffic = "greedy"
total = "100_250 B"
dccp = { ccid = 2 }
[flows.tcp]
from = "right"
wire = "540 B"
traffic = "greedy"
total = "100_250 B"
tcp = {}
[flows.udp]
payload = "500 B"
traffic = { kind = "cbr", every = "10 ms" }
total = "100_250 B"
udp = {}
"#;
    let run = once(&scenario(&format!("{DCCP}{flows}")), 1);
    for name in ["dccp", "tcp", "udp"] {
        let bytes = value(&run, &Subject::flow(name), Metric::Goodput) * 20.0 / 8.0;
        assert!((bytes - 100_250.0).abs() < 1e-6, "{name}: {bytes}");
    }
    let back = run.value(&Subject::link("one/back"), WHOLE, Metric::Throughput);
    assert!(
        back.expect("a link") > 40_000.0,
        "TCP's data goes from right to left"
    );
}

/// A greedy source stops at `stop`, and a connection attempt without an answer is noted.
#[test]
fn sources_stop() {
    let stopping = DCCP
        .replace(
            "traffic = { kind = \"cbr\", every = \"10 ms\" }",
            "traffic = \"greedy\"\nstop = \"5 s\"",
        )
        .replace(
            "windows.first = { to = \"1.2 s\" }",
            "windows.late = { from = \"8 s\" }",
        );
    let run = once(&scenario(&stopping), 1);
    let flow = Subject::flow("cbr");
    assert!(value(&run, &flow, Metric::Sent) > 500.0);
    assert_eq!(run.value(&flow, "late", Metric::Sent), Some(0.0));
    let nobody = DCCP.replace("delay = \"50 ms\"", "delay = \"50 ms\", loss = \"100 %\"");
    let run = once(&scenario(&nobody), 1);
    assert!(
        run.notes.iter().any(|note| note.contains("cbr")),
        "{:?}",
        run.notes
    );
}

/// A flow that delivers nothing has a note with the reason, even in a run too short for a connection to give up. Its
/// goodput is zero, so that it counts in means.
#[test]
fn a_silent_flow_is_noted() {
    let ran = |protocol: &str, loss: &str| {
        let text = DCCP
            .replace("delay = \"50 ms\"", &format!("delay = \"50 ms\", {loss}"))
            .replace("dccp = { ccid = 2 }", protocol)
            .replace("duration = \"20 s\"", "duration = \"2 s\"");
        once(&scenario(&text), 1)
    };
    let noted = |protocol: &str, loss: &str| ran(protocol, loss).notes;
    let (lost, lost_back) = ("loss = \"100 %\"", "back.loss = \"100 %\"");
    let never = "cbr: never connected: nothing answered in the run";
    for protocol in ["dccp = { ccid = 2 }", "tcp = {}"] {
        assert_eq!(noted(protocol, "mtu = \"1500 B\""), [""; 0], "{protocol}");
        for loss in [lost, lost_back] {
            let run = ran(protocol, loss);
            assert_eq!(run.notes, [never], "{protocol} {loss}");
            let goodput = value(&run, &Subject::flow("cbr"), Metric::Goodput);
            assert_eq!(goodput, 0.0, "{protocol} {loss}");
        }
    }
    let arrived = "cbr: no data packet arrived in the run";
    assert_eq!(noted("udp = {}", lost), [arrived]);
    assert_eq!(noted("udp = {}", lost_back), [""; 0]);
    assert_eq!(noted("tcp = { handshake = false }", lost), [arrived]);
}

/// RFC 8899: a link of the path drops packets above 1,400 bytes silently. Without probes no data arrives; with probes
/// each CCID finds the size and delivers data.
#[test]
fn a_black_hole_in_the_path() {
    let hole =
        "links.hole = { rate = \"2 Mbit/s\", delay = \"1 ms\", mtu = \"1400 B\" }\n[flows.cbr]";
    let text = DCCP
        .replace("500 B", "1416 B")
        .replace("10 ms", "20 ms")
        .replace("[flows.cbr]", hole);
    for ccid in ["2", "3"] {
        let with = |keys: &str| text.replace("ccid = 2", &format!("ccid = {ccid}{keys}"));
        let flow = Subject::flow("cbr");
        let blind = once(&scenario(&with("")), 1);
        assert_eq!(value(&blind, &flow, Metric::Delivered), 0.0, "CCID {ccid}");
        let probing = once(&scenario(&with(", probe_path_mtu = true")), 1);
        let received = value(&probing, &flow, Metric::Delivered);
        // Of 950 in 19 s; packets of the first three seconds and those queued meanwhile are lost.
        assert!(received > 400.0, "CCID {ccid}: {received}");
        let found = probing
            .notes
            .iter()
            .any(|note| note.ends_with("takes 1400 bytes"));
        assert!(found, "{:?}", probing.notes);
    }
}

const SLOW_READER: &str = r#"
title = "A receiver that cannot keep up"
[run]
duration = "60 s"
start_offset = "none"
[topology]
kind = "dumbbell"
access = { rate = "100 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = "200 packets" }
[flows.one]
wire = "1000 B"
traffic = "greedy"
dccp = { ccid = 2, receive = { limit = "20 packets", every = "10 ms" } }
[measure]
windows.steady = { from = "20 s" }
"#;

/// RFC 4340, 11.6 and 11.7: an application that reads 100 packets a second gets about that many under every CCID. No
/// packet is lost in the network, which would carry 1,250 a second. The excess that is sent is the cost of probing for
/// more.
#[test]
fn a_slow_reader_slows_the_sender() {
    for ccid in [2, 3, 4] {
        for policy in ["drop-newest", "drop-oldest"] {
            let text = SLOW_READER
                .replace("ccid = 2", &format!("ccid = {ccid}"))
                .replace("every", &format!("policy = \"{policy}\", every"));
            let run = once(&scenario(&text), 1);
            let flow = Subject::flow("one");
            let steady = |metric| {
                run.value(&flow, "steady", metric)
                    .unwrap_or_else(|| panic!("no {metric}"))
            };
            let name = format!("CCID {ccid}, {policy}");
            assert_eq!(value(&run, &flow, Metric::Dropped), 0.0, "{name}");
            // 100 times 964 bytes of payload a second; at times the queue runs empty.
            let goodput = steady(Metric::Goodput) / (100.0 * 964.0 * 8.0);
            assert!((0.97..=1.001).contains(&goodput), "{name}: {goodput}");
            let sent = steady(Metric::Sent);
            assert!((3_880.0..6_500.0).contains(&sent), "{name}: {sent}");
        }
    }
}

/// RFC 4340, 9: Data Checksums and partial coverage of simulated payloads are valid, and add the eight bytes of the
/// option.
#[test]
fn checksums_of_simulated_payloads_hold() {
    let text = SLOW_READER.replace(
        "receive = { limit = \"20 packets\", every = \"10 ms\" }",
        "data_checksum = true, checksum_coverage = 1, minimum_checksum_coverage = 1",
    );
    let run = once(&scenario(&text), 1);
    let flow = Subject::flow("one");
    // Bytes that the application got, in packets.
    let delivered = value(&run, &flow, Metric::Goodput) * 60.0 / (964.0 * 8.0);
    let sent = value(&run, &flow, Metric::Sent);
    let dropped = value(&run, &flow, Metric::Dropped);
    // All but the last round trip arrives.
    assert!(
        sent - dropped - delivered < 300.0,
        "{sent} {dropped} {delivered}"
    );
    let ratio = value(&run, &flow, Metric::Goodput) / value(&run, &flow, Metric::Throughput);
    // 964 bytes of payload in 1,008 bytes of wire size; acknowledgements are not counted.
    assert!((ratio - 964.0 / 1_008.0).abs() < 1e-3, "{ratio}");
}

/// At twice the link's rate with a queue that never drops, each packet waits 2 ms longer than the one before it. In
/// each second 250 packets arrive, so the mean delay grows by 0.5 s per second.
#[test]
fn jitter_by_packet_and_by_second() {
    let text = UDP.replace("\"4 packets\"", "\"5000 packets\"");
    let run = once(&scenario(&text), 1);
    let flow = Subject::flow("cbr");
    let by_packet = value(&run, &flow, Metric::JitterMean);
    assert!((by_packet - 0.002).abs() < 1e-6, "{by_packet}");
    let by_second = value(&run, &flow, Metric::JitterPeriods);
    // The first second has 7 packets fewer, so its mean is 14 ms lower: 2 ms in nine steps.
    assert!((by_second - 0.5).abs() < 0.002, "{by_second}");
}
