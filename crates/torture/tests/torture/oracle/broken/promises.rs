//! Promises to applications and operators: room, sizes, counts, memory, each datagram once.

use fairwire_proto::Event;
use fairwire_torture::oracle::delivery::Delivery;
use fairwire_wire::Seq;

use super::{Call, Seen, finds, other_datagram, other_state};

/// An application that is not told of room in the send queue is detected.
#[test]
fn room_that_is_not_announced() {
    finds("send-writable", |_, _, _, seen| match seen {
        Seen::Event {
            event: Event::Writable,
            ..
        } => Some(Ok(())),
        _ => None,
    });
}

/// Data packets larger than the path MTU are detected.
#[test]
fn packets_that_are_too_large() {
    finds("sent-path-mtu", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, _| {
            stats.path_mtu = 600;
            true
        })
    });
}

/// A waiting datagram that no longer fits after the path MTU decreased is detected.
#[test]
fn datagrams_that_no_longer_fit() {
    finds("fate-too-large", |oracle, now, host, seen| match seen {
        Seen::Call(Call::Send { id, result, .. }) if result.is_ok() => {
            let event = &Event::PathMtu {
                mtu: 576,
                max_datagram: 7,
            };
            let given = oracle.see(now, host, seen);
            Some(given.and_then(|()| oracle.see(now, host, &Seen::Event { id: *id, event })))
        }
        _ => None,
    });
}

/// Too many datagrams reported missing are detected.
#[test]
fn datagrams_that_were_never_missing() {
    finds("data-lost-before", |oracle, now, host, seen| {
        other_datagram((oracle, now, host), seen, |received| {
            received.lost_before += 1_000;
        })
    });
}

/// A datagram that is acknowledged, and neither delivered nor dropped, is detected.
#[test]
fn datagrams_that_vanish() {
    finds("data-settled", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, _| {
            let counted = stats.data_received > 0;
            stats.data_received = 0;
            counted
        })
    });
}

/// A connection that nobody knows is detected.
#[test]
fn a_connection_that_nobody_knows() {
    finds("memory-unannounced", |oracle, now, host, seen| match seen {
        Seen::Inside { inspection } => {
            let mut inspection = **inspection;
            inspection.records += 1;
            let inspection = &inspection;
            Some(oracle.see(now, host, &Seen::Inside { inspection }))
        }
        _ => None,
    });
}

/// A number of a forged packet may come again after GSR was taken back before it; no other number may.
///
/// GSR was so far ahead that copies of the packet were no longer recognised.
#[test]
fn numbers_that_come_again() {
    let seq = Seq::new(5_000);
    let again = |forged, from: Seq, to: Seq| {
        let mut delivery = Delivery::default();
        assert!(delivery.take(), "for the first time");
        delivery.set_forged(forged);
        delivery.recede(seq, from, to);
        let again = delivery.take();
        assert!(!delivery.take(), "for the third time");
        again
    };
    let far = seq.add(1_024);
    assert!(again(true, far, seq.prev()));
    assert!(!again(false, far, seq.prev()));
    assert!(!again(true, far, seq), "it is not beyond the new GSR");
    assert!(!again(true, seq.prev(), seq.sub(1_024)), "it came later");
    assert!(!again(true, seq.add(998), seq.prev()), "it is remembered");
    assert!(again(true, seq.add(999), seq.prev()));
}
