//! In the steady state neither a packet nor a timer that moves costs an allocation.

use fairwire_held::thread::without_allocation;
use fairwire_net::{
    Agent, Bernoulli, Dcf, Digest, DropTail, FlowId, Handle, HostSpec, LinkSpec, Network, NodeId,
    Packet, PhyRate, RadioSpec, RateControl, Release, StationSpec, Streams, Topology,
};
use fairwire_units::{Duration, Ecn, Instant, Packets, Rate};

/// A store that only counts the live packets.
struct Count(i64);

impl Release for Count {
    fn release(&mut self, _handle: Handle) {
        self.0 -= 1;
    }
}

/// An agent that sends a burst at each timeout, and moves its timer with each packet that it receives.
struct Busy {
    me: NodeId,
    peer: NodeId,
    next: Instant,
    owed: u32,
}

impl Agent for Busy {
    type Store = Count;

    fn handle_packet(&mut self, _now: Instant, _packet: Packet, store: &mut Count) {
        store.0 -= 1;
        self.next += Duration::from_nanos(1);
    }

    fn poll_transmit(&mut self, _now: Instant, store: &mut Count) -> Option<Packet> {
        self.owed = self.owed.checked_sub(1)?;
        store.0 += 1;
        Some(Packet {
            source: self.me,
            destination: self.peer,
            flow: FlowId(self.me.0),
            wire_len: 1_000,
            ecn: Ecn::Ect0,
            handle: Handle(0),
        })
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn handle_timeout(&mut self, now: Instant, _store: &mut Count) {
        self.owed = 12;
        self.next = now + Duration::from_millis(10);
    }
}

/// The steady state allocates nothing, neither over wires nor over a shared medium.
#[test]
fn the_steady_state_allocates_nothing() {
    over_wires();
    over_the_air();
}

/// Checks that a lossy bottleneck with a digest allocates nothing in ten seconds after one of warm-up.
///
/// It also checks that no handle leaks.
fn over_wires() {
    let streams = Streams::new(1);
    let middle = |name: &str| {
        LinkSpec::new(Rate::from_bits_per_s(15_000_000), Duration::from_millis(50))
            .queue(DropTail::packets(20))
            .loss(Bernoulli::new(0.01, streams.stream(name)))
    };
    let access = |_| LinkSpec::new(Rate::from_bits_per_s(100_000_000), Duration::from_millis(1));
    let mut topology = Topology::new();
    let dumbbell = topology.dumbbell(2, (middle("forward"), middle("backward")), access);
    let mut net = Network::new(topology, Count(0), Digest::new());
    for (left, right) in dumbbell.left.iter().zip(&dumbbell.right) {
        for (me, peer) in [(*left, *right), (*right, *left)] {
            let next = Instant::START;
            net.place(
                me,
                Busy {
                    me,
                    peer,
                    next,
                    owed: 0,
                },
            );
        }
    }
    net.run_until(Instant::START + Duration::from_secs(1));
    let hops = net.packet_hops();
    without_allocation("a network in its steady state", || {
        net.run_until(Instant::START + Duration::from_secs(11));
    });
    assert!(net.packet_hops() - hops > 90_000, "{}", net.packet_hops());
    assert!(net.link_stats(dumbbell.forward).queue_drops > 1_000);
    assert!(net.link_stats(dumbbell.forward).wire_drops > 100);
    // 50 ms of 15 Mbit/s in each direction are 94 packets; the queues and access links hold less.
    assert!((0..400).contains(&net.store().0), "{} alive", net.store().0);
}

/// Checks the same for four stations with weak signals and slow hosts.
///
/// They send more than the medium carries, through their access point and to each other, with collisions, fallback and
/// full queues. There is no digest, because some of its parts see so few packets that their buffers are still growing.
fn over_the_air() {
    let streams = Streams::new(2);
    let mut topology = Topology::new();
    let radio = |name: &str| {
        RadioSpec::new(streams.stream(&format!("wlan/{name}/backoff"))).queue(DropTail::packets(20))
    };
    let ap = topology.node();
    let medium = topology.medium(Dcf::G);
    topology.access_point(ap, medium, radio("ap"));
    let stations: Vec<NodeId> = (0..4).map(|_| topology.node()).collect();
    for (number, station) in stations.iter().enumerate() {
        let name = format!("sta{number}");
        let noise = |way: &str| streams.stream(&format!("wlan/{name}/errors/{way}"));
        let spec = StationSpec::new(radio(&name))
            .rate(RateControl::Fallback(PhyRate::M54))
            .signal(2.0, noise("up"), noise("down"));
        topology.station(*station, &[ap], spec);
        let slow = HostSpec {
            per_packet: Duration::from_micros(900),
            per_kilobyte: Duration::ZERO,
            backlog: Packets(10),
        };
        topology.host(*station, slow);
    }
    let mut net = Network::new(topology, Count(0), ());
    for (number, me) in stations.iter().enumerate() {
        let busy = Busy {
            me: *me,
            peer: stations[(number + 1) % stations.len()],
            next: Instant::START,
            owed: 0,
        };
        net.place(*me, busy);
    }
    net.run_until(Instant::START + Duration::from_secs(1));
    let hops = net.packet_hops();
    without_allocation("a network in its steady state", || {
        net.run_until(Instant::START + Duration::from_secs(11));
    });
    assert!(net.packet_hops() - hops > 3_000, "{}", net.packet_hops());
    let stats = net.radio_stats(stations[0]).expect("it has a radio");
    assert!(stats.collisions > 100 && stats.garbled > 10, "{stats:?}");
    // Five queues of 20, four hosts of 10, and the packets in service.
    assert!((0..160).contains(&net.store().0), "{} alive", net.store().0);
}
