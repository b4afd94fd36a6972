//! Channels without a session around them: what they hear, and whom they refuse.

use fairwire_units::{Duration, Instant};

use super::messages::{HANDSHAKE_EPOCH, KEY_UPDATE, NEW_SESSION_TICKET};
use super::{Channel, Heard, Sending};
use crate::head::{ACK, DATA, HANDSHAKE, Part, part};
use crate::provider::{Secrets, Split};
use crate::record::{Sealer, Secret, Suite, Unopened};

const FINISHED: u8 = 20;
const NOW: Instant = Instant::START;

/// A secret of one of the directions, other ones for each number.
fn secret(byte: u8, number: u64) -> Secret {
    Secret::new(&[[byte; 24].as_slice(), &number.to_be_bytes()].concat())
}

fn secrets(is_client: bool, number: u64) -> Secrets {
    let of_library = if is_client { 3 } else { 6 };
    let split = |of_session, of_library| {
        Some(Split {
            of_session: secret(of_session, number),
            of_library: secret(of_library, number),
        })
    };
    Secrets {
        is_client,
        suite: Some(Suite::Aes128),
        of_handshake: Some(secret(1, number)),
        of_client: split(2, of_library),
        of_server: split(4, of_library + 1),
    }
}

/// A client and a server whose handshake had five and three messages.
fn pair(records_per_key: u64) -> [Channel; 2] {
    let [mut client, mut server] = [true, false].map(|is_client| {
        Channel::new(&mut secrets(is_client, records_per_key), records_per_key)
            .expect("all secrets")
    });
    client.sending.begin(5);
    client.receiving.begin(3);
    server.sending.begin(3);
    server.receiving.begin(5);
    [client, server]
}

fn update(number: u16) -> Vec<u8> {
    part(KEY_UPDATE, number, 1, 0, 1)
}

const KNOWN: Heard = Heard::Known { asks: None };
const ASKS: Heard = Heard::Known { asks: Some(true) };

/// A channel begins when there are the secrets of both directions and the cipher suite, and takes them.
#[test]
fn a_channel_needs_all_secrets() {
    let mut some = secrets(true, 9);
    assert!(Channel::new(&mut some, 9).is_some());
    assert!(Channel::new(&mut some, 9).is_none(), "they are taken");
    for lack in 0..3 {
        let mut some = secrets(true, 9);
        match lack {
            0 => some.suite = None,
            1 => some.of_client = None,
            _ => some.of_server = None,
        }
        assert!(Channel::new(&mut some, 9).is_none());
        assert!(some.of_client.is_some() || some.of_server.is_some(), "kept");
    }
}

/// What the library seals in place of a channel is not what the peer would read, and what it has is sealed again.
#[test]
fn the_library_has_other_keys() {
    let [mut client, mut server] = pair(100);
    let mut library = Sealer::new(Suite::Aes128, &mut secret(7, 100), 3);
    let record = library.seal(ACK, b"names").expect("a key");
    assert_eq!(client.receiving.read(NOW, &record), Err(Unopened::Forged));
    let again = server.of_library(&record).expect("the library's");
    assert_eq!(again.len(), record.len());
    let (opened, content) = client.receiving.read(NOW, &again).expect("the session's");
    assert_eq!(
        (opened.kind, &content[..], opened.number),
        (ACK, &b"names"[..], 0)
    );
    assert_eq!(server.of_library(&record), None, "a copy");
    server.forget_library();
    let record = library.seal(ACK, b"names").expect("a key");
    assert_eq!(server.of_library(&record), None);
    assert_eq!(server.for_library(ACK, b"names"), None);
}

/// After the handshake only the next message is heard, whole; what came before is known. One that is missing keeps
/// nothing waiting.
#[test]
fn one_message_at_a_time() {
    let [_, mut server] = pair(100);
    let mut hear =
        |epoch, messages: &[Vec<u8>]| server.receiving.hear(epoch, false, &messages.concat());
    assert_eq!(hear(3, &[update(6)]), Heard::Nothing, "5 is missing");
    assert_eq!(hear(3, &[part(KEY_UPDATE, 5, 9, 0, 1)]), Heard::Nothing);
    assert_eq!(hear(3, &[]), Heard::Nothing, "no message");
    assert_eq!(hear(3, &[vec![KEY_UPDATE, 0]]), Heard::Nothing, "cut off");
    let mut odd = update(5);
    odd[Part::HEADER] = 7;
    assert_eq!(hear(3, &[odd]), Heard::Illegal);
    assert_eq!(
        hear(2, &[update(5)]),
        Heard::Nothing,
        "the handshake is over"
    );
    assert_eq!(hear(2, &[part(FINISHED, 4, 32, 0, 32)]), KNOWN, "repeated");
    assert_eq!(hear(3, &[update(5)]), ASKS);
    assert_eq!(hear(4, &[update(6)]), Heard::Nothing, "unanswered");
    server.receiving.answered();
    let mut hear =
        |epoch, messages: &[Vec<u8>]| server.receiving.hear(epoch, false, &messages.concat());
    assert_eq!(hear(3, &[update(5)]), KNOWN, "a copy");
    assert_eq!(
        hear(3, &[update(6)]),
        Heard::Nothing,
        "the last one is not in use"
    );
    assert_eq!(hear(4, &[update(6), update(7)]), Heard::Nothing, "two keys");
    assert_eq!(
        hear(4, &[update(5), update(6)]),
        ASKS,
        "a known one and a new one"
    );
    assert_eq!(hear(5, &[part(99, 7, 5, 0, 2)]), Heard::Nothing, "a part");
    assert_eq!(hear(5, &[part(99, 7, 5, 0, 5)]), Heard::Misplaced(99));
    let ticket = part(NEW_SESSION_TICKET, 7, 9, 0, 9);
    assert_eq!(
        hear(5, &[ticket]),
        Heard::Misplaced(NEW_SESSION_TICKET),
        "of a client"
    );
}

/// A part of a ticket is a whole ticket, which nobody uses: its other parts are copies, and no message waits for them.
#[test]
fn a_ticket_needs_one_part() {
    let [mut client, _] = pair(100);
    let mut hear = |messages: &[Vec<u8>]| client.receiving.hear(3, true, &messages.concat());
    let ticket = |number, offset, bytes| part(NEW_SESSION_TICKET, number, 400, offset, bytes);
    assert_eq!(hear(&[ticket(3, 300, 100)]), KNOWN);
    assert_eq!(hear(&[ticket(3, 0, 300)]), KNOWN, "its other part");
    assert_eq!(hear(&[ticket(4, 0, 400), ticket(5, 0, 9), update(6)]), ASKS);
    assert_eq!(hear(&[update(6), ticket(7, 0, 400)]), KNOWN);
    assert_eq!(
        hear(&[update(8), ticket(9, 0, 400)]),
        Heard::Nothing,
        "a key does not end its record"
    );
}

/// The two lowest bits of an epoch name it, however many there were: the newest three are known.
#[test]
fn epochs_wrap() {
    let [mut client, mut server] = pair(100);
    let mut old = Vec::new();
    for epoch in 3..40_u64 {
        old.push(
            client
                .sending
                .seal(DATA, &epoch.to_be_bytes())
                .expect("a key"),
        );
        let late = client.sending.seal(DATA, b"late").expect("a key");
        let data = client.sending.seal(DATA, b"data").expect("a key");
        let [.., low] = epoch.to_be_bytes();
        let (opened, _) = server.receiving.read(NOW, &data).expect("in use");
        let number = if epoch == 3 { 2 } else { 3 };
        assert_eq!((opened.epoch, opened.number), (epoch, number));
        assert_eq!(data[0], 0x2c | low & 3);
        let record = client.sending.announce(false).expect("the next key");
        assert_eq!(client.sending.announce(true), None, "one at a time");
        let (opened, content) = server.receiving.read(NOW, &record).expect("in use");
        assert_eq!(opened.kind, HANDSHAKE);
        let heard = server.receiving.hear(opened.epoch, false, &content);
        assert_eq!(heard, Heard::Known { asks: Some(false) });
        server.receiving.answered();
        assert!(!client.sending.acknowledge(epoch, 0), "another record");
        assert!(!client.sending.acknowledge(epoch + 1, opened.number));
        assert!(client.sending.acknowledge(epoch, opened.number));
        assert!(!client.sending.acknowledge(epoch, opened.number), "once");
        assert!(
            server.receiving.read(NOW, &late).is_ok(),
            "of the last epoch"
        );
        let data = client.sending.seal(DATA, b"data").expect("a key");
        assert!(server.receiving.read(NOW, &data).is_ok(), "the new one");
        // The newest epoch is one more.
        let first = |epoch: u64| &old[usize::try_from(epoch - 3).expect("few")];
        if epoch > 4 {
            assert!(
                server.receiving.read(NOW, first(epoch - 1)).is_ok(),
                "two before"
            );
            assert!(
                server.receiving.read(NOW, first(epoch - 2)).is_err(),
                "three before"
            );
        }
    }
}

/// The keys of an old epoch are forgotten two minutes after the next one came into use, and those of the handshake with
/// them, but not while the first data are what is in use.
///
/// RFC 9147, 4.2.1.
#[test]
fn old_keys_are_forgotten() {
    let [mut client, mut server] = pair(101);
    let late = |sending: &mut Sending| sending.seal(DATA, b"late").expect("a key");
    let at = |seconds| NOW + Duration::from_secs(seconds);
    let all = |server: &Channel| server.receiving.known();
    let data = client.sending.seal(DATA, b"data").expect("a key");
    assert!(server.receiving.read(at(1_000), &data).is_ok());
    let [first, second] = [(); 2].map(|()| late(&mut client.sending));
    assert_eq!(all(&server), 2, "that of the handshake, too");
    let update = client.sending.announce(false).expect("the next key");
    let (opened, content) = server.receiving.read(at(1_000), &update).expect("genuine");
    server.receiving.hear(opened.epoch, false, &content);
    assert_eq!(all(&server), 3);
    let data = client.sending.seal(DATA, b"data").expect("a key");
    assert!(
        server.receiving.read(at(5_000), &data).is_ok(),
        "the old key is in use"
    );
    assert!(client.sending.acknowledge(opened.epoch, opened.number));
    for (seconds, left) in [(6_000, 3), (6_120, 3), (6_121, 1)] {
        let data = client.sending.seal(DATA, b"data").expect("a key");
        assert!(server.receiving.read(at(seconds), &data).is_ok());
        assert_eq!(all(&server), left, "{seconds}");
        if left == 3 && seconds == 6_120 {
            assert!(server.receiving.read(at(seconds), &first).is_ok());
        }
    }
    assert_eq!(
        server.receiving.read(at(6_121), &second),
        Err(Unopened::Useless)
    );
}

/// Until a record with a new key has come, the old one is known: its sender goes on with it if the acknowledgement gets
/// lost.
#[test]
fn old_keys_wait_for_new_ones() {
    let [mut client, mut server] = pair(100);
    let mut announced = vec![client.sending.announce(true).expect("the next key")];
    for number in 0..10_u8 {
        let data = client.sending.seal(DATA, &[number]).expect("a key");
        assert!(server.receiving.read(NOW, &data).is_ok());
        announced.push(client.sending.repeat().expect("the same key"));
    }
    let mut names = Vec::new();
    for (at, record) in announced.iter().enumerate() {
        let (opened, content) = server
            .receiving
            .read(NOW, record)
            .expect("each is a record of its own");
        let heard = server.receiving.hear(opened.epoch, false, &content);
        assert_eq!(heard, if at == 0 { ASKS } else { KNOWN });
        names.push((opened.epoch, opened.number));
    }
    // RFC 9147, 7.2: any of them will do.
    let (epoch, number) = names[4];
    assert!(client.sending.acknowledge(epoch, number));
    assert_eq!(client.sending.repeat(), None);
}

/// Of the records that a key protects, the last quarter varies with the end and the epoch.
#[test]
fn keys_are_worn_in_their_last_quarter() {
    let worn = |channel: &mut Channel| {
        let mut sealed = 0;
        while !channel.sending.is_worn() {
            channel.sending.seal(DATA, b"").expect("a key");
            sealed += 1;
        }
        sealed
    };
    for records in [1, 2, 3, 4, 100, 4_000] {
        let [mut client, mut server] = pair(records);
        let both = [worn(&mut client), worn(&mut server)];
        for sealed in both {
            assert!(
                (records - records / 4..=records).contains(&sealed),
                "{records}: {sealed}"
            );
        }
        assert!(records < 4_000 || both[0] != both[1], "{both:?}");
    }
}

/// The numbers of messages do not wrap.
#[test]
fn messages_end() {
    let mut sending = Sending::new(Suite::Aes128, secret(9, 0), 100);
    sending.begin(u16::MAX - 1);
    assert!(sending.announce(true).is_some());
    sending.cancel();
    assert_eq!(sending.announce(true), None);
    assert_eq!(HANDSHAKE_EPOCH, 2);
}
