//! DTLS handshakes that wait: for memory, and for the parts of a long certificate.

use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::tls::{
    CertificateError, ClientConfig, Date, Fingerprint, Identity, ServerConfig, SessionError,
    Validity,
};
use fairwire::{
    Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, EndpointConfig,
    HandshakeError, ListenOptions, Rate, Security,
};
use tokio::time::Instant;

use crate::handshake_losses::LoseOne;
use crate::{PORT, SERVICE};

/// A link that loses the packet with this number on the way to the client.
fn link(to_client: u64) -> Link {
    let one_way = || Link::new(Rate::from_bits_per_s(20_000_000), Duration::from_millis(10));
    one_way().back(one_way().loss_model(LoseOne(to_client)))
}

/// Returns an identity for so many names: with 190 its certificate has 6 kB.
fn identity(names: usize) -> Identity {
    let names: Vec<String> = (0..names)
        .map(|n| format!("host-{n}.a.long.example.org"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    Identity::generate(&names, validity).expect("an identity")
}

/// Connects, with a minute of patience.
async fn connect(
    client: &Endpoint,
    remote: DccpAddr,
    security: Security<ClientConfig>,
) -> Result<Connection, ConnectError> {
    let mut config = Config::default();
    config.connect_timeout = Duration::from_secs(60);
    let options = ConnectOptions::new().config(config);
    client
        .connect_with(remote, SERVICE, security, options)
        .await
}

fn handshake(error: ConnectError) -> HandshakeError {
    match error {
        ConnectError::Handshake { error, .. } => error,
        error => panic!("{error}"),
    }
}

/// A handshake waits for memory for ten seconds, which is less than the time to connect, and then says how much it
/// needs. It begins within a tenth of a second after another gives its memory back.
#[tokio::test(start_paused = true)]
async fn a_handshake_waits_ten_seconds_for_memory() {
    let security = ClientConfig::pinned([Fingerprint::from_bytes([7; 32])]);
    let needed = security.handshake_memory();
    let (here, there) = link(0).hosts().expect("a link");
    let mut limits = EndpointConfig::default();
    // One handshake and a half, beside the eighth that stays free for histories.
    limits.max_memory = needed * 12 / 7;
    let builder = Endpoint::builder().config(limits);
    let client = builder.bind_emulated(&here, 6_511).expect("a free port");
    let server = there.bind(6_511).expect("a free port");
    // It never answers a hello.
    let options = ListenOptions::new();
    let listener = server.listen_with(PORT, &[SERVICE], Security::None, options);
    let listener = listener.expect("a free port");
    let serving = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok(connection) = listener.accept().await {
            held.push(connection);
        }
    });
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: PORT,
    };
    let first = {
        let (client, security) = (client.clone(), Security::dtls(security.clone()));
        tokio::spawn(async move { connect(&client, remote, security).await.map(drop) })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    let refused = connect(&client, remote, Security::dtls(security.clone())).await;
    let waited = began.elapsed();
    let error = handshake(refused.expect_err("no memory"));
    let HandshakeError::NoMemory { needed: told } = error else {
        panic!("{error}");
    };
    assert_eq!(told, needed);
    // A handshake of DCCP comes before it, of a round trip.
    let whole = Duration::from_secs(10);
    assert!(waited >= whole, "{waited:?}");
    assert!(waited < whole + Duration::from_millis(100), "{waited:?}");
    // Now the other one ends while this one waits.
    let second = tokio::spawn(async move {
        connect(&client, remote, Security::dtls(security))
            .await
            .map(drop)
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    first.abort();
    // Without memory it would have ended by now.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(!second.is_finished());
    let error = handshake(second.await.expect("no panic").expect_err("no answer"));
    assert!(
        matches!(error, HandshakeError::Timeout { .. }),
        "it began: {error}"
    );
    serving.abort();
}

/// A server's certificate of 6 kB comes in parts, in a datagram each. A client checks the whole of it, whichever packet
/// of the first twelve is lost: it accepts the one that it knows and no other.
#[tokio::test(start_paused = true)]
async fn a_long_certificate_of_a_server_is_checked() {
    let (theirs, other) = (identity(190), identity(190));
    assert!(theirs.certificate().len() > 4 * 1_400);
    for lost in 0..=12 {
        for known in [theirs.fingerprint(), other.fingerprint()] {
            let (client, server) = link(lost).join().expect("a link");
            let security = Security::dtls(ServerConfig::new(theirs.clone()));
            let listener = server.listen(PORT, &[SERVICE], security);
            let listener = listener.expect("a free port");
            let remote = DccpAddr {
                addr: server.local_addr(),
                dccp_port: PORT,
            };
            let security = Security::dtls(ClientConfig::pinned([known]));
            let serving = tokio::spawn(async move {
                let there = listener.accept().await.ok()?;
                there.recv().await.ok().map(|received| received.data)
            });
            let connected = connect(&client, remote, security).await;
            if known == theirs.fingerprint() {
                let here = connected.unwrap_or_else(|error| panic!("{lost}: {error}"));
                assert_eq!(here.peer_fingerprint(), Some(known));
                here.send("hello").await.expect("open");
                let read = serving.await.expect("no panic");
                assert_eq!(read.as_deref(), Some(&b"hello"[..]), "{lost} lost");
            } else {
                let error = handshake(connected.expect_err("another certificate"));
                let HandshakeError::Dtls(SessionError::Certificate(error)) = error else {
                    panic!("{lost}: {error}");
                };
                let is_other = matches!(*error, CertificateError::OtherFingerprint { .. });
                assert!(is_other, "{lost}: {error}");
                serving.abort();
            }
        }
    }
}

/// docs/security.md: the default budget has room for some 10,000 connections with DTLS that do little. The last eighth of
/// it is for histories.
#[tokio::test(start_paused = true)]
async fn the_default_budget_has_room_for_10_000_connections() {
    let theirs = identity(1);
    let (client, server) = link(0).join().expect("a link");
    let known = ClientConfig::pinned([theirs.fingerprint()]);
    let security = Security::dtls(ServerConfig::new(theirs));
    let listener = server.listen(PORT, &[SERVICE], security);
    let listener = listener.expect("a free port");
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: PORT,
    };
    let connecting = connect(&client, remote, Security::dtls(known));
    let (here, there) = tokio::join!(connecting, listener.accept());
    let ends = [here.expect("it answers"), there.expect("it connects")];
    for (from, to) in [(0, 1), (1, 0)] {
        let largest = vec![0; ends[from].max_datagram_size()];
        ends[from].send(largest).await.expect("open");
        ends[to].recv().await.expect("open");
    }
    let budget = EndpointConfig::default().max_memory / 8 * 7;
    for end in [client, server] {
        let room = budget / end.stats().memory;
        assert!((9_500..11_500).contains(&room), "{room} connections");
    }
}
