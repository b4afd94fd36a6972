//! Records that a gate passes, keeps back and drops.

use super::{FINISHED, Gate, OF_CLIENT, OF_SERVER, Verdict};
use crate::head::part;

const CERTIFICATE: u8 = 11;
const KEY_UPDATE: u8 = 24;

/// Returns what a gate does with a record of these messages.
fn look(gate: &mut Gate, kind: u8, messages: &[Vec<u8>]) -> Verdict {
    let mut inner = messages.concat();
    inner.extend_from_slice(&[kind, 0, 0]);
    let passes = gate.admit(&inner);
    assert_eq!(passes, gate.verdict == Verdict::Pass);
    gate.verdict
}

fn handshake(gate: &mut Gate, messages: &[Vec<u8>]) -> Verdict {
    look(gate, 22, messages)
}

/// Messages of a flight pass in order, whole or in parts; what comes too early is told from what is useless.
#[test]
fn a_flight_passes_in_order() {
    let mut gate = Gate::new(OF_CLIENT);
    gate.expect(2);
    let certificate = |offset, bytes| [part(CERTIFICATE, 2, 600, offset, bytes)];
    assert_eq!(
        handshake(&mut gate, &certificate(300, 300)),
        Verdict::Later(2, 300)
    );
    assert!(!gate.is_ready_for(2, 300));
    assert_eq!(
        handshake(&mut gate, &certificate(0, 0)),
        Verdict::Drop,
        "empty"
    );
    assert_eq!(handshake(&mut gate, &certificate(0, 300)), Verdict::Pass);
    assert_eq!(
        handshake(&mut gate, &certificate(0, 300)),
        Verdict::Drop,
        "known"
    );
    let other = [part(CERTIFICATE, 2, 601, 300, 300)];
    assert_eq!(
        handshake(&mut gate, &other),
        Verdict::Drop,
        "another length"
    );
    assert!(gate.is_ready_for(2, 300));
    assert_eq!(handshake(&mut gate, &certificate(300, 300)), Verdict::Pass);
    assert_eq!(gate.longest(), 600);
    let finished = [part(FINISHED, 4, 32, 0, 32)];
    assert_eq!(handshake(&mut gate, &finished), Verdict::Later(4, 0));
    let both = [part(15, 3, 70, 0, 70), part(FINISHED, 4, 32, 0, 32)];
    assert_eq!(look(&mut gate, 23, &[]), Verdict::Drop, "data");
    let behind = [&both[..], &[part(KEY_UPDATE, 5, 1, 0, 1)]].concat();
    assert_eq!(handshake(&mut gate, &behind), Verdict::Drop, "one too many");
    assert_eq!(handshake(&mut gate, &both), Verdict::Pass);
    assert_eq!(gate.heard(), 5);
    let update = [part(KEY_UPDATE, 5, 1, 0, 1)];
    assert_eq!(handshake(&mut gate, &update), Verdict::Drop, "it is over");
    assert_eq!(handshake(&mut gate, &both), Verdict::Pass, "copies");
    for (kind, verdict) in [
        (21, Verdict::Pass),
        (26, Verdict::Pass),
        (23, Verdict::Drop),
        (99, Verdict::Drop),
    ] {
        assert_eq!(look(&mut gate, kind, &[]), verdict, "{kind}");
    }
}

/// A peer cannot cut a message into more parts than its length needs, nor make it longer than messages are, nor send
/// those of the other end.
#[test]
fn a_flight_has_limits() {
    let mut gate = Gate::new(OF_CLIENT);
    gate.expect(0);
    for offset in 0..6 {
        let byte = [part(CERTIFICATE, 0, 600, offset, 1)];
        assert_eq!(handshake(&mut gate, &byte), Verdict::Pass);
    }
    let byte = [part(CERTIFICATE, 0, 600, 6, 1)];
    assert_eq!(handshake(&mut gate, &byte), Verdict::Drop);
    let mut gate = Gate::new(OF_CLIENT);
    let long = Verdict::TooLong {
        length: 12_289,
        limit: 12_288,
    };
    assert_eq!(
        handshake(&mut gate, &[part(CERTIFICATE, 0, 12_289, 0, 1)]),
        long
    );
    assert_eq!(
        handshake(&mut gate, &[part(CERTIFICATE, 6, 9, 0, 9)]),
        Verdict::Drop
    );
    assert_eq!(
        handshake(&mut gate, &[part(8, 0, 9, 0, 9)]),
        Verdict::Misplaced(8)
    );
}

/// A message passes in as many parts as the library holds. One part more is refused with the length and the limit.
#[test]
fn a_message_has_a_limit_of_parts() {
    for (length, last) in [
        (7_680, Verdict::Pass),
        (
            7_681,
            Verdict::TooManyParts {
                length: 7_681,
                limit: 16,
            },
        ),
    ] {
        let mut gate = Gate::new(OF_SERVER);
        gate.expect(0);
        let mut verdict = Verdict::Unread;
        for offset in (0..length).step_by(480) {
            assert!(offset == 0 || verdict == Verdict::Pass);
            let bytes = 480.min(length - offset);
            verdict = handshake(&mut gate, &[part(CERTIFICATE, 0, length, offset, bytes)]);
        }
        assert_eq!(verdict, last);
    }
}

/// The number of the next own message is one more than that of the last one that was protected.
#[test]
fn own_messages_are_counted() {
    let mut gate = Gate::new(OF_CLIENT);
    for (kind, message, said) in [
        (22, part(8, 3, 9, 0, 9), 4),
        (22, part(FINISHED, 5, 32, 0, 20), 6),
        (22, part(8, 3, 9, 0, 9), 6),
        (26, part(8, 9, 9, 0, 9), 6),
        (22, vec![1, 2], 6),
    ] {
        gate.note(&[&message[..], &[kind]].concat());
        assert_eq!(gate.said, said);
    }
}

/// The records of one message may have a kilobyte more than the longest message, with their padding. What is complete
/// does not count.
#[test]
fn padding_has_a_limit() {
    let padded = |gate: &mut Gate, message: Vec<u8>, zeros: usize| {
        gate.admit(&[message, vec![22], vec![0; zeros]].concat());
        gate.verdict
    };
    let limit = 13 << 10;
    let mut gate = Gate::new(OF_SERVER);
    gate.expect(0);
    let extensions = part(8, 0, 2, 0, 2);
    assert_eq!(padded(&mut gate, extensions, limit - 15), Verdict::Pass);
    let first = part(CERTIFICATE, 1, 600, 0, 300);
    assert_eq!(padded(&mut gate, first, 8_000 - 313), Verdict::Pass);
    let last = part(CERTIFICATE, 1, 600, 300, 300);
    let mut other = gate;
    assert_eq!(
        padded(&mut other, last.clone(), limit - 8_000 - 313),
        Verdict::Pass
    );
    assert_eq!(
        padded(&mut gate, last, limit - 8_000 - 312),
        Verdict::TooLong {
            length: limit + 1,
            limit
        }
    );
    // Another message begins in the record that ends one: that record is kept for it.
    let both = [part(15, 2, 4, 0, 4), part(FINISHED, 3, 32, 0, 10)].concat();
    assert_eq!(padded(&mut other, both, limit - 39), Verdict::Pass);
    let rest = part(FINISHED, 3, 32, 10, 22);
    assert!(matches!(
        padded(&mut other, rest, 0),
        Verdict::TooLong { .. }
    ));
}
