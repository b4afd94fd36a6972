//! Encrypted connections on loopback: DTLS 1.3 over DCCP (RFC 5238), through a relay that sees every datagram.

use std::net::Ipv4Addr;
use std::time::Duration;

use fairwire::tls::{ClientConfig, Fingerprint, ServerConfig, Trust};
use fairwire::{
    Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, HandshakeError,
    ListenOptions, Listener, Security, SendError, SendOptions,
};

use crate::relay::relay;
use crate::{PORT, SERVICE, identity, in_time};

/// No part of it may be seen on the path.
const SECRET: &[u8] = b"the quick brown fox, whom nobody on the path may see";

fn pinned(server: Fingerprint) -> Security<ClientConfig> {
    Security::dtls(ClientConfig::pinned([server]))
}

/// Options whose handshakes end soon.
fn hasty() -> Config {
    let mut config = Config::default();
    config.connect_timeout = Duration::from_secs(3);
    config
}

fn listen(security: Security<ServerConfig>) -> (Endpoint, Listener, DccpAddr) {
    let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
    let options = ListenOptions::new().config(hasty());
    let listener = endpoint.listen_with(PORT, &[SERVICE], security, options);
    let remote = DccpAddr {
        addr: endpoint.local_addr(),
        dccp_port: PORT,
    };
    (endpoint, listener.expect("a free port"), remote)
}

async fn connect(
    remote: DccpAddr,
    security: Security<ClientConfig>,
) -> Result<Connection, ConnectError> {
    let client = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
    let options = ConnectOptions::new().config(hasty());
    in_time(client.connect_with(remote, SERVICE, security, options)).await
}

/// Returns both ends of an encrypted connection.
async fn pair() -> (Connection, Connection) {
    let server = identity();
    let pin = server.fingerprint();
    let (_endpoint, listener, remote) = listen(Security::dtls(ServerConfig::new(server)));
    let both = async { tokio::join!(connect(remote, pinned(pin)), listener.accept()) };
    let (here, there) = in_time(both).await;
    (here.expect("connected"), there.expect("accepted"))
}

/// The error of the handshake.
fn handshake(error: ConnectError) -> HandshakeError {
    match error {
        ConnectError::Handshake { error, .. } => error,
        other => panic!("{other}"),
    }
}

/// Data crosses both ways, and nobody on the path sees it: not the data, and not one run of eight of its bytes.
#[tokio::test]
async fn nobody_on_the_path_sees_the_data() {
    let server = identity();
    let pin = server.fingerprint();
    let (_endpoint, listener, remote) = listen(Security::dtls(ServerConfig::new(server)));
    let (at, seen) = relay(remote.addr, |_| true).await;
    let through = DccpAddr {
        addr: at,
        dccp_port: PORT,
    };
    let both = async { tokio::join!(connect(through, pinned(pin)), listener.accept()) };
    let (here, there) = in_time(both).await;
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    assert!(here.is_encrypted() && there.is_encrypted());
    assert_eq!(here.peer_fingerprint(), Some(pin));
    for _ in 0..50 {
        here.send(SECRET).await.expect("open");
        assert_eq!(in_time(there.recv()).await.expect("open").data, SECRET);
        there.send(SECRET).await.expect("open");
        assert_eq!(in_time(here.recv()).await.expect("open").data, SECRET);
    }
    let seen = seen.lock().expect("sound");
    assert!(seen.len() > 100, "the relay saw {} datagrams", seen.len());
    let shows = |datagram: &[u8]| {
        let mut parts = SECRET.windows(8);
        parts.any(|part| datagram.windows(8).any(|bytes| bytes == part))
    };
    assert!(!seen.iter().any(|datagram| shows(datagram)));
}

/// A server with another certificate than the pinned one is refused, with what it showed, and so sees no data.
#[tokio::test]
async fn a_wrong_fingerprint_is_refused() {
    let (server, other) = (identity(), identity().fingerprint());
    let shown = server.fingerprint().to_string();
    let (_endpoint, listener, remote) = listen(Security::dtls(ServerConfig::new(server)));
    let accepting = tokio::spawn(async move {
        let incoming = listener.incoming().await.expect("a client");
        incoming.accept().await
    });
    let error = connect(remote, pinned(other))
        .await
        .expect_err("the wrong server");
    let text = error.to_string();
    assert!(
        matches!(handshake(error), HandshakeError::Dtls(_)),
        "{text}"
    );
    assert!(text.contains(&shown), "{text}");
    let there = in_time(accepting).await.expect("no panic");
    assert!(there.is_err(), "the server has no connection either");
}

/// A client that must not show a certificate is refused by a server that asks for one; the right client is known.
#[tokio::test]
async fn servers_know_their_clients() {
    let (server, client) = (identity(), identity());
    let (pin, known) = (server.fingerprint(), client.fingerprint());
    let config = ServerConfig::new(server).clients(Trust::Fingerprints(vec![known]));
    let (_endpoint, listener, remote) = listen(Security::dtls(config));
    let config = ClientConfig::pinned([pin]).identity(client);
    let both = async { tokio::join!(connect(remote, Security::dtls(config)), listener.accept()) };
    let (here, there) = in_time(both).await;
    let _here = here.expect("connected");
    assert_eq!(there.expect("accepted").peer_fingerprint(), Some(known));
    let stranger = ClientConfig::pinned([pin]).identity(identity());
    for security in [pinned(pin), Security::dtls(stranger)] {
        let accepting = async {
            in_time(listener.incoming())
                .await
                .expect("a client")
                .accept()
                .await
        };
        let (here, there) = tokio::join!(connect(remote, security), accepting);
        assert!(there.is_err(), "a stranger");
        // The client may have been connected for a moment: its last message and the refusal cross.
        if let Ok(here) = here {
            let end = in_time(here.recv()).await.expect_err("refused");
            assert!(!end.is_orderly(), "{end}");
        }
    }
}

/// A server that does not use DTLS is an error within the time limit; nothing is sent in clear text.
#[tokio::test]
async fn a_server_without_dtls_is_refused() {
    let (_endpoint, listener, remote) = listen(Security::None);
    let reading = tokio::spawn(async move {
        let there = listener.accept().await.expect("a client");
        let mut all = Vec::new();
        while let Ok(received) = there.recv().await {
            all.push(received.data);
        }
        all
    });
    let error = connect(remote, pinned(identity().fingerprint())).await;
    let text = error.expect_err("no DTLS there").to_string();
    assert!(text.contains("does not use DTLS"), "{text}");
    let hellos = in_time(reading).await.expect("no panic");
    let is_hello = |data: &fairwire::Bytes| data.starts_with(&[22, 0xfe, 0xfd]);
    assert!(
        !hellos.is_empty() && hellos.iter().all(is_hello),
        "only DTLS records arrived"
    );
}

/// A client that does not use DTLS is refused by a server that does, with the reason.
#[tokio::test]
async fn a_client_without_dtls_is_refused() {
    let (_endpoint, listener, remote) = listen(Security::dtls(ServerConfig::new(identity())));
    let accepting = async {
        in_time(listener.incoming())
            .await
            .expect("a client")
            .accept()
            .await
    };
    let talking = async {
        let here = connect(remote, Security::None).await.expect("open so far");
        here.send(SECRET).await.expect("open");
        in_time(here.recv()).await.expect_err("refused").to_string()
    };
    let (there, text) = tokio::join!(accepting, talking);
    let error = there.expect_err("no DTLS there").to_string();
    assert!(error.contains("DTLS"), "{error}");
    assert!(text.contains("connect with DTLS"), "{text}");
}

/// The largest datagram leaves room for the record; one byte more is refused with both sizes of the application's data.
#[tokio::test]
async fn the_largest_datagram_leaves_room_for_the_record() {
    let (here, there) = pair().await;
    let max = here.max_datagram_size();
    here.send(vec![7; max]).await.expect("fits");
    assert_eq!(in_time(there.recv()).await.expect("open").data.len(), max);
    let error = here.send(vec![7; max + 1]).await.expect_err("too large");
    let size = max + 1;
    assert_eq!(error, SendError::TooLarge { size, max });
}

/// A close is announced inside the session first (RFC 5238, 3.4), so the peer knows that it is no forgery.
#[tokio::test]
async fn a_close_is_authenticated() {
    let (here, there) = pair().await;
    here.send(SECRET).await.expect("open");
    let closing = tokio::spawn(async move { here.close().await });
    assert_eq!(in_time(there.recv()).await.expect("open").data, SECRET);
    let end = in_time(there.recv()).await.expect_err("closed");
    assert!(end.is_orderly() && end.is_authenticated, "{end:?}");
    in_time(closing).await.expect("no panic").expect("orderly");
    // So is the close of a whole endpoint.
    let server = identity();
    let pin = server.fingerprint();
    let (endpoint, listener, remote) = listen(Security::dtls(ServerConfig::new(server)));
    let both = async { tokio::join!(connect(remote, pinned(pin)), listener.accept()) };
    let (here, there) = in_time(both).await;
    let (here, _there) = (here.expect("connected"), there.expect("accepted"));
    let closing = tokio::spawn(async move { endpoint.close().await });
    let end = in_time(here.recv()).await.expect_err("closed");
    assert!(end.is_orderly() && end.is_authenticated, "{end:?}");
    in_time(closing).await.expect("no panic");
    // An abort is not announced: anyone could have sent the Reset.
    let (here, there) = pair().await;
    here.abort();
    let end = in_time(there.recv()).await.expect_err("reset");
    assert!(!end.is_orderly() && !end.is_authenticated, "{end:?}");
}

/// All ways to send and to receive are encrypted: many at once, tries, and with the reports of fates.
#[tokio::test]
async fn every_way_to_send_is_encrypted() {
    let (here, there) = pair().await;
    let mut queue: std::collections::VecDeque<fairwire::Bytes> =
        (0..20_u8).map(|n| vec![n; 100].into()).collect();
    while !queue.is_empty() {
        in_time(here.send_many(&mut queue)).await.expect("open");
    }
    let mut all = Vec::new();
    while all.len() < 20 {
        in_time(there.recv_many(&mut all, 7)).await.expect("open");
    }
    let data: Vec<_> = all
        .iter()
        .map(|received| (received.data.len(), received.data[0]))
        .collect();
    assert_eq!(data, (0..20).map(|n| (100, n)).collect::<Vec<_>>());
    here.try_send(SECRET).expect("room");
    let mut buffer = [0; 8];
    let received = in_time(there.recv_into(&mut buffer)).await.expect("open");
    assert_eq!((received.len, &buffer[..]), (SECRET.len(), &SECRET[..8]));
    assert!(there.try_recv().is_err(), "nothing else");
}

/// Tasks on several threads read one connection. A session refuses records that more than 63 others have overtaken (RFC
/// 9147, section 4.5.1), so a thread that is stopped between taking a datagram and decrypting it must not lose it.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn several_threads_read_one_connection() {
    const COUNT: u32 = 3_000;
    let (here, there) = pair().await;
    let readers: Vec<_> = (0..5)
        .map(|number| {
            let there = there.clone();
            tokio::spawn(async move {
                let mut numbers = Vec::new();
                let mut batch = Vec::new();
                loop {
                    batch.clear();
                    let limit = 1 + number * 8;
                    if let Err(end) = there.recv_many(&mut batch, limit).await {
                        assert!(end.is_orderly(), "{end}");
                        return numbers;
                    }
                    for received in &batch {
                        let number = received.data[..].try_into().expect("four bytes");
                        numbers.push(u32::from_be_bytes(number));
                    }
                }
            })
        })
        .collect();
    for number in 0..COUNT {
        let sent = in_time(here.send(number.to_be_bytes().to_vec())).await;
        sent.expect("open");
    }
    let lost = || here.stats().lost + there.stats().receive_drops;
    in_time(here.close()).await.expect("open");
    let mut numbers = Vec::new();
    for reader in readers {
        numbers.extend(in_time(reader).await.expect("no panic"));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let stats = there.stats();
    assert_eq!(numbers.len() as u64 + lost(), u64::from(COUNT), "{stats:?}");
}

/// A client that stalls in its handshake delays no other client.
#[tokio::test]
async fn a_stalled_handshake_delays_nobody() {
    let server = identity();
    let pin = server.fingerprint();
    let (_endpoint, listener, remote) = listen(Security::dtls(ServerConfig::new(server)));
    let accepting = tokio::spawn(async move {
        let there = listener.accept().await.expect("a client");
        (there, listener)
    });
    let _stalled = connect(remote, Security::None).await.expect("open so far");
    let here = connect(remote, pinned(pin)).await.expect("connected");
    let (there, _listener) = in_time(accepting).await.expect("no panic");
    here.send(SECRET).await.expect("open");
    assert_eq!(in_time(there.recv()).await.expect("open").data, SECRET);
}

/// Urgent datagrams overtake more than the 64 records of the peer's protection against replays, and nothing is lost.
#[tokio::test]
async fn overtaken_datagrams_arrive() {
    let (here, there) = pair().await;
    let low = SendOptions::new().priority(-1);
    let usual = SendOptions::new().within(Duration::from_secs(60));
    let high = SendOptions::new().priority(1);
    let plain = SendOptions::new();
    for (count, options) in [(60, low), (60, usual), (120, high), (10, plain)] {
        for _ in 0..count {
            let priority = options.priority.to_be_bytes().to_vec();
            here.try_send_with(priority, options).expect("room");
        }
    }
    let mut order = Vec::new();
    for _ in 0..250 {
        let received = in_time(there.recv()).await.expect("it arrives");
        order.push(i8::from_be_bytes([received.data[0]]));
    }
    // The first leaves in its call, before the others are queued; on a slow machine perhaps some more.
    let first = order.iter().take_while(|priority| **priority == -1).count();
    let low = [vec![-1; first], vec![-1; 60 - first.min(60)]];
    let expected = [&low[0][..], &[1; 120], &[0; 70], &low[1]].concat();
    assert_eq!(order, expected);
}

/// A deadline in the past is an error, before anything is encrypted or queued.
#[tokio::test]
async fn a_deadline_in_the_past() {
    let (here, _there) = pair().await;
    let past = std::time::Instant::from(tokio::time::Instant::now());
    tokio::time::sleep(Duration::from_millis(2)).await;
    let options = SendOptions::new().deadline(past);
    let refused = here.send_with("late", options).await;
    assert_eq!(refused, Err(SendError::DeadlinePassed));
    assert_eq!(here.queue_age(), Duration::ZERO);
}
