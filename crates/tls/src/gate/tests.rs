//! Records that a gate passes, keeps back and drops.

use super::{FINISHED, Gate, OF_CLIENT, OF_SERVER, Verdict};
use crate::head::Part;

const CERTIFICATE: u8 = 11;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// How many records a key of the end behind the gate protects.
const LIMIT: u64 = 1 << 20;

fn part(kind: u8, number: u16, length: usize, offset: usize, bytes: usize) -> Vec<u8> {
    let part = Part {
        kind,
        length,
        number,
        offset,
    };
    part.write(&vec![1; bytes])
}

/// Returns what a gate does with a record of these messages, and the record as the library would get it.
fn look(gate: &mut Gate, kind: u8, messages: &[Vec<u8>]) -> (Verdict, Vec<u8>) {
    let mut inner = messages.concat();
    inner.extend_from_slice(&[kind, 0, 0]);
    let passes = gate.admit(&mut inner);
    assert_eq!(passes, gate.verdict == Verdict::Pass);
    (gate.verdict, inner)
}

fn handshake(gate: &mut Gate, messages: &[Vec<u8>]) -> Verdict {
    look(gate, 22, messages).0
}

/// A gate of a server or a client after the peer's handshake, which expects the message 2.
fn open(allowed: &'static [u8]) -> Gate {
    let mut gate = Gate::new(allowed, LIMIT);
    gate.expect(1);
    let finished = part(FINISHED, 1, 32, 0, 32);
    assert_eq!(handshake(&mut gate, &[finished]), Verdict::Pass);
    gate.is_open = true;
    gate
}

/// Messages of a flight pass in order, whole or in parts; what comes too early is told from what is useless.
#[test]
fn a_flight_passes_in_order() {
    let mut gate = Gate::new(OF_CLIENT, LIMIT);
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
    assert_eq!(look(&mut gate, 23, &[]).0, Verdict::Drop, "data");
    let behind = [&both[..], &[part(KEY_UPDATE, 5, 1, 0, 1)]].concat();
    assert_eq!(handshake(&mut gate, &behind), Verdict::Drop, "one too many");
    assert_eq!(handshake(&mut gate, &both), Verdict::Pass);
    assert_eq!(look(&mut gate, 23, &[]).0, Verdict::Drop, "data");
    let update = [part(KEY_UPDATE, 5, 1, 0, 1)];
    assert_eq!(handshake(&mut gate, &update), Verdict::Drop, "not open");
    gate.is_open = true;
    assert_eq!(look(&mut gate, 23, &[]).0, Verdict::Pass, "data");
    assert_eq!(handshake(&mut gate, &both), Verdict::Pass, "copies");
}

/// A peer cannot cut a message into more parts than its length needs, nor make it longer than messages are, nor send
/// those of the other end.
#[test]
fn a_flight_has_limits() {
    let mut gate = Gate::new(OF_CLIENT, LIMIT);
    gate.expect(0);
    for offset in 0..6 {
        let byte = [part(CERTIFICATE, 0, 600, offset, 1)];
        assert_eq!(handshake(&mut gate, &byte), Verdict::Pass);
    }
    let byte = [part(CERTIFICATE, 0, 600, 6, 1)];
    assert_eq!(handshake(&mut gate, &byte), Verdict::Drop);
    let mut gate = Gate::new(OF_CLIENT, LIMIT);
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
        let mut gate = Gate::new(OF_SERVER, LIMIT);
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

/// After the handshake only the next message passes, whole. One that is missing keeps nothing waiting.
#[test]
fn after_the_handshake_one_message_at_a_time() {
    let mut gate = open(OF_CLIENT);
    let update = |number| part(KEY_UPDATE, number, 1, 0, 1);
    assert_eq!(
        handshake(&mut gate, &[update(3)]),
        Verdict::Drop,
        "2 is missing"
    );
    assert_eq!(
        handshake(&mut gate, &[part(KEY_UPDATE, 2, 9, 0, 1)]),
        Verdict::Drop
    );
    assert_eq!(handshake(&mut gate, &[]), Verdict::Drop, "no message");
    let mut odd = update(2);
    odd[Part::HEADER] = 7;
    assert_eq!(handshake(&mut gate, &[odd]), Verdict::Drop);
    assert_eq!(handshake(&mut gate, &[update(2)]), Verdict::Pass);
    assert_eq!(handshake(&mut gate, &[update(2)]), Verdict::Pass, "a copy");
    assert_eq!(
        handshake(&mut gate, &[update(2), update(3)]),
        Verdict::Drop,
        "mixed"
    );
    assert_eq!(
        handshake(&mut gate, &[update(3), update(4)]),
        Verdict::Drop,
        "two keys"
    );
    let ticket = |number| part(NEW_SESSION_TICKET, number, 9, 0, 9);
    assert_eq!(
        handshake(&mut gate, &[update(3), ticket(4)]),
        Verdict::Drop,
        "a key does not end its record"
    );
    assert_eq!(
        handshake(&mut gate, &[ticket(3), ticket(4), update(5)]),
        Verdict::Pass
    );
    assert_eq!(look(&mut gate, 99, &[]).0, Verdict::Drop, "an unknown type");
}

/// A part of a ticket is a whole ticket for the library, which has no use for either.
#[test]
fn a_ticket_needs_one_part() {
    let mut gate = open(OF_SERVER);
    let second = part(NEW_SESSION_TICKET, 2, 400, 300, 100);
    let (verdict, inner) = look(&mut gate, 22, std::slice::from_ref(&second));
    assert_eq!(verdict, Verdict::Pass);
    assert_eq!(inner[..112], part(NEW_SESSION_TICKET, 2, 100, 0, 100));
    assert_eq!(handshake(&mut gate, &[second]), Verdict::Pass, "a copy");
    let both = [
        part(NEW_SESSION_TICKET, 2, 400, 0, 300),
        part(NEW_SESSION_TICKET, 3, 50, 0, 50),
    ];
    assert_eq!(
        handshake(&mut gate, &both),
        Verdict::Pass,
        "the library tells them apart"
    );
    assert_eq!(
        handshake(&mut gate, &[part(KEY_UPDATE, 4, 1, 0, 1)]),
        Verdict::Pass
    );
}

/// A request for a new key is passed on as one without, while the own key is about to be replaced anyway: in the last
/// 4,096 records of a long limit, and in the last quarter of a short one.
#[test]
fn a_key_that_is_about_to_be_replaced_answers_a_request() {
    for (limit, first) in [(LIMIT, LIMIT - 4_096), (50, 38), (16, 12)] {
        for (sealed, asks) in [
            (0, true),
            (first - 2, true),
            (first - 1, false),
            (limit, false),
        ] {
            let mut gate = Gate {
                sealed_limit: limit,
                ..open(OF_SERVER)
            };
            gate.expect(0);
            gate.sealed = sealed;
            let (verdict, inner) = look(&mut gate, 22, &[part(KEY_UPDATE, 2, 1, 0, 1)]);
            assert_eq!((verdict, gate.is_asked), (Verdict::Pass, asks));
            assert_eq!(inner[Part::HEADER], u8::from(asks), "{sealed} of {limit}");
            // A copy asks for nothing.
            gate.expect(0);
            let (verdict, _) = look(&mut gate, 22, &[part(KEY_UPDATE, 2, 1, 0, 1)]);
            assert_eq!((verdict, gate.is_asked), (Verdict::Pass, false));
        }
    }
}

/// The records of one message may have a kilobyte more than the longest message, with their padding. What is complete
/// does not count.
#[test]
fn padding_has_a_limit() {
    let padded = |gate: &mut Gate, message: Vec<u8>, zeros: usize| {
        let mut inner = [message, vec![22], vec![0; zeros]].concat();
        gate.admit(&mut inner);
        gate.verdict
    };
    let limit = 13 << 10;
    let mut gate = Gate::new(OF_SERVER, LIMIT);
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
