//! Promises to applications and operators: room, sizes, counts, memory, each datagram once.

use fairwire_proto::{ConnectionId, Event};
use fairwire_wire::Seq;

use super::super::super::data;
use super::{Oracle, Seen, finds, first_violation, other_datagram, other_state};
use crate::seen::Call;

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

/// Takes GSR back to before packet `seq`, which was read and is a stranger's if `forged`.
///
/// GSR was so far ahead that copies of `seq` were no longer recognised.
fn take_back(oracle: &mut Oracle, (host, id): (usize, ConnectionId), seq: Seq, forged: bool) {
    let books = &mut oracle.books;
    let key = books.key(host, id).unwrap();
    let conn = books.conn_mut(key).unwrap();
    conn.tainted = true;
    let arrival = conn.arrivals.get_mut(&seq.get()).unwrap();
    arrival.delivered_forged = forged;
    let (.., last) = conn.last.as_mut().unwrap();
    let gsr = std::mem::replace(&mut last.gsr, seq.add(1_024));
    let mut seen = last.clone();
    seen.gsr = seq.prev();
    data::see_gsr(books, key, &seen);
    let conn = books.conn_mut(key).unwrap();
    conn.last.as_mut().unwrap().2.gsr = gsr;
}

/// A number of a forged packet may come again after GSR was taken back before it; no other number may.
#[test]
fn numbers_that_come_again() {
    finds("data-once", |oracle, now, host, seen| match seen {
        Seen::Received { id, received, .. } => {
            let once = oracle.see(now, host, seen);
            take_back(oracle, (host, *id), received.seq, false);
            Some(once.and_then(|()| oracle.see(now, host, seen)))
        }
        _ => None,
    });
    let excused = first_violation(None, |oracle, now, host, seen| match seen {
        Seen::Received { id, received, .. } => {
            let once = oracle.see(now, host, seen);
            take_back(oracle, (host, *id), received.seq, true);
            Some(once.and_then(|()| oracle.see(now, host, seen)))
        }
        _ => None,
    });
    assert_eq!(excused, None);
}
