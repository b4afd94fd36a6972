//! The departure times of packets from a host with jitter.

use fairwire_net::{FlowId, Handle, NodeId, Packet, Streams};
use fairwire_units::{Duration, Ecn, Instant};

use super::Jittered;
use crate::results::{Metric, Subject, WHOLE};
use crate::{RunOptions, run};
use fairwire_scenario::transport::Peer;
use fairwire_scenario::transport::ends::Ends;
use fairwire_scenario::transport::store::Store;
use fairwire_scenario::{Adjust, ScenarioFile};

/// A peer that sends a packet at each multiple of `every`. The size of each packet is its number.
#[derive(Debug)]
struct Clockwork {
    every: Duration,
    sent: u32,
}

impl Clockwork {
    fn at(&self) -> Instant {
        Instant::START + self.every * u64::from(self.sent)
    }
}

impl Peer for Clockwork {
    fn ends(&self) -> Ends {
        Ends::pair(0, NodeId(0), NodeId(1)).0
    }

    fn handle_packet(&mut self, _now: Instant, _packet: Packet, _store: &mut Store) {}

    fn poll_transmit(&mut self, now: Instant, _store: &mut Store) -> Option<Packet> {
        (self.at() <= now).then(|| {
            self.sent += 1;
            self.ends().packet(self.sent, Ecn::NotEct, Handle(0))
        })
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.at())
    }

    fn handle_timeout(&mut self, _now: Instant, _store: &mut Store) {}
}

/// Returns how long each of `count` packets was held, ms, and its number, in the order of departure.
fn held(every: Duration, most: Duration, count: usize) -> Vec<(f64, u32)> {
    let clockwork = Clockwork { every, sent: 0 };
    let stream = Streams::new(1).stream("jitter/flow");
    let mut host = Jittered::new(Box::new(clockwork), most, stream);
    let mut store = Store::default();
    let mut left = Vec::new();
    while left.len() < count {
        let now = host.next_timeout().expect("more to come");
        host.handle_timeout(now, &mut store);
        while let Some(packet) = host.poll_transmit(now, &mut store) {
            assert_eq!(packet.flow, FlowId(0));
            let sent = Instant::START + every * u64::from(packet.wire_len - 1);
            let waited = now.saturating_since(sent).as_secs_f64() * 1e3;
            left.push((waited, packet.wire_len));
        }
    }
    left
}

/// Packets that are far apart are delayed uniformly from zero to the stated time.
#[test]
fn each_packet_waits_a_time_of_its_own() {
    let left = held(Duration::from_millis(20), Duration::from_millis(10), 10_000);
    assert!(left.iter().all(|(waited, _)| (0.0..10.0).contains(waited)));
    let mean = left.iter().map(|(waited, _)| waited).sum::<f64>() / 10_000.0;
    // Uniform over 10 ms: the standard deviation is 2.887 ms, and that of the mean a hundredth of it. The bound is four
    // times that.
    assert!((mean - 5.0).abs() < 0.12, "{mean}");
    let early = left.iter().filter(|(waited, _)| *waited < 2.5).count();
    // A quarter of 10,000; the bound is four standard deviations of 43.
    assert!((2_327..2_673).contains(&early), "{early}");
}

/// No packet overtakes another, however close they are, and none is held longer than the stated time.
#[test]
fn packets_keep_their_order() {
    let left = held(Duration::from_millis(1), Duration::from_millis(10), 5_000);
    let numbers: Vec<u32> = left.iter().map(|(_, number)| *number).collect();
    assert!(numbers.is_sorted(), "out of order");
    assert!(left.iter().all(|(waited, _)| *waited < 10.0));
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
    let adjust = Adjust {
        set: set
            .iter()
            .map(|set| (*set).to_owned())
            .chain([jitter])
            .collect(),
        axes: ["tcps=2", "law=newreno", "queue=1 bdp"]
            .map(str::to_owned)
            .to_vec(),
        ..Adjust::default()
    };
    let cells = ScenarioFile::dumbbell().and_then(|file| file.cells(&adjust));
    let cells = cells.unwrap_or_else(|error| panic!("{error}"));
    let mut goodputs = [0.0; 2];
    for seed in 1..=3 {
        let run = run(&cells[0].scenario, (seed, true), RunOptions::default());
        let run = run.unwrap_or_else(|error| panic!("{error}"));
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
