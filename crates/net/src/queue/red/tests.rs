use super::{Red, RedConfig};
use crate::queue::{Admission, Next, Queue, Queued};
use crate::{DropReason, FlowId, Handle, NodeId, Packet, Streams};
use fairwire_units::{Duration, Ecn, Instant, Packets, Rate, Size};

/// The paper's example: thresholds of 5 and 15 packets. 1250 bytes at 1 Mbit/s take 10 ms.
fn config() -> RedConfig {
    RedConfig {
        min: Packets(5),
        max: Packets(15),
        max_p: 0.02,
        weight: 0.002,
        gentle: false,
        ecn: false,
        limit: Packets(1_000),
        mean_packet: Size::new(1_250),
    }
}

fn red(config: RedConfig) -> Red {
    let rate = Rate::from_bits_per_s(1_000_000);
    Red::new(config, rate, Streams::new(1).stream("bottleneck/red"))
}

fn arriving(ecn: Ecn) -> Queued {
    Queued {
        packet: Packet {
            source: NodeId(0),
            destination: NodeId(1),
            flow: FlowId(0),
            wire_len: 1_250,
            ecn,
            handle: Handle(0),
        },
        entered: Instant::START,
        ticket: 0,
    }
}

fn offer(queue: &mut Red, ecn: Ecn) -> Option<DropReason> {
    match queue.enqueue(Instant::START, arriving(ecn), Some(1_250)) {
        Admission::Accepted => None,
        Admission::Dropped(_, why) => Some(why),
    }
}

/// Returns a queue whose average stays at `average`, because new samples have no weight.
fn at(average: f64, config: RedConfig) -> Red {
    let mut queue = red(RedConfig {
        weight: 0.0,
        limit: Packets(u32::MAX),
        ..config
    });
    queue.average = average;
    queue
}

/// Section 6, equations 2 and 3: a burst of L packets to an empty queue raises the average as the equations say.
///
/// The average becomes `L + 1 + ((1 - w)^(L+1) - 1) / w`. To keep it below 5 after fifty packets, the paper requires a
/// weight of at most 0.0042, rounded.
#[test]
fn a_burst_moves_the_average_as_the_paper_says() {
    for (weight, below) in [(0.0041, true), (0.0043, false)] {
        let mut queue = red(RedConfig { weight, ..config() });
        // An arriving packet is not yet in the queue: the 51st packet finds fifty.
        for _ in 0..51 {
            offer(&mut queue, Ecn::NotEct);
        }
        let formula = 51.0 + (libm::pow(1.0 - weight, 51.0) - 1.0) / weight;
        assert!((queue.average() - formula).abs() < 1e-9, "{formula}");
        assert_eq!(queue.average() < 5.0, below, "{}", queue.average());
    }
}

/// Section 4: a second without packets counts as a hundred empty samples on a link that sends a packet in 10 ms.
///
/// The idle time starts when the last packet has left, not when the transmitter took it.
#[test]
fn idle_time_ages_the_average() {
    let mut queue = red(RedConfig {
        weight: 0.01,
        ..config()
    });
    queue.average = 4.0;
    offer(&mut queue, Ecn::NotEct);
    let before = queue.average();
    let taken = Instant::START + Duration::from_millis(500);
    assert!(matches!(queue.dequeue(taken), Next::Send(_)));
    let later = taken + Duration::from_millis(1_010);
    queue.enqueue(later, arriving(Ecn::NotEct), None);
    let expected = before * libm::pow(0.99, 100.0);
    assert!((queue.average() - expected).abs() < 1e-9);
}

/// Section 7: at a constant probability, the gaps between signals are uniform from 1 to one less than its inverse.
///
/// At 0.01 the mean gap is 50 packets, and there are never 99 packets without a signal.
#[test]
fn gaps_are_uniform() {
    let mut queue = at(10.0, config());
    // Half way between the thresholds: p_b = 0.02 / 2.
    let mut gaps = Vec::new();
    let mut gap = 0;
    // The first gap begins with count = -1 and is one packet longer.
    while gaps.len() < 5_001 {
        gap += 1;
        if offer(&mut queue, Ecn::NotEct).is_some() {
            gaps.push(gap);
            gap = 0;
        }
    }
    let gaps = &gaps[1..];
    assert_eq!(gaps.iter().max(), Some(&99));
    assert_eq!(gaps.iter().min(), Some(&1));
    let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
    // Four standard errors: 4 * 99 / sqrt(12 * 5000) = 1.62.
    assert!((mean - 50.0).abs() < 1.62, "{mean}");
    let lower = gaps.iter().filter(|gap| **gap <= 33).count();
    // A third of them; four standard deviations are 133.
    assert!(lower.abs_diff(1_667) < 133, "{lower}");
}

/// Below the first threshold nothing is signalled, and from the second one on everything.
///
/// Gentle RED has probabilities in between from the second threshold to twice its value.
#[test]
fn thresholds_just_inside_and_outside() {
    let signals = |average, gentle| {
        let mut queue = at(average, RedConfig { gentle, ..config() });
        (0..1_000)
            .filter(|_| offer(&mut queue, Ecn::NotEct).is_some())
            .count()
    };
    assert_eq!(signals(4.999, false), 0);
    assert_eq!(signals(15.0, false), 1_000);
    assert_eq!(signals(30.0, true), 1_000);
    // At max_th gentle RED has p_b = 0.02: every 25th packet. At 20.05, a third of the way to 2 max_th, p_b is 0.35.
    // The first packet after a signal is signalled with 0.35 / 0.65, or else the second: 1 / (0.538 + 2 * 0.462) = 68
    // %.
    let at_max = signals(15.0, true);
    assert!((30..50).contains(&at_max), "{at_max}");
    let between = signals(20.051, true);
    // Four standard deviations are 40.
    assert!((644..724).contains(&between), "{between}");
}

/// ECN-capable packets are marked and wait, and others are dropped.
///
/// If everything is signalled, both are dropped (RFC 3168, section 7).
#[test]
fn marks_instead_of_drops() {
    let mut queue = at(
        10.0,
        RedConfig {
            ecn: true,
            max_p: 1.0,
            ..config()
        },
    );
    let outcomes: Vec<_> = (0..20).map(|_| offer(&mut queue, Ecn::Ect0)).collect();
    assert!(outcomes.iter().all(Option::is_none), "{outcomes:?}");
    let marked = queue.waiting.iter().filter(|q| q.packet.ecn == Ecn::Ce);
    assert!(marked.count() >= 10, "p_b = 0.5 signals two of three");
    let drops: Vec<_> = (0..20).map(|_| offer(&mut queue, Ecn::NotEct)).collect();
    assert!(drops.contains(&Some(DropReason::Early)));
    queue.average = 15.0;
    assert_eq!(offer(&mut queue, Ecn::Ect0), Some(DropReason::Early));
}

/// The limit holds whatever the average is.
#[test]
fn a_full_queue_drops() {
    let mut queue = red(RedConfig {
        limit: Packets(3),
        ..config()
    });
    let outcomes: Vec<_> = (0..4).map(|_| offer(&mut queue, Ecn::Ect0)).collect();
    assert_eq!(outcomes, [None, None, None, Some(DropReason::QueueFull)]);
    assert_eq!(queue.backlog().bytes, 3_750);
}
