use super::{FqCodel, FqCodelConfig};
use crate::queue::{Admission, Next, Queue, QueueModel, Queued};
use crate::{DropReason, FlowId, Handle, LinkContext, NodeId, Packet, Streams};
use fairwire_units::{Duration, Ecn, Instant, Packets, Rate, Size};

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Returns a packet of `flow` with `wire_len` bytes and the number `ticket`.
fn packet(flow: u32, wire_len: u32, ticket: u64) -> Queued {
    Queued {
        packet: Packet {
            source: NodeId(flow),
            destination: NodeId(1_000),
            flow: FlowId(flow),
            wire_len,
            ecn: Ecn::NotEct,
            handle: Handle(0),
        },
        entered: Instant::START,
        ticket,
    }
}

fn queue(config: FqCodelConfig) -> FqCodel {
    FqCodel::new(config, Streams::new(1).stream("bottleneck/fq-codel"))
}

fn offer(queue: &mut FqCodel, packet: Queued) -> Option<(u32, u64)> {
    match queue.enqueue(packet.entered, packet, Some(1_000)) {
        Admission::Accepted => None,
        Admission::Dropped(gone, why) => {
            assert_eq!(why, DropReason::QueueFull);
            Some((gone.packet.flow.0, gone.ticket))
        }
    }
}

/// Returns the flows of the packets that are sent, in order, until no packet waits.
fn served(queue: &mut FqCodel, now: Instant) -> Vec<u32> {
    let mut flows = Vec::new();
    loop {
        match queue.dequeue(now) {
            Next::Send(next) => flows.push(next.packet.flow.0),
            Next::Drop(..) => {}
            Next::Empty => return flows,
        }
    }
}

/// Section 4.2: queues take turns of a quantum of bytes, so two flows with different packet sizes send equally many
/// bytes.
///
/// Here that is two packets of 500 bytes for each of 1000.
#[test]
fn turns_are_of_bytes() {
    let mut queue = queue(FqCodelConfig {
        quantum: Size::new(1_000),
        ..FqCodelConfig::default()
    });
    for n in 0..8 {
        offer(&mut queue, packet(1, 500, n));
    }
    for n in 0..4 {
        offer(&mut queue, packet(2, 1_000, n));
    }
    let order = served(&mut queue, at(1));
    assert_eq!(order, [1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2]);
}

/// Section 4.2: a queue that has used up its quantum gets another one and goes behind the others.
///
/// Bytes sent beyond the quantum are subtracted from its next turn. With a quantum of 1000, packets of 1500 bytes get
/// two turns in three.
#[test]
fn debts_are_carried() {
    let mut queue = queue(FqCodelConfig {
        quantum: Size::new(1_000),
        ..FqCodelConfig::default()
    });
    for n in 0..4 {
        offer(&mut queue, packet(1, 1_500, n));
    }
    for n in 0..6 {
        offer(&mut queue, packet(2, 1_000, n));
    }
    let order = served(&mut queue, at(1));
    assert_eq!(order, [1, 2, 1, 2, 2, 1, 2, 1, 2, 2]);
}

/// Section 4.1: a queue that becomes active is served before the queues that already were, however long they are.
#[test]
fn sparse_flows_go_first() {
    let mut queue = queue(FqCodelConfig::default());
    for n in 0..100 {
        offer(&mut queue, packet(1, 1_500, n));
    }
    // After its first turn, the queue is an old one.
    for _ in 0..3 {
        assert!(matches!(queue.dequeue(at(1)), Next::Send(_)));
    }
    offer(&mut queue, packet(2, 100, 0));
    offer(&mut queue, packet(3, 100, 0));
    assert_eq!(served(&mut queue, at(2))[..3], [2, 3, 1]);
}

/// Section 4.2: a new queue that runs empty first becomes an old one.
///
/// So a flow that returns at once with one packet at a time is not always served before the old queues.
#[test]
fn a_returning_flow_does_not_starve_the_others() {
    let mut queue = queue(FqCodelConfig::default());
    for n in 0..100 {
        offer(&mut queue, packet(1, 1_500, n));
    }
    for _ in 0..3 {
        assert!(matches!(queue.dequeue(at(1)), Next::Send(_)));
    }
    let mut of_the_old = 0;
    for n in 0..100 {
        offer(&mut queue, packet(2, 1_500, n));
        if let Next::Send(next) = queue.dequeue(at(1)) {
            of_the_old += u32::from(next.packet.flow.0 == 1);
        }
    }
    assert!((45..=55).contains(&of_the_old), "{of_the_old}");
}

/// Section 4.1: above the limit, the queue with the most bytes loses the packet at its head, not the arriving packet.
#[test]
fn the_longest_queue_makes_room() {
    let mut queue = queue(FqCodelConfig {
        limit: Packets(10),
        ..FqCodelConfig::default()
    });
    for n in 0..7 {
        assert_eq!(offer(&mut queue, packet(1, 100, n)), None);
    }
    for n in 0..3 {
        assert_eq!(offer(&mut queue, packet(2, 1_500, n)), None);
    }
    assert_eq!(offer(&mut queue, packet(3, 100, 0)), Some((2, 0)));
    assert_eq!(offer(&mut queue, packet(3, 100, 1)), Some((2, 1)));
    assert_eq!(offer(&mut queue, packet(3, 100, 2)), Some((2, 2)));
    assert_eq!(
        offer(&mut queue, packet(3, 100, 3)),
        Some((1, 0)),
        "700 bytes"
    );
    assert_eq!(
        (queue.backlog().packets, queue.backlog().bytes),
        (10, 1_000)
    );
    assert_eq!(served(&mut queue, at(1)).len(), 10);
    assert_eq!((queue.backlog().packets, queue.backlog().bytes), (0, 0));
}

/// Each queue has its own `CoDel`: a queue that stands for longer than an interval loses packets at its head.
///
/// Another flow, whose packets never wait, loses none.
#[test]
fn codel_judges_each_queue() {
    let mut queue = queue(FqCodelConfig::default());
    for n in 0..2_000 {
        offer(&mut queue, packet(1, 1_500, n));
    }
    let (mut drops, mut beside) = (0, 0);
    for ms in 1..1_000 {
        if ms % 10 == 0 {
            let fresh = Queued {
                entered: at(ms),
                ..packet(2, 100, ms)
            };
            offer(&mut queue, fresh);
        }
        loop {
            match queue.dequeue(at(ms)) {
                Next::Drop(gone, why) => {
                    assert_eq!((gone.packet.flow.0, why), (1, DropReason::Head));
                    drops += 1;
                }
                Next::Send(next) => {
                    beside += u32::from(next.packet.flow.0 == 2);
                    break;
                }
                Next::Empty => break,
            }
        }
    }
    // 105 ms, then intervals of 100 / sqrt(n) ms: the 27th drop at 989 ms.
    assert!((18..30).contains(&drops), "{drops}");
    assert_eq!(beside, 99);
}

/// Flows are spread evenly; the same seed gives the same queues, and another salt gives others.
#[test]
fn the_hash_is_salted() {
    let queues = |seed: u64| -> Vec<usize> {
        let stream = Streams::new(seed).stream("bottleneck/fq-codel");
        let queue = FqCodel::new(FqCodelConfig::default(), stream);
        (0..10_240)
            .map(|flow| queue.queue_of(&packet(flow, 100, 0).packet))
            .collect()
    };
    let (one, other) = (queues(1), queues(2));
    assert_eq!(one, queues(1));
    let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
    assert!(same < 40, "{same}: ten by chance");
    let mut counts = vec![0_u32; 1_024];
    for queue in &one {
        counts[*queue] += 1;
    }
    // Poisson with mean ten: 99.99 % of the counts are between 0 and 25.
    assert!(counts.iter().all(|count| *count < 30));
    let empty = counts.iter().filter(|count| **count == 0).count();
    assert!(empty < 5, "{empty}");
}

/// A link builds its queue from the settings, with a stream of its own name.
#[test]
fn a_link_has_its_own() {
    let link = LinkContext {
        name: "bottleneck",
        rate: Rate::from_bits_per_s(1_000_000),
        framing: 0,
        streams: Streams::new(1),
    };
    let mut built = FqCodelConfig::default().build(&link);
    let admission = built.enqueue(at(0), packet(1, 100, 7), None);
    assert!(matches!(admission, Admission::Accepted));
    assert!(matches!(built.dequeue(at(0)), Next::Send(next) if next.ticket == 7));
    assert!(matches!(built.dequeue(at(0)), Next::Empty));
}
