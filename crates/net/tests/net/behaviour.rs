//! What the network promises its agents and observers.

use crate::support::{Host, Ledger, at_ms, link, ms, packet, steady};
use fairwire_net::{
    Access, Agent, Bernoulli, Digest, DigestValue, DropReason, DropTail, FlowId, LinkId, LinkSpec,
    Network, NodeId, Observation, Observer, Packet, Place, Side, Streams, Topology, Towards,
    Verdict, nth,
};
use fairwire_units::{Duration, Ecn, Instant};

/// Returns two nodes and one link between them.
fn pair(spec: LinkSpec) -> (Topology, NodeId, NodeId, LinkId) {
    let mut topology = Topology::new();
    let (a, b) = (topology.node(), topology.node());
    let wire = topology.link(a, b, spec);
    (topology, a, b, wire)
}

fn received<O: Observer<Ledger>>(net: &Network<Host, O>, node: NodeId) -> &[(Instant, Packet)] {
    &net.agent(node).expect("placed").received
}

/// An observer that records everything in the order in which it is reported.
#[derive(Default)]
struct Log(Vec<(Instant, Place, &'static str, u32)>);

impl Log {
    fn note(&mut self, seen: &Observation<'_, Ledger>, what: &'static str) {
        let handle = seen.packet.handle.0;
        assert!(seen.store.alive.contains(&handle), "a handle is alive");
        self.0.push((seen.at, seen.place, what, handle));
    }

    fn times(&self, what: &str) -> Vec<(u64, u32)> {
        let of = self.0.iter().filter(|entry| entry.2 == what);
        of.map(|entry| (entry.0.as_nanos() / 1_000_000, entry.3))
            .collect()
    }
}

impl Observer<Ledger> for Log {
    fn entered(&mut self, seen: &Observation<'_, Ledger>) {
        self.note(seen, "entered");
    }

    fn departed(&mut self, seen: &Observation<'_, Ledger>) {
        self.note(seen, "departed");
    }

    fn delivered(&mut self, seen: &Observation<'_, Ledger>) {
        self.note(seen, "delivered");
    }

    fn dropped(&mut self, seen: &Observation<'_, Ledger>, reason: DropReason) {
        let what = match reason {
            DropReason::QueueFull => "full",
            DropReason::Lost => "lost",
            DropReason::Signal => "signal",
            DropReason::NoRoute => "no route",
            DropReason::NoAgent => "no agent",
            DropReason::Early => "early",
            DropReason::Head => "head",
            DropReason::Away => "away",
            DropReason::Busy => "busy",
        };
        self.note(seen, what);
    }
}

/// An observer sees each packet enter, depart and arrive, or be dropped, at the right times.
#[test]
fn an_observer_sees_what_happens() {
    let spec = link(1_000_000, ms(25)).queue(DropTail::packets(1));
    let (topology, a, b, wire) = pair(spec.loss(nth([2], Verdict::Drop)));
    let mut net = Network::new(topology, Ledger::default(), Log::default());
    net.place(b, Host::default());
    net.place(a, steady((a, b), 0, 3, 1_250, ms(0)));
    net.run_until(at_ms(1_000));
    let log = net.observer();
    assert_eq!(log.times("entered"), [(0, 0), (0, 1)]);
    assert_eq!(log.times("full"), [(0, 2)]);
    assert_eq!(log.times("departed"), [(10, 0), (20, 1)]);
    assert_eq!(log.times("delivered"), [(35, 0)]);
    assert_eq!(log.times("lost"), [(45, 1)]);
    assert!(log.0.iter().all(|entry| entry.1 == Place::Link(wire)));
    assert_eq!(net.store().released, [2, 1]);
    let stats = net.link_stats(wire);
    assert_eq!((stats.offered_packets, stats.queue_drops), (3, 1));
    assert_eq!((stats.wire_drops, stats.delivered_packets), (1, 1));
    assert_eq!((stats.delivered_bytes, stats.peak_waiting), (1_250, 1));
    assert_eq!(net.packet_hops(), 1);
}

/// When `run_until` returns, the observer knows of every departure before that time, and of none after it.
#[test]
fn departures_are_told_in_time() {
    let (topology, a, b, wire) = pair(link(1_000_000, ms(500)));
    let mut net = Network::new(topology, Ledger::default(), Log::default());
    net.place(a, steady((a, b), 0, 10, 1_250, ms(0)));
    net.run_until(at_ms(30));
    assert_eq!(net.observer().times("departed"), [(10, 0), (20, 1)]);
    assert_eq!(net.backlog(wire).packets, 7, "the third is on its way out");
    net.run_until(at_ms(31));
    assert_eq!(net.observer().times("departed").len(), 3);
    assert_eq!(net.backlog(wire).packets, 6);
    assert_eq!(net.backlog(wire).bytes, 7_500);
}

/// A packet that the network cannot deliver is dropped with a reason and released.
#[test]
fn what_cannot_arrive_is_released() {
    let (topology, a, b, _) = pair(link(1_000_000, ms(1)));
    let mut net = Network::new(topology, Ledger::default(), Log::default());
    let nowhere = NodeId(99);
    net.place(
        a,
        Host::new([
            (at_ms(1), packet(a, nowhere, 0, 100)),
            (at_ms(1), packet(a, a, 1, 100)),
            (at_ms(1), packet(a, b, 2, 125)),
        ]),
    );
    net.run_until(Instant::MAX);
    assert_eq!(net.observer().times("no route"), [(1, 0), (1, 1)]);
    assert_eq!(net.observer().times("no agent"), [(3, 2)]);
    assert_eq!(net.store().released, [0, 1, 2]);
    assert!(net.store().alive.is_empty());
}

/// A rule marks ECN-capable packets and drops the others, and can be added to an existing network.
#[test]
fn marks_follow_ecn() {
    let (topology, a, b, wire) = pair(link(1_000_000, ms(1)));
    let mut net = Network::new(topology, Ledger::default(), Log::default());
    net.add_loss(wire, nth([2, 3], Verdict::Mark));
    net.place(b, Host::default());
    let capable = |handle| Packet {
        ecn: Ecn::Ect0,
        ..packet(a, b, handle, 100)
    };
    let plan = [capable(0), capable(1), packet(a, b, 2, 100)];
    net.place(a, Host::new(plan.map(|packet| (Instant::START, packet))));
    net.run_until(Instant::MAX);
    let ecn: Vec<Ecn> = received(&net, b).iter().map(|(_, p)| p.ecn).collect();
    assert_eq!(ecn, [Ecn::Ect0, Ecn::Ce]);
    assert_eq!(net.observer().times("signal").len(), 1);
    assert_eq!(net.link_stats(wire).wire_marks, 1);
}

/// Packets that arrive simultaneously over different links come in the order in which they were sent.
///
/// The numbers of the links do not matter.
#[test]
fn ties_go_by_order_of_insertion() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut topology = Topology::new();
        let sink = topology.node();
        let sources = [0; 3].map(|_| topology.node());
        for source in sources {
            topology.link(source, sink, link(1_000_000, ms(1)));
        }
        let mut net = Network::new(topology, Ledger::default(), ());
        net.place(sink, Host::default());
        for which in order {
            let source = sources[which];
            let handle = u32::try_from(which).expect("below three");
            net.place(
                source,
                Host::new([(Instant::START, packet(source, sink, handle, 100))]),
            );
        }
        net.run_until(Instant::MAX);
        let came: Vec<u32> = received(&net, sink)
            .iter()
            .map(|(_, p)| p.handle.0)
            .collect();
        assert_eq!(
            came,
            order.map(|which| u32::try_from(which).expect("below three"))
        );
    }
}

/// Runs are half-open: an event at the end of one run belongs to the next.
#[test]
fn runs_are_half_open() {
    let (topology, a, b, _) = pair(link(1_000_000, ms(0)));
    let mut net = Network::new(topology, Ledger::default(), ());
    net.place(b, Host::default());
    net.place(a, Host::new([(Instant::START, packet(a, b, 0, 1_250))]));
    net.run_until(at_ms(10));
    assert_eq!((net.now(), net.next_event()), (at_ms(10), Some(at_ms(10))));
    assert!(received(&net, b).is_empty());
    net.run_until(Instant::from_nanos(10_000_001));
    assert_eq!(received(&net, b).len(), 1);
    assert_eq!(net.next_event(), None);
    net.run_until(Instant::MAX);
    assert_eq!(net.now(), Instant::from_nanos(10_000_001), "nothing left");
}

/// An agent whose timer moves is woken once, at the last time that it gave. It can also be changed from outside.
#[test]
fn timers_move_and_agents_can_be_touched() {
    let (topology, a, b, _) = pair(link(1_000_000, ms(1)));
    let mut net = Network::new(topology, Ledger::default(), ());
    net.place(b, Host::default());
    net.place(a, Host::new([(at_ms(50), packet(a, b, 0, 125))]));
    for at in [40, 30, 70, 20] {
        net.with_agent(a, |host, _, _| host.plan[0].0 = at_ms(at));
    }
    net.run_until(at_ms(10));
    let at = net.with_agent(a, |host, now, _| {
        host.plan.push_front((now, packet(a, b, 1, 125)));
        now
    });
    assert_eq!(at, Some(at_ms(10)));
    net.run_until(Instant::MAX);
    assert_eq!(net.agent(a).expect("placed").wakes, [at_ms(20)]);
    let came: Vec<Instant> = received(&net, b).iter().map(|(at, _)| *at).collect();
    assert_eq!(came, [at_ms(12), at_ms(22)]);
    assert_eq!(net.with_agent(NodeId(9), |_, _, _| ()), None);
}

/// A timeout in the past means now, and an agent that never stops asking for one ends the run with a panic.
#[test]
#[should_panic(expected = "the agent at node 0 keeps asking")]
fn an_agent_that_never_sleeps_is_named() {
    struct Sleepless;
    impl Agent for Sleepless {
        type Store = ();
        fn handle_packet(&mut self, _: Instant, _: Packet, (): &mut ()) {}
        fn poll_transmit(&mut self, _: Instant, (): &mut ()) -> Option<Packet> {
            None
        }
        fn next_timeout(&self) -> Option<Instant> {
            Some(Instant::START)
        }
        fn handle_timeout(&mut self, _: Instant, (): &mut ()) {}
    }
    let mut topology = Topology::new();
    let node = topology.node();
    let mut net = Network::new(topology, (), ());
    net.place(node, Sleepless);
    net.run_until(at_ms(1));
}

/// In a chain packets pass every node in both directions, on separate links.
#[test]
fn a_chain_leads_both_ways() {
    let mut topology = Topology::new();
    let there = [5, 6, 7].map(|delay| (link(1_000_000_000, ms(delay)), link(1_000_000_000, ms(1))));
    let chain = topology.chain(there);
    let (first, last) = (chain.nodes[0], chain.nodes[3]);
    let mut net = Network::new(topology, Ledger::default(), ());
    net.place(
        first,
        Host::new([(Instant::START, packet(first, last, 0, 125))]),
    );
    net.place(
        last,
        Host::new([(Instant::START, packet(last, first, 1, 125))]),
    );
    net.run_until(Instant::MAX);
    // Each hop takes 1 us of serialisation and its delay.
    let micros = |node| received(&net, node)[0].0.as_nanos() / 1_000;
    assert_eq!(micros(last), 18_003);
    assert_eq!(micros(first), 3_003);
    assert_eq!(net.packet_hops(), 6);
    for (link, ends) in chain.forward.iter().zip(chain.nodes.windows(2)) {
        assert_eq!(net.ends(*link), (ends[0], ends[1]));
        assert_eq!(net.link_stats(*link).delivered_packets, 1);
    }
}

/// In a dumbbell each host reaches its partner over the shared link, and a neighbour on its own side without it.
#[test]
fn a_dumbbell_shares_its_middle() {
    let mut topology = Topology::new();
    let mut asked = Vec::new();
    let middle = (link(1_000_000, ms(10)), link(1_000_000, ms(20)));
    let dumbbell = topology.dumbbell(3, middle, |access| {
        asked.push(access);
        link(1_000_000_000, ms(1))
    });
    assert_eq!(asked.len(), 12, "three pairs, two sides, two directions");
    assert!(asked.contains(&Access {
        pair: 2,
        side: Side::Right,
        towards: Towards::Host
    }));
    let mut net = Network::new(topology, Ledger::default(), ());
    let (left, right) = (dumbbell.left.clone(), dumbbell.right.clone());
    for host in left.iter().chain(&right) {
        net.place(*host, Host::default());
    }
    let now = Instant::START;
    net.with_agent(left[0], |host, _, _| {
        host.plan
            .push_back((now, packet(left[0], right[0], 0, 125)));
        host.plan.push_back((now, packet(left[0], left[1], 1, 125)));
    });
    net.with_agent(right[2], |host, _, _| {
        host.plan
            .push_back((now, packet(right[2], left[2], 2, 125)));
    });
    net.run_until(Instant::MAX);
    // 1 us on each access link, 1 ms on the shared one; the neighbour's packet is sent second.
    let micros = |node| received(&net, node)[0].0.as_nanos() / 1_000;
    assert_eq!(micros(right[0]), 13_002);
    assert_eq!(micros(left[1]), 2_003);
    assert_eq!(micros(left[2]), 23_002);
    assert_eq!(net.link_stats(dumbbell.forward).delivered_packets, 1);
    assert_eq!(net.link_stats(dumbbell.backward).delivered_packets, 1);
    assert_eq!(
        net.ends(dumbbell.forward),
        (dumbbell.routers[0], dumbbell.routers[1])
    );
}

/// Of two paths the one with fewer hops is used, however slow; of equal ones, the older.
#[test]
fn the_fewest_hops_win() {
    let mut topology = Topology::new();
    let [from, older, younger, near, far] = [0; 5].map(|_| topology.node());
    let mut fast = |a, b| topology.link(a, b, link(1_000_000, ms(1)));
    let detour = fast(from, older);
    fast(older, near);
    let twin = fast(from, younger);
    let late = fast(younger, far);
    let early = fast(older, far);
    let slow = topology.link(from, near, link(1_000, ms(900)));
    let mut net = Network::new(topology, Ledger::default(), ());
    let plan = [packet(from, near, 0, 10), packet(from, far, 1, 10)];
    net.place(from, Host::new(plan.map(|packet| (Instant::START, packet))));
    net.run_until(Instant::MAX);
    let used = [slow, detour, twin, late, early].map(|link| net.link_stats(link).offered_packets);
    assert_eq!(used, [1, 1, 0, 0, 1]);
}

/// Runs a bottleneck with random loss in steps of `step`. Returns the digest and the packets that arrived.
fn lossy(seed: u64, step: Duration, third: bool) -> (DigestValue, Vec<Vec<u32>>) {
    let streams = Streams::new(seed);
    let mut topology = Topology::new();
    let loss = |name: &str| Bernoulli::new(0.05, streams.stream(name));
    let mut sinks = Vec::new();
    let mut plans = Vec::new();
    for flow in 0..if third { 3 } else { 2 } {
        let (a, b) = (topology.node(), topology.node());
        let spec = link(1_000_000, ms(30)).queue(DropTail::packets(5));
        topology.link(a, b, spec.loss(loss(&format!("flow/{flow}/loss"))));
        let mut arrivals = streams.stream(&format!("flow/{flow}/arrivals"));
        let mut at = Instant::START;
        let plan: Vec<_> = (0..2_000)
            .map(|i| {
                at += arrivals.exponential(ms(11));
                let mut packet = packet(a, b, flow * 10_000 + i, 1_250);
                packet.flow = FlowId(flow);
                (at, packet)
            })
            .collect();
        plans.push((a, plan));
        sinks.push(b);
    }
    let mut net = Network::new(topology, Ledger::default(), Digest::new());
    for sink in &sinks {
        net.place(*sink, Host::default());
    }
    for (node, plan) in plans {
        net.place(node, Host::new(plan));
    }
    let mut at = Instant::START;
    while at < at_ms(20_000) {
        at = (at + step).min(at_ms(20_000));
        net.run_until(at);
    }
    let handles = |node: &NodeId| {
        let came = received(&net, *node).iter();
        came.map(|(_, packet)| packet.handle.0).collect()
    };
    (net.observer().value(), sinks.iter().map(handles).collect())
}

/// The same seed gives the same digest, in one run or in many short ones, in every build and on every machine.
///
/// Another seed gives another digest.
#[test]
fn same_seed_same_digest() {
    let whole = lossy(1, ms(20_000), false);
    assert_eq!(whole.0.to_string(), "f8cd49cd9bcae58b73076dd644347c73");
    // Not assert_eq, because the lists are long.
    assert!(whole == lossy(1, ms(20_000), false), "run again");
    assert!(whole == lossy(1, ms(7), false), "in steps");
    assert_ne!(whole.0, lossy(2, ms(20_000), false).0);
}

/// A third flow with its own streams changes neither what the others send nor what they lose.
#[test]
fn a_new_flow_moves_nobody_elses_losses() {
    let (_, two) = lossy(1, ms(20_000), false);
    let (_, three) = lossy(1, ms(20_000), true);
    assert!(two[..] == three[..2], "with a third flow");
    assert_ne!(two[0].len(), 2_000, "something was lost");
}

/// A link changes while it works. At 1 Mbit/s four packets of 1,250 bytes take 10 ms each; 15 ms after the start, when
/// half of the second has left, the rate becomes 500 kbit/s: its other half takes 10 ms, and each later one 20 ms.
/// Nothing overtakes although the delay falls from 25 to 5 ms, and the new queue has no room for the fourth.
#[test]
fn a_link_changes_while_it_works() {
    let (topology, a, b, wire) = pair(link(1_000_000, ms(25)));
    let mut net = Network::new(topology, Ledger::default(), Log::default());
    net.place(b, Host::default());
    net.place(a, steady((a, b), 0, 4, 1_250, ms(0)));
    net.run_through(at_ms(15));
    let slower = link(500_000, ms(5)).queue(DropTail::packets(1));
    net.reshape(wire, slower, false);
    net.run_until(at_ms(1_000));
    let arrived: Vec<_> = received(&net, b)
        .iter()
        .map(|(at, packet)| (at.as_nanos() / 1_000_000, packet.handle.0))
        .collect();
    assert_eq!(arrived, [(35, 0), (35, 1), (50, 2)]);
    assert_eq!(net.observer().times("full"), [(15, 3)]);
    assert_eq!(net.store().alive.len(), 0);
}

/// A packet that would never leave, because the rate is zero, leaves when there is a rate again.
#[test]
fn a_stopped_link_goes_on() {
    let (topology, a, b, wire) = pair(link(0, ms(5)));
    let mut net = Network::new(topology, Ledger::default(), ());
    net.place(b, Host::default());
    net.place(a, steady((a, b), 0, 2, 1_250, ms(0)));
    net.run_through(at_ms(100));
    assert_eq!(received(&net, b).len(), 0);
    net.reshape(wire, link(1_000_000, ms(5)), true);
    net.run_until(at_ms(1_000));
    let host = net.agent(b).expect("placed");
    assert_eq!(host.arrivals(), [(0, 115_000_000), (1, 125_000_000)]);
}
