//! The network compared with queueing theory and with calculations by hand.

use crate::support::{Host, Ledger, at_ms, link, ms, packet, steady};
use fairwire_net::{Bernoulli, DropTail, Network, Streams, Topology};
use fairwire_units::{Duration, Instant};

/// Runs `host` over a chain of links and returns the receiver.
fn over(
    links: Vec<fairwire_net::LinkSpec>,
    host: impl FnOnce((fairwire_net::NodeId, fairwire_net::NodeId)) -> Host,
) -> Host {
    let mut topology = Topology::new();
    let chain = topology.chain(links.into_iter().map(|spec| (spec, link(1, ms(0)))));
    let (first, last) = (chain.nodes[0], chain.nodes[chain.nodes.len() - 1]);
    let mut net = Network::new(topology, Ledger::default(), ());
    net.place(last, Host::default());
    net.place(first, host((first, last)));
    net.run_until(Instant::MAX);
    let (mut agents, ..) = net.into_parts();
    agents[last.0 as usize].take().expect("placed above")
}

/// One packet takes the serialisation time and the delay of each link: 1.026 + 5 + 8 + 7 ms.
///
/// It has 1000 bytes and crosses 8 Mbit/s and 5 ms with 26 bytes of framing, then 1 Mbit/s and 7 ms without framing.
#[test]
fn one_packet_takes_serialisation_and_delay() {
    let links = vec![link(8_000_000, ms(5)).framing(26), link(1_000_000, ms(7))];
    let host = over(links, |ends| steady(ends, 0, 1, 1_000, ms(0)));
    assert_eq!(host.arrivals(), [(0, 21_026_000)]);
    assert_eq!(host.received[0].1.wire_len, 1_000, "framing stays outside");
}

/// At 3 bit/s the departures of one-byte packets are exactly 8/3 s apart in the long run.
///
/// The n-th of a thousand packets arrives at ceil(n * 8e9 / 3) ns. The same holds over three such links, of which only
/// the first one queues.
#[test]
fn odd_rates_are_exact() {
    let single = over(vec![link(3, ms(0))], |ends| {
        steady(ends, 0, 1_000, 1, ms(0))
    });
    for (n, (_, at)) in (1u64..).zip(single.arrivals()) {
        assert_eq!(at, (n * 8_000_000_000).div_ceil(3), "packet {n}");
    }
    let chain = over(
        vec![link(3, ms(0)), link(3, ms(0)), link(3, ms(0))],
        |ends| steady(ends, 0, 1_000, 1, ms(0)),
    );
    let (_, last) = chain.arrivals()[999];
    // Two more serialisations, each rounded up to a nanosecond.
    let exact = (1_002u64 * 8_000_000_000).div_ceil(3);
    assert!(last.abs_diff(exact) <= 2, "{last} instead of {exact}");
}

/// D/D/1: if arrivals are slower than service no packet waits.
///
/// With an arrival every 8 ms and a service time of 10 ms, the n-th packet waits 2n ms.
#[test]
fn deterministic_queue() {
    for (gap, wait) in [(12, 0), (10, 0), (8, 2)] {
        // 1250 bytes at 1 Mbit/s take 10 ms.
        let host = over(vec![link(1_000_000, ms(3))], |ends| {
            steady(ends, 0, 500, 1_250, ms(gap))
        });
        for (n, (handle, at)) in (0u64..).zip(host.arrivals()) {
            assert_eq!(u64::from(handle), n);
            let expected = at_ms(n * gap + n * wait + 10 + 3);
            assert_eq!(at, expected.as_nanos(), "packet {n}, gap {gap} ms");
        }
    }
}

/// M/D/1: the mean wait is `rho D / (2 (1 - rho))` (Pollaczek and Khinchine).
#[test]
fn poisson_arrivals_wait_as_pollaczek_and_khinchine_say() {
    // 1250 bytes at 10 Mbit/s take 1 ms.
    let service = ms(1);
    // The tolerances are four standard errors of the mean of n dependent waits. An independent program for Lindley's
    // recursion measured them over eight seeds: 0.66, 0.60 and 0.48 %.
    for (load, n, tolerance) in [
        (0.3, 400_000u32, 0.026),
        (0.5, 400_000, 0.024),
        (0.8, 1_000_000, 0.019),
    ] {
        let mut arrivals = Streams::new(1).stream("arrivals");
        let mut at = Instant::START;
        let sent: Vec<Instant> = (0..n)
            .map(|_| {
                at += arrivals.exponential(service.mul_f64(1.0 / load));
                at
            })
            .collect();
        let host = over(vec![link(10_000_000, ms(0))], |(from, to)| {
            let packets = (0..).zip(&sent);
            Host::new(packets.map(|(i, at)| (*at, packet(from, to, i, 1_250))))
        });
        assert_eq!(host.received.len(), sent.len());
        let waits = host.received.iter().map(|(at, packet)| {
            let sojourn = *at - sent[packet.handle.0 as usize];
            (sojourn - service).as_secs_f64()
        });
        let mean = waits.sum::<f64>() / f64::from(n);
        let theory = load * service.as_secs_f64() / (2.0 * (1.0 - load));
        let off = (mean / theory - 1.0).abs();
        assert!(off < tolerance, "load {load}: {mean} for {theory}");
    }
}

/// Of a burst to an idle link, the first packet starts at once, as many as the limit wait, and the rest is dropped.
///
/// If the packet in transmission counts, the limit is the total.
#[test]
fn drop_tail_holds_its_limit() {
    for (queue, kept) in [
        (DropTail::packets(20), 21),
        (DropTail::packets(20).counting_transmission(), 20),
        (DropTail::packets(0), 1),
    ] {
        let host = over(vec![link(1_000_000, ms(1)).queue(queue)], |ends| {
            steady(ends, 0, 30, 1_250, ms(0))
        });
        let handles: Vec<u32> = host.arrivals().iter().map(|(handle, _)| *handle).collect();
        assert_eq!(handles, (0..kept).collect::<Vec<_>>());
    }
}

/// A packet that arrives in the same nanosecond in which another's last bit leaves finds its place free.
///
/// One nanosecond earlier it does not.
#[test]
fn room_at_the_moment_of_departure() {
    for (second, arrives) in [(9_999_999, false), (10_000_000, true)] {
        let spec = link(1_000_000, ms(0)).queue(DropTail::packets(1).counting_transmission());
        let host = over(vec![spec], |(from, to)| {
            Host::new([
                (Instant::START, packet(from, to, 0, 1_250)),
                (Instant::from_nanos(second), packet(from, to, 1, 1_250)),
            ])
        });
        assert_eq!(host.received.len() == 2, arrives, "at {second} ns");
    }
}

/// Lost packets use the link like any other: the others arrive at the same times as without loss.
///
/// With a loss rate of 10 %, the number of losses is binomially distributed.
#[test]
fn losses_are_binomial_and_use_the_link() {
    let n = 20_000;
    for seed in 1..4 {
        let loss = Bernoulli::new(0.1, Streams::new(seed).stream("bottleneck/loss"));
        let host = over(vec![link(1_000_000, ms(3)).loss(loss)], |ends| {
            steady(ends, 0, n, 1_250, ms(8))
        });
        // Four standard deviations: 4 * sqrt(20000 * 0.1 * 0.9) = 170.
        let lost = n as usize - host.received.len();
        assert!(lost.abs_diff(2_000) < 170, "seed {seed}: {lost}");
        for (handle, at) in host.arrivals() {
            let expected = ms(10) * u64::from(handle + 1) + ms(3);
            assert_eq!(Duration::from_nanos(at), expected, "seed {seed}");
        }
    }
}
