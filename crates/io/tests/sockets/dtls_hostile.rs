//! Encrypted connections whose peer, path or application does what none should.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use fairwire::tls::{ClientConfig, Date, Fingerprint, ServerConfig};
use fairwire::{
    Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, EndpointConfig,
    ListenOptions, Listener, ResetCode, Security, SendError, TrySendError,
};
use fairwire_tls::{Output, Session};
use fairwire_units::Instant;
use tokio::time::timeout;

use crate::relay::relay;
use crate::{PORT, SERVICE, identity, in_time};

const TODAY: Date = Date::from_unix_seconds(1_795_000_000);

/// Timeouts that end within the patience.
fn hasty() -> Config {
    let mut config = Config::default();
    config.connect_timeout = Duration::from_secs(3);
    config.drain_timeout = Duration::from_millis(300);
    config.close_timeout = Duration::from_millis(300);
    config
}

struct Server {
    listener: Listener,
    remote: DccpAddr,
    pin: Fingerprint,
}

fn listen(config: Config) -> Server {
    let identity = identity();
    let pin = identity.fingerprint();
    let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
    let security = Security::dtls(ServerConfig::new(identity));
    let options = ListenOptions::new().config(config);
    let listener = endpoint.listen_with(PORT, &[SERVICE], security, options);
    Server {
        listener: listener.expect("a free port"),
        remote: DccpAddr {
            addr: endpoint.local_addr(),
            dccp_port: PORT,
        },
        pin,
    }
}

async fn connect(
    local: Ipv4Addr,
    remote: DccpAddr,
    security: Security<ClientConfig>,
) -> Result<Connection, ConnectError> {
    let client = Endpoint::bind((local, 0).into()).expect("bound");
    let options = ConnectOptions::new().config(hasty());
    in_time(client.connect_with(remote, SERVICE, security, options)).await
}

/// A client that speaks DTLS by hand, so that it can break its rules.
struct ByHand {
    connection: Connection,
    session: Session,
}

impl ByHand {
    /// Connects to a server. Returns this client, and the server's connection.
    async fn connect(server: &Server) -> (Self, Connection) {
        let connecting = async {
            let connection = connect(Ipv4Addr::LOCALHOST, server.remote, Security::None).await;
            let config = ClientConfig::pinned([server.pin]);
            let session = Session::client(&config, 1_200, Instant::START, TODAY);
            let mut client = Self {
                connection: connection.expect("DCCP is open"),
                session: session.expect("a client"),
            };
            while !client.session.is_connected() {
                client.flush().await;
                if !client.session.is_connected() {
                    let received = in_time(client.connection.recv()).await.expect("open");
                    let handled = client
                        .session
                        .handle_datagram(Instant::START, &received.data);
                    handled.expect("a good server");
                }
            }
            client.flush().await;
            client
        };
        let (client, accepted) = in_time(Box::pin(async {
            tokio::join!(connecting, server.listener.accept())
        }))
        .await;
        (client, accepted.expect("accepted"))
    }

    async fn flush(&mut self) {
        loop {
            match self.session.poll() {
                Output::Send(datagram) => drop(self.connection.send(datagram).await.expect("open")),
                Output::Idle => return,
                _ => {}
            }
        }
    }

    fn seal(&mut self, data: &[u8]) -> Vec<u8> {
        self.session.seal(data).expect("connected").to_vec()
    }
}

fn through(at: SocketAddr) -> DccpAddr {
    DccpAddr {
        addr: at,
        dccp_port: PORT,
    }
}

/// Datagrams with many records are read in order, never more than asked for at once, whatever the caller has already.
#[tokio::test]
async fn many_records_in_one_datagram_are_read_in_order() {
    let server = listen(hasty());
    let (mut client, there) = Box::pin(ByHand::connect(&server)).await;
    let mut number = 0_u8;
    for _ in 0..5 {
        let mut all = Vec::new();
        for _ in 0..20 {
            all.extend(client.seal(&[number]));
            number += 1;
        }
        client.connection.send(all).await.expect("open");
    }
    let mut all = Vec::new();
    while all.len() < 100 {
        let before = all.len();
        let count = in_time(there.recv_many(&mut all, 3)).await.expect("open");
        assert!(
            (1..=3).contains(&count) && all.len() == before + count,
            "{count}"
        );
    }
    let numbers: Vec<_> = all.iter().map(|received| received.data[0]).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
}

/// A record that somebody on the path changed is as good as lost, and so it counts as lost. The session's own records
/// do not.
#[tokio::test]
async fn a_changed_record_counts_as_lost() {
    let server = listen(hasty());
    let (mut client, there) = Box::pin(ByHand::connect(&server)).await;
    let genuine = client.seal(b"first");
    client.connection.send(genuine.clone()).await.expect("open");
    let received = in_time(there.recv()).await.expect("open");
    assert_eq!(
        (&received.data[..], received.lost_before),
        (&b"first"[..], 0)
    );
    let mut changed = client.seal(b"changed");
    changed[10] ^= 1;
    let last = client.seal(b"last");
    for datagram in [changed, genuine, last] {
        client.connection.send(datagram).await.expect("open");
    }
    let received = in_time(there.recv()).await.expect("open");
    assert_eq!(
        (&received.data[..], received.lost_before),
        (&b"last"[..], 2)
    );
}

/// Who only sends learns from the error, too, that the peer announced its end; data before it can still be read.
#[tokio::test]
async fn an_unread_announcement_is_known() {
    let server = listen(hasty());
    let (mut client, there) = Box::pin(ByHand::connect(&server)).await;
    let data = client.seal(b"unread");
    client.connection.send(data).await.expect("open");
    client.session.close();
    client.flush().await;
    in_time(client.connection.close()).await.expect("orderly");
    in_time(there.closed()).await;
    let error = there.send("late").await.expect_err("closed");
    let SendError::Closed(closed) = error else {
        panic!("{error}");
    };
    assert!(closed.is_orderly() && closed.is_authenticated, "{closed:?}");
    assert_eq!(in_time(there.recv()).await.expect("unread").data, "unread");
    assert!(there.recv().await.expect_err("the end").is_authenticated);
}

/// An end that only sends replaces its keys, although nothing of the peer's arrives in between (RFC 8446, section 5.5).
#[tokio::test]
async fn an_end_that_only_sends_replaces_its_keys() {
    let server = listen(hasty());
    let (at, seen) = relay(server.remote.addr, |_| true).await;
    let config = ClientConfig::pinned([server.pin]).records_per_key(1);
    let connecting = connect(Ipv4Addr::LOCALHOST, through(at), Security::dtls(config));
    let (here, there) = tokio::join!(connecting, in_time(server.listener.accept()));
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    let reading = tokio::spawn(async move { while there.recv().await.is_ok() {} });
    for _ in 0..9_000 {
        in_time(here.send("one way")).await.expect("open");
    }
    in_time(here.close()).await.expect("orderly");
    in_time(reading).await.expect("no panic");
    // The lowest bits of an epoch stand in the first byte of its records; that of the first data is 3.
    let epochs = |datagram: &Vec<u8>| {
        let is_ours = datagram[2..4] == PORT.to_be_bytes();
        let payload = datagram.get(usize::from(datagram[4]) * 4)?;
        (is_ours && payload >> 5 == 1).then_some(payload & 3)
    };
    let seen = seen.lock().expect("sound");
    let new = seen.iter().filter_map(epochs).filter(|epoch| *epoch == 0);
    assert!(new.count() > 0, "no record under the next key");
}

/// Clients that never send a `ClientHello` keep no other client out: not one from elsewhere, and not one beside them.
#[cfg(target_os = "linux")] // All of 127.0.0.0/8 is here.
#[tokio::test]
async fn silent_clients_keep_nobody_out() {
    let mut patient = Config::default();
    patient.connect_timeout = Duration::from_secs(600);
    let server = listen(patient);
    let crowd = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
    let Server {
        listener,
        remote,
        pin,
    } = server;
    let accepting = tokio::spawn(async move {
        let mut all = Vec::new();
        while all.len() < 2 {
            all.push(listener.accept().await.expect("open"));
        }
        (listener.failed_handshakes(), all)
    });
    let mut silent = Vec::new();
    for _ in 0..1_100 {
        let one = in_time(crowd.connect(remote, SERVICE, Security::None)).await;
        silent.push(one.expect("open so far"));
    }
    for local in [Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST] {
        let config = ClientConfig::pinned([pin]);
        let here = connect(local, remote, Security::dtls(config)).await;
        here.expect("served").close().await.expect("orderly");
    }
    let (failed, _open) = in_time(accepting).await.expect("no panic");
    assert!(failed >= 1_100 + 2 - 1_024 - 2, "{failed}");
    assert!(failed <= 1_100 + 2 - 1_024, "{failed}");
}

/// Strangers that begin handshakes and stall use no more than the endpoint's memory: each session counts at its worst,
/// so only some of them get one, and when there is no memory for more, connections are refused. Once they are gone, an
/// honest client is served.
#[tokio::test]
async fn strangers_use_no_more_than_the_budget() {
    const BUDGET: usize = 1 << 20;
    let identity = identity();
    let pin = identity.fingerprint();
    let config = ServerConfig::new(identity);
    let most = BUDGET / config.handshake_memory();
    let mut limits = EndpointConfig::default();
    limits.max_memory = BUDGET;
    let endpoint = Endpoint::builder().config(limits);
    let endpoint = endpoint.bind((Ipv4Addr::LOCALHOST, 0).into());
    let endpoint = endpoint.expect("bound");
    let remote = DccpAddr {
        addr: endpoint.local_addr(),
        dccp_port: PORT,
    };
    let mut patient = Config::default();
    patient.connect_timeout = Duration::from_secs(600);
    let options = ListenOptions::new().config(patient);
    let listener = endpoint.listen_with(PORT, &[SERVICE], Security::dtls(config), options);
    let listener = listener.expect("a free port");
    let accepting = tokio::spawn(async move {
        let mut all = tokio::task::JoinSet::new();
        loop {
            tokio::select! {
                incoming = listener.incoming() => drop(all.spawn(incoming.expect("open").accept())),
                Some(over) = all.join_next() => {
                    if let Ok(connection) = over.expect("no panic") {
                        return (listener, connection, all);
                    }
                }
            }
        }
    });
    let crowd = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
    let client = ClientConfig::pinned([pin]);
    let mut strangers = Vec::new();
    let refused = loop {
        assert!(strangers.len() < 100, "nobody is refused");
        let stranger = match in_time(crowd.connect(remote, SERVICE, Security::None)).await {
            Ok(stranger) => stranger,
            Err(error) => break error,
        };
        let session = Session::client(&client, 1_200, Instant::START, TODAY);
        let Output::Send(hello) = session.expect("a client").poll() else {
            panic!("a hello");
        };
        stranger.send(hello).await.expect("open");
        // The server asks for a cookie as soon as it has a session.
        let answer = timeout(Duration::from_millis(300), stranger.recv()).await;
        assert!(endpoint.stats().memory <= BUDGET);
        strangers.push((stranger, answer.is_ok()));
    };
    let is_refused = matches!(
        refused,
        ConnectError::Refused {
            code: ResetCode::TooBusy,
            ..
        }
    );
    assert!(is_refused, "{refused}");
    let served = strangers.iter().filter(|(_, answered)| *answered).count();
    assert!((most / 2..=most).contains(&served), "{served} of {most}");
    assert!(served < strangers.len(), "others wait for memory");
    drop(strangers);
    let mut wide = hasty();
    wide.path_mtu = 16_000;
    let options = ConnectOptions::new().config(wide);
    let honest = async {
        loop {
            let security = Security::dtls(client.clone());
            let connecting = crowd.connect_with(remote, SERVICE, security, options.clone());
            match connecting.await {
                Ok(connection) => return connection,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let here = in_time(honest).await;
    let (_listener, there, _) = in_time(accepting).await.expect("no panic");
    here.send("hello").await.expect("open");
    assert_eq!(in_time(there.recv()).await.expect("open").data, "hello");
    // A connected session counts less than a handshake, but it counts.
    let connected = endpoint.stats().memory;
    assert!(connected < BUDGET / 2, "{connected}");
    // The longest datagrams leave nothing behind.
    let long = vec![7; here.max_datagram_size()];
    assert!(long.len() > 10_000, "{}", long.len());
    here.send(long).await.expect("open");
    in_time(there.recv()).await.expect("open");
    let grown = endpoint.stats().memory;
    assert!(grown < connected + 1_000, "{connected} {grown}");
}

/// A handshake that is cut short anywhere ends at both ends. A client whose end of the handshake does not arrive has
/// connected, and its connection ends.
#[tokio::test]
async fn a_handshake_cut_short_ends_at_both_ends() {
    let mut all = tokio::task::JoinSet::new();
    for cut in 0..14 {
        all.spawn(async move {
            let server = listen(hasty());
            let (at, _) = relay(server.remote.addr, move |passed| passed < cut).await;
            let config = ClientConfig::pinned([server.pin]);
            let client = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
            let mut impatient = hasty();
            impatient.keep_alive = Some(Duration::from_secs(1));
            impatient.idle_timeout = Duration::from_secs(3);
            let options = ConnectOptions::new().config(impatient);
            let connecting =
                client.connect_with(through(at), SERVICE, Security::dtls(config), options);
            let accepting = async {
                let incoming = timeout(Duration::from_secs(8), server.listener.incoming()).await;
                match incoming {
                    Ok(incoming) => incoming.expect("open").accept().await.is_ok(),
                    Err(_) => false,
                }
            };
            let (here, there) =
                in_time(Box::pin(async { tokio::join!(connecting, accepting) })).await;
            if let Ok(here) = &here
                && !there
            {
                in_time(here.closed()).await;
            }
            (cut, here.is_ok(), there)
        });
    }
    let mut outcomes = all.join_all().await;
    outcomes.sort_unstable();
    assert!(!outcomes[0].1 && !outcomes[0].2, "nothing passed");
    for (cut, here, there) in outcomes {
        assert!(here || !there, "{cut}: the client has its keys first");
    }
}

/// A close ends within its timeouts, although the path is dead and the send queue is full.
#[tokio::test]
async fn a_close_does_not_wait_for_room() {
    let server = listen(hasty());
    let dead = Arc::new(AtomicBool::new(false));
    let is_dead = Arc::clone(&dead);
    let (at, _) = relay(server.remote.addr, move |_| {
        !is_dead.load(Ordering::Relaxed)
    })
    .await;
    let config = ClientConfig::pinned([server.pin]);
    let connecting = connect(Ipv4Addr::LOCALHOST, through(at), Security::dtls(config));
    let (here, there) = tokio::join!(connecting, in_time(server.listener.accept()));
    let (here, _there) = (here.expect("connected"), there.expect("accepted"));
    dead.store(true, Ordering::Relaxed);
    loop {
        match here.try_send(vec![0; 1_000]) {
            Ok(_) => {}
            Err(TrySendError::Full) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let closing = timeout(Duration::from_secs(10), here.close()).await;
    assert!(
        closing.expect("within the timeouts").is_err(),
        "nobody answered"
    );
}

/// A datagram that waits for room while a hundred others leave arrives: its record is not older than the peer takes
/// (RFC 9147, section 4.5.1).
#[tokio::test]
async fn a_datagram_that_waits_long_arrives() {
    let server = listen(hasty());
    let security = Security::dtls(ClientConfig::pinned([server.pin]));
    let connecting = connect(Ipv4Addr::LOCALHOST, server.remote, security);
    let (here, there) = tokio::join!(connecting, in_time(server.listener.accept()));
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    let mut sent = 0;
    while here.try_send("early").is_ok() {
        sent += 1;
    }
    let mut waiting = Box::pin(here.send("late"));
    let polled = std::future::poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context)));
    assert!(polled.await.is_pending(), "there is no room");
    for _ in 0..sent {
        assert_eq!(in_time(there.recv()).await.expect("open").data, "early");
    }
    for _ in 0..100 {
        here.send("between").await.expect("open");
        assert_eq!(in_time(there.recv()).await.expect("open").data, "between");
    }
    in_time(waiting).await.expect("open");
    assert_eq!(in_time(there.recv()).await.expect("open").data, "late");
}

/// Every way to wait for room ends when there is some.
#[tokio::test]
async fn who_waits_for_room_is_called() {
    const COUNT: usize = 3_000;
    let server = listen(hasty());
    let security = Security::dtls(ClientConfig::pinned([server.pin]));
    let connecting = connect(Ipv4Addr::LOCALHOST, server.remote, security);
    let (here, there) = tokio::join!(connecting, in_time(server.listener.accept()));
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    let reading = tokio::spawn(async move {
        let mut count = 0;
        while there.recv().await.is_ok() {
            count += 1;
        }
        count
    });
    let data = fairwire::Bytes::from_static(b"data");
    let mut queue: std::collections::VecDeque<_> = vec![data.clone(); COUNT].into();
    while !queue.is_empty() {
        in_time(here.send_many(&mut queue)).await.expect("open");
    }
    for _ in 0..COUNT {
        let polled = std::future::poll_fn(|context| here.poll_send(context, &data));
        in_time(polled).await.expect("open");
    }
    in_time(here.close()).await.expect("orderly");
    assert_eq!(in_time(reading).await.expect("no panic"), 2 * COUNT);
}
