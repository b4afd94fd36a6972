//! A peer that is the library alone: its records and keys are not ours.

use std::sync::Arc;
use std::time;

use dimpl::crypto::Dtls13CipherSuite;
use dimpl::{Config, Dtls};
use fairwire_tls::{ClientConfig, Fingerprint, Output, ServerConfig, Session};
use fairwire_units::{Duration, Instant};

use crate::keyed::certificate;
use crate::net::{MAX_DATAGRAM, TODAY, identity};

const SUITES: [Dtls13CipherSuite; 3] = [
    Dtls13CipherSuite::AES_128_GCM_SHA256,
    Dtls13CipherSuite::AES_256_GCM_SHA384,
    Dtls13CipherSuite::CHACHA20_POLY1305_SHA256,
];

/// A session and its peer on a path without delay.
struct Pair {
    session: Session,
    peer: Dtls,
    began: time::Instant,
    now: Instant,
    /// What the peer has sent.
    past: Vec<Vec<u8>>,
    to_session: Vec<Vec<u8>>,
    to_peer: Vec<Vec<u8>>,
}

impl Pair {
    /// A pair whose handshake is complete. Keys of the session and of its peer protect so many records.
    #[expect(
        clippy::disallowed_methods,
        reason = "that library's clock; its time is the tests'"
    )]
    fn connected(is_client: bool, suite: Dtls13CipherSuite, records: [u64; 2]) -> Self {
        let config = Config::builder()
            .dtls13_cipher_suites(&[suite])
            .require_client_certificate(false)
            .aead_encryption_limit(records[1])
            .dangerously_set_rng_seed(1)
            .build();
        let (config, now, began) = (
            Arc::new(config.expect("a configuration")),
            Instant::START,
            time::Instant::now(),
        );
        let shown = certificate();
        let session = if is_client {
            let config = ClientConfig::pinned([Fingerprint::of(&shown.certificate)]);
            Session::client(
                &config.records_per_key(records[0]),
                MAX_DATAGRAM,
                now,
                TODAY,
            )
        } else {
            let config = ServerConfig::new(identity()).records_per_key(records[0]);
            Session::server(&config, MAX_DATAGRAM, now, TODAY)
        };
        let mut peer = Dtls::new_13(config, shown, began);
        peer.set_active(!is_client);
        let mut pair = Self {
            session: session.expect("a session"),
            peer,
            began,
            now,
            past: Vec::new(),
            to_session: Vec::new(),
            to_peer: Vec::new(),
        };
        pair.exchange();
        assert!(pair.session.is_confirmed(), "{:?}", pair.session);
        pair
    }

    /// Lets both say all they have to say.
    fn exchange(&mut self) {
        loop {
            let time = self.began + time::Duration::from(self.now.saturating_since(Instant::START));
            self.peer.handle_timeout(time).expect("it goes on");
            let mut is_any = false;
            let mut buffer = vec![0; 20_000];
            loop {
                match self.peer.poll_output(&mut buffer) {
                    dimpl::Output::Packet(packet) => {
                        is_any = true;
                        let packet = packet.to_vec();
                        self.past.push(packet.clone());
                        let taken = self.session.handle_datagram(self.now, &packet);
                        taken.expect("a good peer");
                    }
                    dimpl::Output::ApplicationData(data) => self.to_peer.push(data.to_vec()),
                    dimpl::Output::Timeout(_) => break,
                    _ => {}
                }
            }
            loop {
                match self.session.poll() {
                    Output::Send(datagram) => {
                        is_any = true;
                        self.peer.handle_packet(&datagram).expect("a good session");
                    }
                    Output::Data(data) => self.to_session.push(data.to_vec()),
                    Output::Idle => break,
                    _ => {}
                }
            }
            if !is_any {
                return;
            }
        }
    }

    fn seal(&mut self, data: &[u8]) -> u8 {
        let record = self.session.seal(data).expect("it is connected");
        self.peer.handle_packet(&record).expect("a good session");
        record[0] & 0b11
    }
}

/// Data pass in both directions, with all cipher suites and at either end, while both replace their keys again and again
/// and ask each other for it.
#[test]
fn keys_of_both_ends_are_replaced() {
    for suite in SUITES {
        for is_client in [true, false] {
            let mut pair = Pair::connected(is_client, suite, [9, 7]);
            let mut epochs = Vec::new();
            for number in 0..300_u16 {
                let bits = pair.seal(&number.to_be_bytes());
                if epochs.last() != Some(&bits) {
                    epochs.push(bits);
                }
                let sent = pair.peer.send_application_data(&number.to_be_bytes());
                sent.expect("it is connected");
                pair.exchange();
            }
            let all: Vec<Vec<u8>> = (0..300_u16).map(|n| n.to_be_bytes().to_vec()).collect();
            assert_eq!(pair.to_peer, all, "{suite:?} {is_client}");
            assert_eq!(pair.to_session, all, "{suite:?} {is_client}");
            assert!(epochs.len() > 30, "{epochs:?}");
            // Between two data it may replace its key for both reasons.
            let next = |pair: &[u8]| [1, 2].contains(&((pair[1] + 4 - pair[0]) % 4));
            assert!(epochs.windows(2).all(next), "{epochs:?}");
        }
    }
}

/// What only one end asks for is answered: the other one replaces its key, too.
#[test]
fn a_request_is_answered() {
    for is_client in [true, false] {
        for records in [[5, 1 << 20], [1 << 20, 5]] {
            let mut pair = Pair::connected(is_client, SUITES[0], records);
            let (mut of_session, mut of_peer) = (Vec::new(), Vec::new());
            for number in 0..12_u8 {
                of_session.push(pair.seal(&[number]));
                let sent = pair.peer.send_application_data(&[number]);
                sent.expect("it is connected");
                pair.exchange();
                of_peer.push(pair.past.last().expect("its data")[0] & 0b11);
            }
            assert_eq!((pair.to_peer.len(), pair.to_session.len()), (12, 12));
            let what = format!("{records:?}: {of_session:?} {of_peer:?}");
            for mut epochs in [of_session, of_peer] {
                epochs.dedup();
                // The first is epoch 3. Twelve data under a limit of 5, or of 4, as the library draws it, are two
                // changes at least.
                assert!(epochs[0] == 3 && epochs.len() > 2, "{what}");
            }
        }
    }
}

/// Records of the peer in the reverse order are all read, each once, also those that come again later.
#[test]
fn reversed_records_are_read_once() {
    for suite in SUITES {
        let mut pair = Pair::connected(true, suite, [1 << 20, 1 << 20]);
        let mut records = Vec::new();
        let mut buffer = vec![0; 2_000];
        for number in 0..1_000_u16 {
            let data = number.to_be_bytes();
            pair.peer
                .send_application_data(&data)
                .expect("it is connected");
            while let dimpl::Output::Packet(packet) = pair.peer.poll_output(&mut buffer) {
                records.push(packet.to_vec());
            }
        }
        for record in records.iter().rev().chain(&records) {
            let taken = pair.session.handle_datagram(pair.now, record);
            taken.expect("a good peer");
        }
        pair.exchange();
        let all: Vec<Vec<u8>> = (0..1_000_u16)
            .rev()
            .map(|n| n.to_be_bytes().to_vec())
            .collect();
        assert_eq!(pair.to_session, all, "{suite:?}");
    }
}

/// A peer that did not get the acknowledgement of the end of its handshake repeats that, and is told again, however long
/// ago the session has forgotten its handshake, and while data pass.
#[test]
fn the_end_of_a_handshake_is_acknowledged_again() {
    let mut pair = Pair::connected(false, SUITES[0], [1 << 20, 1 << 20]);
    let finished = pair.past.last().expect("the end of its handshake").clone();
    assert_eq!(finished[0] & 0b11, 2);
    for _ in 0..2 {
        pair.peer
            .send_application_data(b"data")
            .expect("it is connected");
        pair.exchange();
        pair.now += Duration::from_secs(100);
    }
    let before = pair.session.stats().opened;
    pair.session
        .handle_datagram(pair.now, &finished)
        .expect("it is genuine");
    assert_eq!(pair.session.stats().opened, before + 1);
    let Output::Send(again) = pair.session.poll() else {
        panic!("it is not acknowledged");
    };
    assert_eq!(again.len(), 40);
    pair.session
        .handle_datagram(pair.now, &finished)
        .expect("a copy");
    assert_eq!(pair.session.poll(), Output::Idle);
}
