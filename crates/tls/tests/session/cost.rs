//! What a hostile peer costs: it holds no more memory than the limits in `docs/security.md`.
//!
//! `STRANGERS=4096 cargo test -p fairwire-tls --test session cost -- --nocapture` prints the memory of so many.

use fairwire_held::thread::{bytes, measure};
use fairwire_tls::{
    ClientConfig, Fingerprint, Identity, Output, ServerConfig, Session, SessionError, Trust,
    Validity,
};
use fairwire_units::{Duration, Instant};

use crate::keyed::{Keyed, certificate, part, plain};
use crate::net::{MAX_DATAGRAM, Random, TODAY, pinned};

const NOW: Instant = Instant::START;

/// The most memory of a session before its peer has keys, with keys, and once it is connected, in bytes. What counts
/// towards `max_memory` is no less (`Session::memory`).
const BEFORE_KEYS: u64 = 48 << 10;
const WITH_KEYS: u64 = 96 << 10;
const WITH_CERTIFICATE: u64 = 192 << 10;
const CONNECTED: u64 = 11 << 10;

const KEY_UPDATE: u8 = 24;
const HANDSHAKE: u8 = 22;

fn server(config: &ServerConfig) -> Session {
    Session::server(config, MAX_DATAGRAM, NOW, TODAY).expect("a server")
}

/// Returns how many peers a test has.
fn strangers() -> u64 {
    let asked = std::env::var("STRANGERS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(16)
}

/// Runs `attack` for each of many peers, and returns the memory that all of them hold for one.
fn held_by(what: &str, mut attack: impl FnMut() -> Session) -> u64 {
    drop(attack());
    let count = strangers();
    let (sessions, used) = measure(|| (0..count).map(|_| attack()).collect::<Vec<Session>>());
    drop(sessions);
    println!(
        "{what}: {count} peers hold {} bytes each",
        used.kept / count
    );
    used.kept / count
}

/// Empty and short parts of a client's messages, of any number, hold little memory before there are keys.
#[test]
fn strangers_hold_little_memory() {
    let (_, config) = pinned();
    let held = held_by("before keys", || {
        let mut server = server(&config);
        for number in 0..62 {
            // A hello, and later messages, of which nothing or little comes.
            let (kind, bytes) = if number < 2 { (1, 1) } else { (11, 0) };
            let message = part(kind, number, 200, 100, &vec![0; bytes]);
            let _ = server.handle_datagram(NOW, &plain(HANDSHAKE, &message));
        }
        server
    });
    assert!(held <= BEFORE_KEYS, "{held}");
}

/// Records that look protected hold little memory, too, while the server has no keys: it has asked for a cookie.
#[test]
fn strangers_with_protected_records_hold_little_memory() {
    let (_, config) = pinned();
    let held = held_by("before keys, protected records", || {
        let mut server = server(&config);
        let hello = Keyed::client().poll().expect("a hello");
        server.handle_datagram(NOW, &hello).expect("genuine");
        assert!(matches!(server.poll(), Output::Send(_)), "a cookie");
        for flags in [0x2e, 0x2f] {
            let record = [&[flags, 0, 1, 15, 0][..], &[9; 15 << 8]].concat();
            for _ in 0..32 {
                let _ = server.handle_datagram(NOW, &record);
            }
        }
        server
    });
    assert!(held <= BEFORE_KEYS, "{held}");
}

/// A client with the keys of its handshake, which it does not end, holds little memory, whatever it sends.
#[test]
fn unfinished_clients_hold_little_memory() {
    let (_, config) = pinned();
    let held = held_by("with keys", || {
        let mut server = server(&config);
        let mut client = Keyed::client();
        // In place of its last message: a byte of it, then bytes of it and of later ones.
        let begin = [part(20, 2, 32, 0, &[0]), vec![HANDSHAKE]].concat();
        client.connect(&mut server, vec![begin]);
        for number in 0..7_u8 {
            let rest = part(20, 2 + u16::from(number % 3), 32, number, &[0, 0]);
            for datagram in client.repeat([rest, vec![HANDSHAKE]].concat()) {
                let _ = server.handle_datagram(NOW, &datagram);
            }
        }
        for _ in 0..100 {
            let early = client.seal(23, &[9; 1_280]);
            let _ = server.handle_datagram(NOW, &early);
        }
        assert!(!server.is_connected());
        server
    });
    assert!(held <= WITH_KEYS, "{held}");
}

/// A client that ends its handshake with a message of the wrong length and then goes on as if it were connected holds
/// little memory: no message follows the last one before the handshake is complete.
#[test]
fn clients_with_a_wrong_end_hold_little_memory() {
    let (_, config) = pinned();
    let held = held_by("with keys, messages after a wrong end", || {
        let mut server = server(&config);
        let mut client = Keyed::client();
        let end = [part(20, 2, 31, 0, &[0; 31]), vec![HANDSHAKE]].concat();
        client.connect(&mut server, vec![end]);
        for number in 3..25 {
            let update = [part(KEY_UPDATE, number, 1, 0, &[0]), vec![HANDSHAKE]].concat();
            for datagram in client.repeat(update) {
                let _ = server.handle_datagram(NOW, &datagram);
            }
        }
        assert!(!server.is_connected());
        server
    });
    assert!(held <= WITH_KEYS, "{held}");
}

/// An anonymous client that is connected holds little memory with messages that wait for others, and those end no
/// session: what it then sends is delivered.
#[test]
fn connected_clients_hold_little_memory() {
    let (_, config) = pinned();
    let held = held_by("connected", || {
        let mut server = server(&config);
        let mut client = Keyed::connected(&mut server).expect("a good client");
        for count in 0..100_u16 {
            // One number too high, cut into parts, of an unknown type.
            let early = part(KEY_UPDATE, 4 + count % 3, 1, 0, &[0]);
            let cut = part(KEY_UPDATE, 3, 200, 0, &[0]);
            for (kind, content) in [(HANDSHAKE, early), (HANDSHAKE, cut), (99, vec![0; 20])] {
                let record = client.seal(kind, &content);
                server.handle_datagram(NOW, &record).expect("dropped");
            }
            let data = client.seal(23, b"data");
            server.handle_datagram(NOW, &data).expect("genuine");
            let data =
                std::iter::repeat_with(|| server.poll()).take_while(|out| *out != Output::Idle);
            let count = data
                .filter(|out| *out == Output::Data("data".into()))
                .count();
            assert_eq!(count, 1);
        }
        server
    });
    assert!(held <= CONNECTED, "{held}");
}

/// Records of the longest kind, of use and of none, leave nothing behind.
#[test]
fn clients_with_long_records_hold_bounded_memory() {
    let (_, config) = pinned();
    let held = held_by("connected, records of 16 kB", || {
        let mut server = server(&config);
        let mut client = Keyed::connected(&mut server).expect("a good client");
        for count in 0..20_u16 {
            let update = part(KEY_UPDATE, 2 + count, 1, 0, &[1]);
            let long = [update.clone(), vec![0; 16_000]].concat();
            for (kind, content) in [
                (23, vec![7; 16_000]),
                (HANDSHAKE, long),
                (99, vec![0; 16_000]),
                (HANDSHAKE, update),
            ] {
                let record = client.seal(kind, &content);
                server.handle_datagram(NOW, &record).expect("genuine");
                while let out @ (Output::Data(_) | Output::Send(_)) = server.poll() {
                    if let Output::Send(datagram) = out {
                        client.hear(&datagram);
                    }
                }
            }
        }
        server
    });
    assert!(held <= CONNECTED, "{held}");
}

/// A peer that is connected and announces eight new keys in each record, one of which it uses then, holds little memory
/// at either end.
///
/// RFC 9147, section 8: an honest peer announces one, and waits for the acknowledgement.
#[test]
fn peers_with_many_new_keys_hold_little_memory() {
    let announce = |end: &mut Session, peer: &mut Keyed, first: u16| {
        let update = |number| part(KEY_UPDATE, number, 1, 0, &[0]);
        for record in 0..26 {
            let first = first + 8 * record;
            let updates: Vec<Vec<u8>> = (first..first + 8).map(update).collect();
            let Some(records) = peer.renew(&updates.concat()) else {
                return;
            };
            let _ = end.handle_datagram(NOW, &records);
            while let out @ (Output::Data(_) | Output::Send(_)) = end.poll() {
                if let Output::Send(datagram) = out {
                    peer.hear(&datagram);
                }
            }
        }
    };
    let (_, config) = pinned();
    let held = held_by("connected, a client with many keys", || {
        let mut server = server(&config);
        let mut client = Keyed::renewing_client();
        client.connect(&mut server, Vec::new());
        assert!(server.is_connected(), "{server:?}");
        announce(&mut server, &mut client, 3);
        server
    });
    assert!(held <= CONNECTED, "{held}");
    let shown = certificate();
    let config = ClientConfig::pinned([Fingerprint::of(&shown.certificate)]);
    let held = held_by("connected, a server with many keys", || {
        let mut client = Session::client(&config, MAX_DATAGRAM, NOW, TODAY).expect("a client");
        let mut server = Keyed::renewing_server(shown.clone());
        server.connect(&mut client, Vec::new());
        assert!(client.is_connected(), "{client:?}");
        // Its library has announced a key in message 6.
        announce(&mut client, &mut server, 7);
        client
    });
    assert!(held <= CONNECTED, "{held}");
}

/// A peer that announces one key in a record, behind a ticket, is heard, however often.
#[test]
fn one_new_key_at_a_time_is_taken() {
    let shown = certificate();
    let config = ClientConfig::pinned([Fingerprint::of(&shown.certificate)]);
    let mut client = Session::client(&config, MAX_DATAGRAM, NOW, TODAY).expect("a client");
    let mut server = Keyed::renewing_server(shown);
    server.connect(&mut client, Vec::new());
    for round in 0..10 {
        // Its library has announced a key in message 6.
        let number = 7 + 2 * round;
        let ticket = part(4, number, 20, 0, &[0; 20]);
        let update = part(KEY_UPDATE, number + 1, 1, 0, &[0]);
        let records = server.renew(&[ticket, update].concat());
        let records = records.expect("the last key was acknowledged");
        client.handle_datagram(NOW, &records).expect("genuine");
        let mut data = 0;
        while let out @ (Output::Data(_) | Output::Send(_)) = client.poll() {
            match out {
                Output::Send(datagram) => server.hear(&datagram),
                _ => data += 1,
            }
        }
        assert_eq!(data, 1, "{round}: sealed with the new key");
    }
}

/// A client that shows a long certificate in many short parts, to a server that asks for one, holds bounded memory, too.
#[test]
fn clients_with_certificates_hold_bounded_memory() {
    let (_, config) = pinned();
    let config = config.clients(Trust::Fingerprints(Vec::new()));
    let held = held_by("asked for a certificate", || {
        let mut server = server(&config);
        let mut client = Keyed::client();
        // Bytes of a certificate of 10 kB, as many as the library holds, and then of the message behind it.
        let cut = |number: u8| {
            let header = [11, 0, 40, 0, 0, 2, 0, 0, number, 0, 0, 1, 7];
            [&header[..], &[HANDSHAKE]].concat()
        };
        client.connect(&mut server, vec![cut(0), cut(1), cut(2)]);
        for number in 3..16 {
            for datagram in client.repeat(cut(number)) {
                server.handle_datagram(NOW, &datagram).expect("a part");
            }
        }
        for _ in 0..20 {
            let early = client.seal(23, &[9; 1_280]);
            server.handle_datagram(NOW, &early).expect("it waits");
        }
        assert!(!server.is_connected());
        server
    });
    assert!(held <= WITH_CERTIFICATE, "{held}");
}

/// A client that cuts its certificate into more parts than the library holds is told from one that breaks the protocol:
/// the error names the length of the message and the limit.
#[test]
fn a_certificate_in_too_many_parts_is_refused_with_its_length() {
    let (_, config) = pinned();
    let mut server = server(&config.clients(Trust::Fingerprints(Vec::new())));
    let mut client = Keyed::client();
    // Parts of 450 bytes, as a path of 576 bytes carries them.
    let cut = |number: u16| {
        let [high, low] = (450 * number).to_be_bytes();
        let header = [11, 0, 40, 0, 0, 2, 0, high, low, 0, 1, 194];
        [&header[..], &[7; 450], &[HANDSHAKE]].concat()
    };
    client.connect(&mut server, vec![cut(0), cut(1), cut(2)]);
    let mut results = Vec::new();
    for number in 3..17 {
        for datagram in client.repeat(cut(number)) {
            results.push(server.handle_datagram(NOW, &datagram));
        }
    }
    let error = SessionError::TooManyParts {
        length: 10_240,
        limit: 16,
    };
    assert!(results.contains(&Ok(())));
    assert_eq!(results.last(), Some(&Err(error.clone())));
    let text = error.to_string();
    assert!(
        text.contains("10240 bytes") && text.contains("16 parts"),
        "{text}"
    );
}

/// A record that waits for the messages before it is judged like any other when they have come.
#[test]
fn a_wrong_message_that_came_early_ends_the_handshake() {
    let (_, config) = pinned();
    let mut server = server(&config.clients(Trust::Fingerprints(Vec::new())));
    let waits = [part(15, 3, 4, 0, &[9; 4]), part(8, 4, 1, 0, &[0])].concat();
    // Not readable, so that it leads to no other error.
    let certificate = part(11, 2, 4, 0, &[9; 4]);
    let forged = [waits, certificate].map(|messages| [messages, vec![HANDSHAKE]].concat());
    Keyed::client().connect(&mut server, forged.into());
    let result = server.handle_datagram(NOW, b"");
    let Err(SessionError::Protocol { reason }) = result else {
        panic!("{result:?}");
    };
    assert!(reason.contains("type 8"), "{reason}");
}

/// Data in many short records hold at most some ten times the bytes of their datagram, and asking for them takes no
/// more.
#[test]
fn many_records_hold_little_memory() {
    let (_, config) = pinned();
    let mut server = server(&config);
    let mut client = Keyed::connected(&mut server).expect("a good client");
    while server.poll() != Output::Idle {}
    let datagram: Vec<u8> = (0..32).flat_map(|_| client.seal(23, b"1")).collect();
    let (result, used) = measure(|| server.handle_datagram(NOW, &datagram));
    result.expect("genuine");
    assert!(used.kept <= 10 * datagram.len() as u64, "{used:?}");
    let large: Vec<u8> = (0..32).flat_map(|_| client.seal(23, &[7; 1_000])).collect();
    let (result, used) = measure(|| server.handle_datagram(NOW, &large));
    result.expect("genuine");
    assert!(used.kept <= 2 * large.len() as u64, "{used:?}");
}

/// A datagram of empty or forged records makes the library do no more than one record: it is asked once at most.
#[test]
fn junk_costs_one_call() {
    let (_, config) = pinned();
    let mut server = server(&config);
    let mut client = Keyed::client();
    client.connect(
        &mut server,
        vec![[part(20, 2, 32, 0, &[0]), vec![HANDSHAKE]].concat()],
    );
    let forged = [&[0x2e, 0, 1, 0, 17][..], &[9; 17]].concat();
    let mut calls_of = |datagram: &[u8]| {
        let mut datagram = datagram.to_vec();
        let (result, used) = measure(|| server.open(NOW, &mut datagram));
        result.expect("dropped");
        used.calls
    };
    let one = calls_of(&forged);
    assert!(calls_of(&forged.repeat(32)) <= one, "{one}");
    let early = [&[0x2f], &forged[1..]].concat();
    assert!(calls_of(&early.repeat(32)) <= one, "{one}");
    for header in [&[0x2e, 0, 1, 0, 0][..], &[0x26, 0, 0, 0]] {
        let calls = calls_of(&header.repeat(32));
        assert_eq!(calls, 0, "no allocation, so no call of the library");
    }
}

/// Records of 16 kB in any order, with new keys and copies of them, hold no more memory than is reserved.
#[test]
fn no_order_of_records_holds_more_than_is_reserved() {
    let (_, config) = pinned();
    let update = |number, asks| part(KEY_UPDATE, number, 1, 0, &[asks]);
    let long = |message| [message, vec![HANDSHAKE], vec![0; 16_000]].concat();
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut server = server(&config);
        let mut client = Keyed::connected(&mut server).expect("a good client");
        let mut steps = Vec::new();
        let (mut now, mut number) = (NOW, 2);
        for _ in 0..100 {
            let step = random.below(7);
            steps.push(step);
            let record = match step {
                0 | 1 => client.seal(23, &[7; 16_000]),
                2 => client.seal(HANDSHAKE, &long(update(number, 1))),
                3 => client.seal(HANDSHAKE, &update(number, 1)),
                4 => client.seal(HANDSHAKE, &long(update(number - 1, 1))),
                5 => client.seal(99, &[7; 16_000]),
                _ => {
                    now += Duration::from_millis(100);
                    continue;
                }
            };
            number += u16::from(matches!(step, 2 | 3));
            server.handle_datagram(now, &record).expect("genuine");
            while let out @ (Output::Data(_) | Output::Send(_)) = server.poll() {
                if step.is_multiple_of(2)
                    && let Output::Send(datagram) = out
                {
                    client.hear(&datagram);
                }
            }
        }
        let reserved = i64::try_from(server.memory()).expect("a number");
        let held = held_by_dropping(server);
        assert!(held <= reserved, "{seed}: {held} of {reserved}, {steps:?}");
    }
}

/// However a client cuts and pads its certificate, a server that asks for it never needs more memory than is reserved: not
/// while parts are missing, and not while it puts them together, beside a long certificate of its own and data that came
/// early.
#[test]
fn no_split_of_a_certificate_passes_the_reservation() {
    let mut worst = 0;
    // Certificates of some 400 bytes, 2 kB and 6 kB.
    for names in [1, 55, 190] {
        let names: Vec<String> = (0..names)
            .map(|n| format!("host-{n}.a.long.example.org"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let own = Identity::generate(&names, Validity::days(TODAY, 1)).expect("an identity");
        let config = ServerConfig::new(own).clients(Trust::Fingerprints(Vec::new()));
        for length in [600_usize, 5_000, 10_240, 12_288] {
            for (parts, padding) in [(2, 16_000), (5, 5_000), (16, 0), (16, 60), (16, 400)] {
                for share in [length.div_ceil(parts), 1] {
                    let certificate = Split {
                        length,
                        share,
                        padding,
                    };
                    let server = server(&config);
                    let reserved = i64::try_from(server.memory()).expect("a number");
                    let peak = certificate.peak(server, parts);
                    let what = format!("{length} bytes, {parts} parts, {padding} zeros, {share}");
                    assert!(peak <= reserved, "{what}: {peak} of {reserved}");
                    worst = worst.max(peak);
                }
            }
        }
        println!("asked for a certificate in parts: {worst} bytes at the most");
    }
    assert!(worst > 250_000, "it is the worst that is known: {worst}");
}

/// A certificate message that is cut into parts of so many bytes, each in a record with so many zeros.
struct Split {
    length: usize,
    share: usize,
    padding: usize,
}

impl Split {
    /// Returns the content of a record with a part of the message: a list of one certificate, which no one can read.
    fn part(&self, number: usize) -> Vec<u8> {
        let three = |of: usize| u32::try_from(of).expect("short").to_be_bytes();
        let [list, certificate] = [self.length - 4, self.length - 9].map(three);
        let mut message = [&[0], &list[1..], &certificate[1..]].concat();
        message.resize(self.length - 2, 7);
        message.extend([0, 0]);
        let begin = (number * self.share).min(self.length);
        let end = (begin + self.share).min(self.length);
        let [length, offset, own] = [self.length, begin, end - begin].map(three);
        let header = [&[11], &length[1..], &[0, 2], &offset[1..], &own[1..]].concat();
        // As many zeros as the longest record has room for.
        let zeros = vec![0; self.padding.min(16_300 - (end - begin))];
        [&header[..], &message[begin..end], &[HANDSHAKE], &zeros].concat()
    }

    /// Returns the most bytes that a server holds at one time when a client shows it so many parts after early data.
    fn peak(&self, mut server: Session, parts: usize) -> i64 {
        let mut client = Keyed::client();
        client.connect(&mut server, vec![self.part(0), vec![0], vec![0]]);
        let (mut grown, mut most) = (0, 0);
        let mut take = |server: &mut Session, datagram: &[u8]| {
            let before = bytes();
            let (_, used) = measure(|| server.handle_datagram(NOW, datagram));
            most = most.max(grown + i64::try_from(used.peak).expect("a number"));
            grown += bytes() - before;
        };
        for _ in 0..30 {
            take(&mut server, &client.seal(23, &[9; 1_480]));
        }
        for number in 1..parts {
            for datagram in client.repeat(self.part(number)) {
                take(&mut server, &datagram);
            }
        }
        // What it held before them is known when it is dropped.
        held_by_dropping(server) - grown + most
    }
}

/// Drops a session, and returns how many bytes that gave back.
fn held_by_dropping(session: Session) -> i64 {
    let before = bytes();
    drop(session);
    before - bytes()
}
