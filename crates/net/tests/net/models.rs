//! Loss, delay and queue models on a link, compared with their formulas.

use fairwire_net::{
    BitErrors, Codel, CodelConfig, DelayVariation, Distribution, GilbertElliott,
    GilbertElliottConfig, LinkSpec, Loss, Network, Observation, Observer, Red, RedConfig, Stream,
    Streams, Topology, Verdict,
};
use fairwire_units::{Duration, Instant, Packets, Rate, Size};

use crate::support::{Host, Ledger, at_ms, link, ms, packet, steady};

fn stream(name: &str) -> Stream {
    Streams::new(1).stream(name)
}

/// Runs `count` packets of 1250 bytes, one every `gap`, over `spec`.
///
/// Returns the receiver, and the mean number of waiting packets, sampled when every fifth packet is due.
fn over(spec: LinkSpec, count: u32, gap: Duration) -> (Host, f64) {
    let mut topology = Topology::new();
    let (a, b) = (topology.node(), topology.node());
    let wire = topology.link(a, b, spec);
    let mut net = Network::new(topology, Ledger::default(), Departures::default());
    net.place(b, Host::default());
    net.place(a, steady((a, b), 0, count, 1_250, gap));
    let (mut sum, mut samples) = (0.0, 0.0);
    // The first half reaches the steady state.
    for sample in 1..=u64::from(count) / 5 {
        net.run_until(Instant::START + gap * (5 * sample));
        if sample > u64::from(count) / 10 {
            sum += f64::from(net.backlog(wire).packets);
            samples += 1.0;
        }
    }
    net.run_until(Instant::MAX);
    assert!(net.store().alive.is_empty(), "nothing leaks");
    let (mut agents, ..) = net.into_parts();
    (agents[b.0 as usize].take().expect("placed"), sum / samples)
}

/// An observer that checks that departures of a link are reported in the order of time, even if packets overtake.
#[derive(Default)]
struct Departures(Instant);

impl Observer<Ledger> for Departures {
    fn departed(&mut self, seen: &Observation<'_, Ledger>) {
        assert!(seen.at >= self.0, "{} after {}", seen.at, self.0);
        assert!(
            seen.store.alive.contains(&seen.packet.handle.0),
            "told while alive"
        );
        self.0 = seen.at;
    }
}

/// A Gilbert-Elliott link has the loss rate and the burst length of its formulas.
///
/// With p = 1 %, r = 20 % and losses of 0.1 % and 60 %, the loss rate is 20/21 * 0.1 % + 1/21 * 60 % = 2.952 %. With h
/// = 1 and k = 0 bursts last 1 / r = 5 packets.
#[test]
fn bursts_have_their_rate_and_length() {
    let bursts = GilbertElliottConfig {
        good_to_bad: 0.01,
        bad_to_good: 0.2,
        loss_good: 0.001,
        loss_bad: 0.6,
    };
    assert!((bursts.mean_loss() - 0.029_524).abs() < 1e-6);
    let n = 1_000_000;
    let any = packet(fairwire_net::NodeId(0), fairwire_net::NodeId(1), 0, 100);
    let mut link = GilbertElliott::new(bursts, stream("loss"));
    let mut lost = |n: u32| -> Vec<bool> {
        (0..n)
            .map(|_| link.verdict(Instant::START, &any) == Verdict::Drop)
            .collect()
    };
    let share = lost(n).iter().filter(|lost| **lost).count() as f64 / f64::from(n);
    // Four standard errors. States are correlated by 1 - p - r = 0.79 from packet to packet. This makes the variance 1
    // + 2 * 0.79 / 0.21 * 0.55 = 5.1 times that of independent losses: 4 * sqrt(5.1 * 0.0295 * 0.9705 / n) = 0.0015.
    assert!((share - 0.029_524).abs() < 0.0015, "{share}");
    let pure = GilbertElliottConfig {
        loss_good: 0.0,
        loss_bad: 1.0,
        ..bursts
    };
    let mut link = GilbertElliott::new(pure, stream("loss"));
    let (mut bursts, mut losses, mut before) = (0u32, 0u32, false);
    for _ in 0..n {
        let lost = link.verdict(Instant::START, &any) == Verdict::Drop;
        bursts += u32::from(lost && !before);
        losses += u32::from(lost);
        before = lost;
    }
    let length = f64::from(losses) / f64::from(bursts);
    // Geometric with mean 5 and deviation sqrt(20), about 9500 bursts: 4 * 4.47 / 97.
    assert!((length - 5.0).abs() < 0.184, "{length}");
}

/// With a bit error rate of 1e-5 a packet of 1250 bytes is lost with probability 1 - (1 - 1e-5)^10000 = 9.516 %.
///
/// With 50 bytes of framing it is 1 - (1 - 1e-5)^10400 = 9.877 %. A tiny rate keeps its precision.
#[test]
fn bit_errors_hit_long_packets() {
    let errors = BitErrors::new(1e-5, 0, stream("loss"));
    assert!((errors.packet_error_rate(1_250) - 0.095_163).abs() < 1e-6);
    let framed = BitErrors::new(1e-5, 50, stream("loss"));
    assert!((framed.packet_error_rate(1_250) - 0.098_775).abs() < 1e-6);
    let rare = BitErrors::new(1e-17, 0, stream("loss"));
    assert!((rare.packet_error_rate(1_250) / 1e-13 - 1.0).abs() < 1e-9);
    let n = 20_000;
    let (host, _) = over(link(100_000_000, ms(1)).loss(errors), n, ms(1));
    let lost = n as usize - host.received.len();
    // Binomial: 1903 expected, and four standard deviations are 166.
    assert!(lost.abs_diff(1_903) < 166, "{lost}");
}

/// Packets farther apart than the delays differ have the drawn delays, with and without reordering.
///
/// Packets closer together wait for those before them, or overtake them.
#[test]
fn order_is_kept_or_not() {
    let varied = |reorders: bool, deviation| {
        let variation = DelayVariation::new(Distribution::Uniform, deviation, stream("delay"));
        let variation = if reorders {
            variation.reordering()
        } else {
            variation
        };
        // 1250 bytes at 100 Mbit/s take 0.1 ms.
        link(100_000_000, ms(50)).variation(variation)
    };
    let handles = |host: &Host| -> Vec<u32> {
        host.received
            .iter()
            .map(|(_, packet)| packet.handle.0)
            .collect()
    };
    let in_order: Vec<u32> = (0..2_000).collect();
    // A deviation of 2 ms gives delays from 46.5 to 53.5 ms.
    let (kept, _) = over(varied(false, ms(2)), 2_000, ms(1));
    assert_eq!(handles(&kept), in_order);
    let (overtaken, _) = over(varied(true, ms(2)), 2_000, ms(1));
    assert_ne!(handles(&overtaken), in_order);
    let mut sorted = handles(&overtaken);
    sorted.sort_unstable();
    assert_eq!(sorted, in_order, "nobody is lost");
    let delay = |(at, packet): &(Instant, fairwire_net::Packet)| {
        at.saturating_since(Instant::START + ms(1) * u64::from(packet.handle.0))
    };
    for arrival in &overtaken.received {
        let delay = delay(arrival);
        assert!(delay >= Duration::from_micros(46_600), "{delay}");
        assert!(delay <= Duration::from_micros(53_700), "{delay}");
    }
    // The draws are the same: a packet that keeps the order arrives together with the slowest before it.
    let mut fates: Vec<(u32, Instant)> = overtaken
        .received
        .iter()
        .map(|(at, packet)| (packet.handle.0, *at))
        .collect();
    fates.sort_unstable_by_key(|(handle, _)| *handle);
    let mut slowest = Instant::START;
    for ((_, alone), (at, _)) in fates.iter().zip(&kept.received) {
        slowest = slowest.max(*alone);
        assert_eq!(*at, slowest);
    }
    // At a distance of 10 ms no packet meets another.
    let (apart, _) = over(varied(true, ms(2)), 2_000, ms(10));
    assert_eq!(handles(&apart), in_order);
}

/// A packet in the queue may arrive before the one on the wire.
///
/// On a link that reorders, the transmitter taking a packet has its own event.
#[test]
fn overtaking_from_the_queue() {
    let variation = DelayVariation::new(Distribution::Uniform, ms(200), stream("delay"));
    let spec = link(1_000_000, ms(1_000)).variation(variation.reordering());
    let (host, _) = over(spec, 100, ms(0));
    let times: Vec<Instant> = host.received.iter().map(|(at, _)| *at).collect();
    assert!(times.is_sorted());
    for (at, packet) in &host.received {
        // Of packets sent in a burst at zero, the n-th leaves at 10 (n + 1) ms.
        let left = at_ms(10 * u64::from(packet.handle.0 + 1));
        let delay = at.saturating_since(left);
        assert!(delay >= ms(653) && delay <= ms(1_347), "{delay}");
    }
}

/// In an overload that ignores signals, RED loses exactly the excess, and its average is as the formula says.
///
/// Arrivals are 5 % above the rate, so there is a signal every 21 packets. The mean gap is half the inverse of the
/// probability before its correction, which is thus 1/42. With a `max_p` of 0.1 the average is 5 + 10 * 0.238 = 7.38
/// packets.
#[test]
fn red_settles_where_its_formula_says() {
    let config = RedConfig {
        min: Packets(5),
        max: Packets(15),
        max_p: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
        limit: Packets(1_000),
        mean_packet: Size::new(1_250),
    };
    let rate = Rate::from_bits_per_s(1_000_000);
    let spec = link(1_000_000, ms(0)).queue(Red::new(config, rate, stream("red")));
    let n = 200_000;
    let gap = Duration::from_nanos(10_000_000 * 20 / 21);
    let (host, queue) = over(spec, n, gap);
    let lost = 1.0 - host.received.len() as f64 / f64::from(n);
    assert!((lost - 1.0 / 21.0).abs() < 0.0005, "{lost}");
    // The queue varies by a packet or two around the average, in cycles of about 1 / weight packets. Over 200 such
    // cycles the mean is known to a tenth of a packet.
    assert!((queue - 7.38).abs() < 0.3, "{queue}");
}

/// In an overload that ignores signals, `CoDel` bounds the waiting time as the control law says.
///
/// 1100 packets per second come to a link of 1000. The n-th drop comes 100 ms / sqrt(n) after the one before. So n
/// drops take 0.1 s (2 sqrt(n) - 1.46) (Euler's sum), and at time t, 50 (t + 0.146) packets per second are dropped.
/// That equals the excess at t = 1.854 s. By then the surplus is 25 * 1.854^2 = 86 packets, and 10.5 of the 105 ms
/// before the first drop: 88 ms of arrivals. After that the queue is never as long again, because each cycle begins at
/// almost the drop rate of the last one.
#[test]
fn codel_catches_an_unresponsive_flow() {
    let spec = link(10_000_000, ms(0)).queue(Codel::new(CodelConfig::default()));
    // 1250 bytes take 1 ms; 1100 packets per second.
    let gap = Duration::from_nanos(909_091);
    let n = 66_000;
    let (host, _) = over(spec, n, gap);
    let waits: Vec<(Instant, Duration)> = host
        .received
        .iter()
        .map(|(at, packet)| {
            let sent = Instant::START + gap * u64::from(packet.handle.0);
            (*at, at.saturating_since(sent) - ms(1))
        })
        .collect();
    let longest = |from, to| {
        let within = waits.iter().filter(|(at, _)| (from..to).contains(at));
        within.map(|(_, wait)| *wait).max().expect("some")
    };
    let peak = longest(Instant::START, at_ms(4_000));
    // The formula replaces sums by integrals, and a drop is up to one packet late.
    assert!(peak > ms(82) && peak < ms(94), "{peak}");
    let later = longest(at_ms(10_000), at_ms(60_000));
    assert!(later < peak, "{later} after {peak}");
    let lost = 1.0 - host.received.len() as f64 / f64::from(n);
    assert!((lost - 1.0 / 11.0).abs() < 0.005, "{lost}");
}
