//! Peers that do not speak DTLS 1.3.

use std::sync::Arc;
use std::time;

use dimpl::{Config, Dtls};
use fairwire_tls::{Alert, Output, Session, SessionError};
use fairwire_units::Instant;

use crate::keyed::certificate;
use crate::net::{CLIENT, DELAY, MAX_DATAGRAM, Net, SERVER, TODAY, pinned};

/// A client that offers only DTLS 1.2 fails with an error that says so, and is told with an alert.
///
/// RFC 8446, section 4.2.1.
#[test]
fn an_older_client_is_told() {
    let mut client = older(true);
    let (_, config) = pinned();
    let mut server =
        Session::server(&config, MAX_DATAGRAM, Instant::START, TODAY).expect("a server");
    let hello = datagram(&mut client).expect("a hello");
    let result = server.handle_datagram(Instant::START, &hello);
    assert_eq!(result, Err(SessionError::OlderVersion));
    let Output::Send(alert) = server.poll() else {
        panic!("an alert");
    };
    let error = client.handle_packet(&alert).expect_err("a fatal alert");
    assert!(error.to_string().contains("70"), "{error}");
    assert_eq!(Alert::PROTOCOL_VERSION.to_string(), "protocol_version (70)");
    assert_eq!(server.poll(), Output::Idle);
}

/// A server that speaks only DTLS 1.2, with or without a cookie, is recognised at once.
#[test]
fn an_older_server_is_recognised() {
    let (config, _) = pinned();
    let session =
        || Session::client(&config, MAX_DATAGRAM, Instant::START, TODAY).expect("a client");

    // A HelloVerifyRequest with an empty cookie.
    let mut record = vec![22, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15];
    record.extend_from_slice(&[3, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0xfe, 0xfd, 0]);
    let mut client = session();
    assert_eq!(
        client.handle_datagram(Instant::START, &record),
        Err(SessionError::OlderVersion)
    );

    let mut hello = vec![0xfe, 0xfd];
    hello.extend_from_slice(&[9; 32]);
    // No session, a suite of TLS 1.2 or 1.3, no compression, no extensions.
    for suite in [[0xc0, 0x2b], [0x13, 0x01]] {
        let mut body = hello.clone();
        body.extend_from_slice(&[0, suite[0], suite[1], 0]);
        let length = u8::try_from(body.len()).expect("short");
        let mut record = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12 + length];
        record.extend_from_slice(&[2, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length]);
        record.extend_from_slice(&body);
        let mut client = session();
        assert_eq!(
            client.handle_datagram(Instant::START, &record),
            Err(SessionError::OlderVersion)
        );
    }
}

/// A first datagram that is no DTLS ends the session with an error that shows how it begins; later ones are dropped.
#[test]
fn a_peer_without_dtls_is_recognised() {
    for text in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"",
        b"1234",
        &[0x16, 3, 1, 2, 0, 1, 0],
        &[0; 64],
    ] {
        for end in [CLIENT, SERVER] {
            let (client, server) = pinned();
            let mut net = Net::new(&client, &server);
            net.arrive(end, text);
            let error = SessionError::NotDtls {
                length: text.len(),
                first: text.first().copied(),
            };
            assert_eq!(*net.error(end), error);
        }
    }
    let error = SessionError::NotDtls {
        length: 18,
        first: Some(b'G'),
    };
    assert!(
        error
            .to_string()
            .contains("18 bytes and begins with the byte 0x47"),
        "{error}"
    );

    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    net.run_for(DELAY * 2);
    for end in [CLIENT, SERVER] {
        net.arrive(end, b"GET / HTTP/1.1\r\n\r\n");
    }
    net.run_for(DELAY * 10);
    net.expect_connected();
}

/// An alert of the peer during the handshake is told by its name.
#[test]
fn an_alert_is_named() {
    for (number, name) in [
        (40, "handshake_failure (40)"),
        (48, "unknown_ca (48)"),
        (200, "alert 200"),
    ] {
        let (client, server) = pinned();
        let mut net = Net::new(&client, &server);
        net.arrive(
            CLIENT,
            &[21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, number],
        );
        assert_eq!(
            *net.error(CLIENT),
            SessionError::Alert(Alert::from_number(number))
        );
        assert!(
            net.error(CLIENT).to_string().ends_with(name),
            "{}",
            net.error(CLIENT)
        );
    }
}

/// Returns an end that speaks only DTLS 1.2.
#[expect(
    clippy::disallowed_methods,
    reason = "that library's clock; no time passes in these tests"
)]
fn older(client: bool) -> Dtls {
    let now = time::Instant::now();
    let mut end = Dtls::new_12(Arc::new(Config::default()), certificate(), now);
    end.set_active(client);
    end.handle_timeout(now).expect("it begins");
    end
}

fn datagram(end: &mut Dtls) -> Option<Vec<u8>> {
    let mut buffer = [0; 2_000];
    match end.poll_output(&mut buffer) {
        dimpl::Output::Packet(datagram) => Some(datagram.to_vec()),
        _ => None,
    }
}
