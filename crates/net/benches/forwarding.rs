//! A benchmark of raw forwarding: packet-hops per second on one core, with agents that do almost nothing.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairwire_net::{
    Agent, Digest, DropTail, FlowId, Handle, LinkSpec, Network, NodeId, Observer, Packet, Topology,
};
use fairwire_units::{Duration, Ecn, Instant, Rate};

/// An agent that sends `window` packets at the start and returns every packet that it receives.
struct Bouncer {
    me: NodeId,
    peer: NodeId,
    owed: u32,
    wire_len: u32,
}

impl Agent for Bouncer {
    type Store = ();

    fn handle_packet(&mut self, _now: Instant, _packet: Packet, (): &mut ()) {
        self.owed += 1;
    }

    fn poll_transmit(&mut self, _now: Instant, (): &mut ()) -> Option<Packet> {
        self.owed = self.owed.checked_sub(1)?;
        Some(Packet {
            source: self.me,
            destination: self.peer,
            flow: FlowId(self.me.0),
            wire_len: self.wire_len,
            ecn: Ecn::Ect0,
            handle: Handle(0),
        })
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant, (): &mut ()) {}
}

/// Builds a dumbbell whose bottleneck is always busy.
fn dumbbell<O: Observer<()>>(pairs: usize, observer: O) -> Network<Bouncer, O> {
    let mbits = |n: u64| Rate::from_bits_per_s(n * 1_000_000);
    let middle =
        || LinkSpec::new(mbits(20), Duration::from_millis(10)).queue(DropTail::packets(1_000));
    let mut topology = Topology::new();
    let shape = topology.dumbbell(pairs, (middle(), middle()), |_| {
        LinkSpec::new(mbits(100), Duration::from_millis(1))
    });
    let mut net = Network::new(topology, (), observer);
    for (left, right) in shape.left.iter().zip(&shape.right) {
        for (me, peer, owed, wire_len) in [(*left, *right, 100, 1_000), (*right, *left, 0, 40)] {
            net.place(
                me,
                Bouncer {
                    me,
                    peer,
                    owed,
                    wire_len,
                },
            );
        }
    }
    net.run_until(Instant::START + Duration::from_secs(1));
    net
}

fn measure<O: Observer<()>>(c: &mut Criterion, name: &str, mut net: Network<Bouncer, O>) {
    const STEP: Duration = Duration::from_secs(1);
    // The load is periodic: the number of hops per second is nearly constant.
    let before = net.packet_hops();
    net.run_until(net.now() + STEP);
    let hops = net.packet_hops() - before;
    let mut group = c.benchmark_group("forwarding");
    group.throughput(Throughput::Elements(hops));
    group.bench_function(name, |b| {
        b.iter(|| {
            net.run_until(net.now() + STEP);
            net.packet_hops()
        });
    });
    group.finish();
}

fn forwarding(c: &mut Criterion) {
    measure(c, "dumbbell of 2", dumbbell(2, ()));
    measure(c, "dumbbell of 2, digest", dumbbell(2, Digest::new()));
    measure(c, "dumbbell of 16", dumbbell(16, ()));
}

criterion_group!(benches, forwarding);
criterion_main!(benches);
