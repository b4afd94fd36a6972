//! The departure times of packets from a host with jitter.

use fairwire_scenario::{Adjust, ScenarioFile};
use fairwire_sim::results::{Metric, Subject, WHOLE};

use super::capture::{captured, packets};
use super::{once, scenario, with_set};

/// A flow whose host holds each packet for at most 10 ms. Then a packet of 100 bytes is [`PATH_MS`] on its way.
const TEXT: &str = r#"
title = "jitter"
run = { duration = "200 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "1 Gbit/s", delay = "1 ms" }
flows.one = { wire = "100 B", traffic = { kind = "cbr", every = "20 ms" }, jitter = "10 ms", udp = {} }
"#;

const PATH_MS: f64 = 1.000_8;

/// Returns how long each packet was held, ms. The packets are offered at multiples of `every`, and leave in this order.
fn held(every: u32, set: &[&str]) -> Vec<f64> {
    let (_, capture) = captured(&scenario(TEXT, set), 1);
    let times = packets(&capture).map(|(at, _)| at as f64 / 1e6);
    let offers = (0..).map(|number| f64::from(number * every));
    let pairs = times.zip(offers);
    pairs.map(|(at, offered)| at - offered - PATH_MS).collect()
}

/// Packets that are far apart are delayed uniformly from zero to the stated time.
#[test]
fn each_packet_waits_a_time_of_its_own() {
    let held = held(20, &[]);
    assert!((9_999..=10_000).contains(&held.len()), "{}", held.len());
    assert!(held.iter().all(|waited| (-1e-6..10.0).contains(waited)));
    let mean = held.iter().sum::<f64>() / held.len() as f64;
    // Uniform over 10 ms: the standard deviation is 2.887 ms, and that of the mean a hundredth of it. The bound is four
    // times that.
    assert!((mean - 5.0).abs() < 0.12, "{mean}");
    let early = held.iter().filter(|waited| **waited < 2.5).count();
    // A quarter of 10,000; the bound is four standard deviations of 43.
    assert!((2_327..2_673).contains(&early), "{early}");
}

/// No packet overtakes another, however close they are, and none is held longer than the stated time.
#[test]
fn packets_keep_their_order() {
    let often = ["flows.one.traffic.every=1 ms", "run.duration=5 s"];
    let held = held(1, &often);
    assert!(held.len() > 4_980, "{}", held.len());
    // Packets that leave at one moment follow each other on the link, 0.8 us for each.
    assert!(held.iter().all(|waited| (-1e-6..10.01).contains(waited)));
    let dccp = "flows.one.dccp={ ccid = 2 }";
    let (_, capture) = captured(&scenario(TEXT, &[&often[..], &[dccp]].concat()), 1);
    // Type 2 is Data, which only the sender sends.
    let data = packets(&capture).filter(|(_, dccp)| dccp[8] >> 1 & 15 == 2);
    let numbers: Vec<[u8; 6]> = data
        .map(|(_, dccp)| dccp[10..16].try_into().expect("48 bits"))
        .collect();
    assert!(numbers.len() > 1_000, "{}", numbers.len());
    assert!(numbers.is_sorted(), "out of order");
}

/// Returns the ratio of the goodputs of two NewReno flows, the larger over the smaller, summed over three seeds. Their
/// queue holds one bandwidth-delay product, and their round-trip times are 44 and 44.4 ms.
fn advantage(jitter: &str) -> f64 {
    let set = [
        "flows.dccp.enabled=false",
        "flows.tcp{n}.tcp.preset=",
        "flows.tcp2.extra_delay=0.2 ms",
        "run.start_offset=none",
        "run.duration=100 s",
    ];
    let jitter = format!("flows.tcp{{n}}.jitter={jitter}");
    let axes = ["tcps=2", "law=newreno", "queue=1 bdp"];
    let adjust = Adjust {
        axes: axes.map(str::to_owned).to_vec(),
        ..with_set(&[&set[..], &[&jitter]].concat())
    };
    let cells = ScenarioFile::dumbbell().and_then(|file| file.cells(&adjust));
    let cells = cells.unwrap_or_else(|error| panic!("{error}"));
    let mut goodputs = [0.0; 2];
    for seed in 1..=3 {
        let run = once(&cells[0].scenario, seed);
        for (sum, flow) in goodputs.iter_mut().zip(["tcp1", "tcp2"]) {
            *sum += run
                .value(&Subject::flow(flow), WHOLE, Metric::Goodput)
                .expect("measured");
        }
    }
    goodputs[0].max(goodputs[1]) / goodputs[0].min(goodputs[1])
}

/// Without jitter, the place of each flow in the queue's cycle decides for minutes which flow loses packets. One flow
/// gets several times as much, although the round-trip times differ by one per cent. Jitter of five packet times
/// removes the advantage: over six seeds of 200 s the ratio is 1.14 with a standard error of 0.03. The bound allows for
/// three seeds of 100 s.
#[test]
fn jitter_ends_phase_effects() {
    let (without, with) = (advantage("0 s"), advantage("6 ms"));
    assert!(without > 4.0, "{without}");
    assert!(with < 1.4, "{with}");
}
