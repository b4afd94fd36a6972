use super::{Codel, CodelConfig, CodelLaw};
use crate::queue::{Admission, Next, Queue, Queued};
use crate::{DropReason, FlowId, Handle, NodeId, Packet};
use fairwire_units::{Duration, Ecn, Instant, Packets, Size};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn arriving(entered: Instant, ecn: Ecn) -> Queued {
    Queued {
        packet: Packet {
            source: NodeId(0),
            destination: NodeId(1),
            flow: FlowId(0),
            wire_len: 1_000,
            ecn,
            handle: Handle(0),
        },
        entered,
        ticket: 0,
    }
}

/// Returns a queue with `packets` packets that arrived at the start.
fn filled(config: CodelConfig, packets: u32, ecn: Ecn) -> Codel {
    let mut queue = Codel::new(CodelConfig {
        limit: Packets(1_000_000),
        ..config
    });
    for _ in 0..packets {
        queue.enqueue(Instant::START, arriving(Instant::START, ecn), Some(1_000));
    }
    queue
}

/// Takes packets at `now` until one is sent. Returns the number of drops before it, and its ECN field.
fn take(queue: &mut Codel, now: Instant) -> (usize, Option<Ecn>) {
    let mut drops = 0;
    loop {
        match queue.dequeue(now) {
            Next::Drop(_, why) => {
                assert_eq!(why, DropReason::Head);
                drops += 1;
            }
            Next::Send(sent) => return (drops, Some(sent.packet.ecn)),
            Next::Empty => return (drops, None),
        }
    }
}

/// Section 3.3: the first drop comes an interval after the time in the queue was first seen above the target.
///
/// The n-th drop comes 100 ms / sqrt(n - 1) after the one before it.
#[test]
fn drops_follow_the_control_law() {
    let mut queue = filled(CodelConfig::default(), 100_000, Ecn::NotEct);
    let step = Duration::from_micros(100);
    let mut now = at(5);
    let mut drops = Vec::new();
    while drops.len() < 30 {
        for _ in 0..take(&mut queue, now).0 {
            drops.push(now);
        }
        now += step;
    }
    // The first packet is taken at 5 ms, exactly at the target.
    let mut expected = at(105);
    for (n, drop) in drops.iter().enumerate() {
        if n > 0 {
            expected += ms(100).mul_f64(1.0 / (n as f64).sqrt());
        }
        // A packet is taken every 0.1 ms, so a drop is at most that much late.
        let late = drop.saturating_since(expected);
        assert!(
            *drop >= expected && late <= step,
            "drop {n}: {drop} for {expected}"
        );
    }
}

/// Marks come at the same times as drops would, and nothing is dropped.
#[test]
fn marks_follow_the_control_law() {
    let config = CodelConfig {
        ecn: true,
        ..CodelConfig::default()
    };
    let mut queue = filled(config, 20_000, Ecn::Ect0);
    let mut marks = Vec::new();
    for tenth in 50..5_000 {
        let now = Instant::START + Duration::from_micros(100) * tenth;
        let (drops, ecn) = take(&mut queue, now);
        assert_eq!(drops, 0);
        if ecn == Some(Ecn::Ce) {
            marks.push(tenth / 10);
        }
    }
    // 105, + 100, + 70.7, + 57.7, + 50, + 44.7, + 40.8 ms.
    assert_eq!(marks, [105, 205, 275, 333, 383, 428, 469]);
}

/// A burst that drains within the interval loses nothing, although its last packets wait twenty times the target.
#[test]
fn a_short_burst_passes() {
    let mut queue = filled(CodelConfig::default(), 100, Ecn::NotEct);
    let drops: usize = (0..100).map(|n| take(&mut queue, at(n)).0).sum();
    assert_eq!(drops, 0);
}

/// One packet below the target ends the cycle.
///
/// The next cycle begins an interval after the target is exceeded again, at almost the drop rate of the last one
/// (section 5.5).
#[test]
fn a_cycle_ends_and_resumes() {
    let mut queue = filled(CodelConfig::default(), 50_000, Ecn::NotEct);
    let mut drops = 0;
    let mut now = 5;
    while drops < 10 {
        drops += take(&mut queue, at(now)).0;
        now += 1;
    }
    assert!(queue.dropping);
    let count = queue.count;
    // The queue is emptied and filled again.
    queue.waiting.clear();
    queue.bytes = 0;
    let fresh = |queue: &mut Codel, from: u64| {
        for _ in 0..1_000 {
            queue.enqueue(at(from), arriving(at(from), Ecn::NotEct), Some(1_000));
        }
    };
    fresh(&mut queue, now);
    assert_eq!(take(&mut queue, at(now)), (0, Some(Ecn::NotEct)));
    assert!(!queue.dropping, "below the target");
    let mut first = None;
    for later in now + 1..now + 300 {
        if take(&mut queue, at(later)).0 > 0 {
            first.get_or_insert(later - now);
        }
        if first.is_some() {
            break;
        }
    }
    assert_eq!(
        first,
        Some(105),
        "target and interval after the packets came"
    );
    assert_eq!(queue.count, count - 1, "drops since the cycle before began");
}

/// A packet is not dropped if at most `keeps` bytes are left behind it, however long it waited (section 4.1).
///
/// With one more byte left it is dropped.
#[test]
fn the_last_packet_is_kept() {
    for (keeps, drops) in [(1_000, 0), (999, 1)] {
        let config = CodelConfig {
            law: CodelLaw {
                keeps: Size::new(keeps),
                ..CodelLaw::default()
            },
            ..CodelConfig::default()
        };
        let mut queue = Codel::new(config);
        let mut dropped = 0;
        for n in 0..60 {
            while queue.backlog().packets < 2 {
                queue.enqueue(
                    at(n * 10),
                    arriving(Instant::START, Ecn::NotEct),
                    Some(1_000),
                );
            }
            dropped += take(&mut queue, at(10 + n * 10)).0.min(1);
        }
        assert_eq!(dropped.min(1), drops, "keeps {keeps}");
    }
}

/// A full queue drops arriving packets.
#[test]
fn a_full_queue_drops() {
    let mut queue = Codel::new(CodelConfig {
        limit: Packets(2),
        ..CodelConfig::default()
    });
    let mut full = 0;
    for _ in 0..5 {
        let admission = queue.enqueue(at(0), arriving(at(0), Ecn::NotEct), Some(1_000));
        full += usize::from(matches!(
            admission,
            Admission::Dropped(_, DropReason::QueueFull)
        ));
    }
    assert_eq!((full, queue.backlog().packets), (3, 2));
}
