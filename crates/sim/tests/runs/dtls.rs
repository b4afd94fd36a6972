//! Flows with DTLS: what it costs, and that a seed gives the same bytes.

use fairwire_scenario::{Metric, Scenario};
use fairwire_sim::results::{RunResult, Subject};
use fairwire_units::Duration;

use super::capture::{captured, packets};
use super::{once, only, ours};

/// The link's round-trip time without the time that packets take to leave.
const ROUND_TRIP: Duration = Duration::from_millis(100);
/// The bytes of a datagram of the application, and what a record adds.
const DATA: usize = 200;
const RECORD: usize = 22;

const TEXT: &str = r#"
title = "DTLS"
run = { duration = "20 s", start_offset = "none" }
topology = { kind = "chain", links.wire = { rate = "10 Mbit/s", delay = "50 ms" } }
[flows.f]
payload = "200 B"
total = "20 kB"
traffic = { kind = "cbr", every = "20 ms" }
dccp = { ccid = 2, security = "dtls" }
"#;

fn scenario(set: &[&str]) -> Scenario {
    super::scenario(TEXT, set)
}

/// Returns what the DCCP packets of a capture carry after their headers, where they carry something.
fn carried(capture: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = Vec::new();
    for (_, dccp) in packets(capture) {
        let head = usize::from(dccp[4]) * 4;
        found.push(&dccp[head..]);
    }
    found.retain(|data| !data.is_empty());
    found
}

/// Returns how long the handshake took, as the notes say.
fn handshake(result: &RunResult) -> Duration {
    let after = |note: &String| {
        let (_, took) = note.split_once("the DTLS handshake took ")?;
        took.parse().ok()
    };
    let found = result.notes.iter().find_map(after);
    found.unwrap_or_else(|| panic!("no handshake: {:?}", result.notes))
}

fn value(result: &RunResult, metric: Metric) -> f64 {
    let value = result.value(&Subject::flow("f"), "whole", metric);
    value.unwrap_or_else(|| panic!("no {metric}"))
}

/// All data leave as records that are 22 bytes longer, after a handshake of one round trip, and none in clear text.
#[test]
fn data_leave_in_records_after_a_handshake() {
    let plain = scenario(&["flows.f.dccp.security=none"]);
    let (_, capture) = captured(&plain, 1);
    let clear = carried(&capture);
    assert_eq!(
        clear,
        vec![&[0; DATA][..]; 100],
        "twenty kilobytes of zeros"
    );

    let (result, capture) = captured(&scenario(&[]), 1);
    let packets = carried(&capture);
    let (records, own): (Vec<&[u8]>, Vec<&[u8]>) = packets
        .iter()
        .copied()
        .partition(|data| data.len() == DATA + RECORD && data[0] >> 5 == 0b001);
    assert_eq!(records.len(), 100);
    // A hello, the server's flight, the client's last message, and its acknowledgement.
    assert_eq!(own.len(), 4);
    // A signature has at most two bytes less than its longest form.
    let bytes: usize = own.iter().map(|data| data.len()).sum();
    assert!((1_320..=1_350).contains(&bytes), "{bytes} bytes");
    assert_eq!(
        packets[0][0], 22,
        "a hello is a handshake message in the clear"
    );
    // Hellos are padded, in the clear.
    let is_clear =
        |data: &&&[u8]| data[0] != 22 && data.windows(DATA).any(|part| part == [0; DATA]);
    assert_eq!(packets.iter().filter(is_clear).count(), 0);
    let took = handshake(&result);
    assert!((ROUND_TRIP..ROUND_TRIP * 2).contains(&took), "{took}");
    assert_eq!(value(&result, Metric::Loss), 0.0);
}

/// `wire` is the size of the packet with the record, so congestion control and queues see the same packets.
#[test]
fn congestion_control_does_the_same() {
    for ccid in [2, 3] {
        let [plain, dtls] = ["none", "dtls"].map(|security| {
            let cell = only(&format!("ccid{ccid}-clean-{security}"));
            let result = once(&ours("dtls.toml", &cell)[0].scenario, 1);
            [Metric::Throughput, Metric::Goodput].map(|metric| {
                let value = result.value(&Subject::flow("dccp"), "steady", metric);
                value.expect("a value")
            })
        });
        // The link is full. A window's edge may cut a packet off at each end: 2 of 6,250.
        let is_near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.000_4;
        assert!(is_near(plain[0], dtls[0]), "{plain:?} {dtls:?}");
        let share = dtls[1] / dtls[0] / (plain[1] / plain[0]);
        assert!(is_near(share, (964.0 - 22.0) / 964.0), "{share}");
    }
}

/// The same seed gives the same packets, byte by byte, and another seed gives others.
#[test]
fn the_seed_gives_all_bytes() {
    let lossy = scenario(&["topology.links.wire.loss=20 %"]);
    let [first, again, other] = [3, 3, 4].map(|seed| captured(&lossy, seed));
    assert_eq!(first.0.digest, again.0.digest);
    assert!(first.1 == again.1, "the captures differ");
    assert_ne!(first.0.digest, other.0.digest);
    let hello = |capture: &[u8]| carried(capture)[0].to_vec();
    assert_ne!(hello(&first.1), hello(&other.1));
}

/// A message of the handshake that is lost is sent again, whichever it is, and data follow.
#[test]
fn lost_messages_of_the_handshake_are_sent_again() {
    let quick = handshake(&captured(&scenario(&[]), 1).0);
    let times = (3..=9).map(|n| {
        let loss = format!("topology.links.wire.loss={{ kind = \"every\", n = {n} }}");
        let (result, _) = captured(&scenario(&[&loss]), 1);
        assert!(value(&result, Metric::Goodput) > 0.0, "one of {n} lost");
        handshake(&result)
    });
    let times: Vec<Duration> = times.collect();
    assert!(times.iter().all(|took| *took >= quick), "{times:?}");
    assert!(times.iter().any(|took| *took > quick), "{times:?}");
}

/// Each short flow has a session of its own, with its own keys, and ends with an alert of each side.
#[test]
fn short_flows_announce_their_end() {
    let short = scenario(&[
        "flows.f.total.remove=true",
        "flows.f.traffic={ kind = \"short-flows\", every = \"500 ms\", sizes = \"1 kB\" }",
        "run.duration=5 s",
    ]);
    let (result, capture) = captured(&short, 1);
    let completed = value(&result, Metric::FlowsCompleted);
    assert!(completed >= 3.0, "{completed} flows");
    let packets = carried(&capture);
    let alerts = packets.iter().filter(|data| data.len() == 2 + RECORD);
    assert!(alerts.count() as f64 >= completed);
    let mut hellos: Vec<_> = packets.iter().filter(|data| data[0] == 22).collect();
    let sent = hellos.len();
    hellos.sort_unstable();
    hellos.dedup();
    assert_eq!(hellos.len(), sent, "two sessions say the same");
}
