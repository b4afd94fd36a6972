//! Tests of the send queue.

use super::{DatagramId, Payload, QueueLimits, QueuePolicy, SendOptions, SendQueue, work};
use fairwire_units::{Duration, Instant};

fn synthetic(len: u32) -> Payload {
    Payload::synthetic(len, 0)
}

fn queue(packets: usize, bytes: usize, policy: QueuePolicy) -> SendQueue {
    SendQueue::new(QueueLimits {
        packets,
        bytes,
        age: Some(Duration::from_millis(10).into()),
        policy,
    })
}

fn push(queue: &mut SendQueue, len: u32) -> (Option<DatagramId>, Vec<u64>) {
    let size = synthetic(len).len();
    let dropped = std::iter::from_fn(|| queue.displace(size, 0))
        .map(|taken| taken.id.0)
        .collect();
    let options = SendOptions::default();
    (queue.push(Instant::START, synthetic(len), options), dropped)
}

/// Queues a datagram of one byte with this priority.
fn urgent(queue: &mut SendQueue, priority: i8) -> Option<DatagramId> {
    let options = SendOptions {
        priority,
        ..SendOptions::default()
    };
    queue.push(Instant::START, synthetic(1), options)
}

/// Returns the ids of what is left, in the order of leaving.
fn rest(queue: &mut SendQueue) -> Vec<u64> {
    std::iter::from_fn(|| queue.pop())
        .map(|taken| taken.id.0)
        .collect()
}

/// The last packet and the last byte still fit; one more does not.
#[test]
fn bounds_just_inside_and_outside() {
    let mut by_packets = queue(2, 1_000, QueuePolicy::BackPressure);
    assert!(push(&mut by_packets, 1).0.is_some());
    assert!(push(&mut by_packets, 0).0.is_some());
    assert_eq!(push(&mut by_packets, 0).0, None);
    let mut by_bytes = queue(10, 100, QueuePolicy::BackPressure);
    assert!(push(&mut by_bytes, 60).0.is_some());
    assert_eq!(push(&mut by_bytes, 41).0, None);
    assert!(push(&mut by_bytes, 40).0.is_some());
    assert_eq!(by_bytes.bytes(), 100);
}

/// Dropping the oldest makes just enough room for the new datagram, and ids count up.
#[test]
fn the_oldest_makes_room() {
    let mut queue = queue(10, 100, QueuePolicy::DropOldest);
    for _ in 0..5 {
        push(&mut queue, 20);
    }
    assert_eq!(push(&mut queue, 30), (Some(DatagramId(5)), vec![0, 1]));
    assert_eq!(queue.bytes(), 90);
}

/// An application that was refused hears of room once the queue is empty, even with a limit of zero bytes;
/// otherwise it would wait for ever.
#[test]
fn a_queue_of_no_bytes_takes_one_after_the_other() {
    let mut queue = queue(10, 0, QueuePolicy::BackPressure);
    assert!(push(&mut queue, 5).0.is_some());
    assert_eq!(push(&mut queue, 5).0, None);
    assert!(!queue.take_writable(), "one waits still");
    assert!(queue.pop().is_some());
    assert!(queue.take_writable());
    assert!(push(&mut queue, 5).0.is_some());
}

/// One datagram larger than the byte limit is accepted into an empty queue.
#[test]
fn an_empty_queue_takes_anything() {
    let mut queue = queue(10, 100, QueuePolicy::BackPressure);
    assert!(push(&mut queue, 500).0.is_some());
    assert_eq!(push(&mut queue, 0).0, None);
}

/// At its age limit a datagram still waits; a nanosecond later it has expired.
#[test]
fn expires_just_after_its_age() {
    let mut queue = queue(10, 100, QueuePolicy::BackPressure);
    push(&mut queue, 1);
    let at = Instant::START + Duration::from_millis(10);
    let expired = |queue: &mut SendQueue, now| queue.pop_expired(now).map(|taken| taken.id);
    assert_eq!(expired(&mut queue, at), None);
    let next = queue.next_expiry().unwrap();
    assert_eq!(next, at + Duration::from_nanos(1));
    assert_eq!(expired(&mut queue, next), Some(DatagramId(0)));
    assert_eq!(queue.next_expiry(), None);
}

/// A datagram expires by its deadline or by the age limit, whichever is earlier, wherever it waits.
#[test]
fn the_earlier_of_deadline_and_age() {
    let mut queue = queue(10, 100, QueuePolicy::BackPressure);
    let at = |ms| Instant::START + Duration::from_millis(ms);
    push(&mut queue, 1);
    for ms in [20, 3, 7] {
        let options = SendOptions {
            deadline: Some(at(ms)),
            ..SendOptions::default()
        };
        queue.push(Instant::START, synthetic(1), options);
    }
    let mut order = Vec::new();
    while let Some(next) = queue.next_expiry() {
        let ms = (next - Instant::START).as_nanos() / 1_000_000;
        order.push((ms, queue.pop_expired(next).map(|taken| taken.id.0)));
    }
    // The first and the second one have 10 ms by the age limit.
    assert_eq!(order[..2], [(3, Some(2)), (7, Some(3))]);
    let mut both = [order[2], order[3]];
    both.sort_unstable();
    assert_eq!(both, [(10, Some(0)), (10, Some(1))]);
    assert!(queue.is_empty());
    assert_eq!(queue.bytes(), 0);
}

/// A higher priority leaves first, also before what has none; the same priority leaves in order.
#[test]
fn priorities_are_strict_and_in_order() {
    let mut queue = queue(20, 1_000, QueuePolicy::BackPressure);
    push(&mut queue, 1);
    for priority in [-1, 1, 0, 5, 1, i8::MIN, i8::MAX] {
        urgent(&mut queue, priority);
    }
    push(&mut queue, 1);
    assert_eq!(queue.oldest(), Some(Instant::START));
    assert_eq!(rest(&mut queue), [7, 4, 2, 5, 0, 3, 8, 1, 6]);
}

/// What makes room is the oldest of the lowest priority; nothing makes room for a lower priority.
#[test]
fn the_least_makes_room() {
    let mut queue = queue(4, 1_000, QueuePolicy::DropOldest);
    push(&mut queue, 1);
    for priority in [3, -2, -2] {
        urgent(&mut queue, priority);
    }
    let mut displaced = |priority| queue.displace(1, priority).map(|taken| taken.id.0);
    assert_eq!(displaced(-3), None);
    assert_eq!(displaced(-2), Some(2));
    assert_eq!(displaced(9), None, "there is room");
    urgent(&mut queue, 9);
    assert_eq!(queue.displace(1, 0).map(|taken| taken.id.0), Some(3));
    urgent(&mut queue, 0);
    assert_eq!(queue.displace(1, -1).map(|taken| taken.id.0), None);
    assert!(queue.is_outranked(1));
    assert_eq!(queue.displace(1, 0).map(|taken| taken.id.0), Some(0));
    assert_eq!(rest(&mut queue), [4, 1, 5]);
}

/// The members of a group are found among thousands of others, and nothing else is taken.
#[test]
fn members_of_a_group() {
    let mut queue = queue(20_000, usize::MAX, QueuePolicy::BackPressure);
    let mut options = SendOptions::default();
    for n in 0..3_000_u64 {
        options.group = Some(n / 3);
        options.priority = i8::try_from(n % 3).unwrap();
        queue.push(Instant::START, synthetic(1), options);
    }
    let (taken, _) = work::within(10, || {
        std::iter::from_fn(|| queue.take_member(500))
            .map(|taken| taken.id.0)
            .collect::<Vec<_>>()
    });
    assert_eq!(taken, [1_502, 1_501, 1_500]);
    assert_eq!((queue.len(), queue.bytes()), (2_997, 2_997));
}

/// Room is announced once, and only after a refusal.
#[test]
fn writable_once_after_a_refusal() {
    let mut queue = queue(1, 100, QueuePolicy::BackPressure);
    push(&mut queue, 1);
    queue.pop();
    assert!(!queue.take_writable());
    push(&mut queue, 1);
    push(&mut queue, 1);
    assert!(!queue.take_writable());
    queue.pop();
    assert!(queue.take_writable());
    assert!(!queue.take_writable());
}

/// When the path MTU falls (an ICMP error may be forged), one pass finds the datagrams that are too large, however
/// long the queue is; the rest stays in order.
#[test]
fn what_is_too_large_is_found_in_one_pass() {
    let mut queue = queue(20_000, usize::MAX, QueuePolicy::BackPressure);
    for n in 0..20_000 {
        push(&mut queue, if n % 2 == 0 { 10 } else { 1_000 });
    }
    let (taken, _) = work::within(20_000, || queue.take_larger(999));
    assert_eq!(
        taken.iter().map(|taken| taken.id).collect::<Vec<_>>(),
        (0..10_000)
            .map(|n| DatagramId(2 * n + 1))
            .collect::<Vec<_>>()
    );
    assert_eq!((queue.len(), queue.bytes()), (10_000, 100_000));
    assert_eq!(queue.pop().map(|first| first.id), Some(DatagramId(0)));
}
