//! Endpoints on loopback, as an application uses them. Every wait is bounded.

use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::task::Poll;
use std::time::Duration;

use fairwire::{
    Bytes, Ccid, CloseReason, Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint,
    Fate, FateError, ListenOptions, Listener, QueueLimits, Security, ServiceCode, TrySendError,
};

use crate::{SERVICE, endpoint, soon};

const ANY: &str = "127.0.0.1:0";

fn listen(config: Config) -> (Endpoint, Listener, DccpAddr) {
    let server = endpoint(ANY);
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 5_001,
    };
    let options = ListenOptions::new().config(config);
    let listener = server.listen_with(5_001, &[SERVICE], Security::None, options);
    (server, listener.expect("a free port"), remote)
}

/// Makes a connection and returns its two ends.
async fn pair(config: Config) -> (Connection, Connection) {
    let (_, listener, remote) = listen(config.clone());
    let client = endpoint(ANY);
    let options = ConnectOptions::new().config(config);
    let (here, there) = soon(async {
        tokio::join!(
            client.connect_with(remote, SERVICE, Security::None, options),
            listener.accept()
        )
    })
    .await;
    (here.expect("connected"), there.expect("accepted"))
}

/// Datagrams cross in both directions with every CCID, and none is lost or changed. After one end closes, the other can
/// still read all data.
#[tokio::test]
async fn datagrams_cross_both_ways() {
    for ccid in [2, 3, 4] {
        let mut config = Config::default();
        config.send_ccids = vec![Ccid::new(ccid)];
        config.receive_ccids = vec![Ccid::new(ccid)];
        let (here, there) = pair(config).await;
        for (from, to) in [(&here, &there), (&there, &here)] {
            for n in 0..20_u8 {
                soon(from.send(vec![n; 100])).await.expect("sent");
            }
            for n in 0..20_u8 {
                let received = soon(to.recv()).await.expect("open");
                assert_eq!(received.data, vec![n; 100], "CCID {ccid}");
                assert_eq!(received.lost_before, 0);
            }
        }
        assert_eq!(here.stats().send_ccid, Some(Ccid::new(ccid)));
        soon(here.send("last")).await.expect("sent");
        soon(here.close()).await.expect("an orderly end");
        assert_eq!(soon(there.recv()).await.expect("data").data, "last");
        let end = soon(there.recv()).await.expect_err("the end");
        assert!(end.is_orderly(), "{end}");
    }
}

/// Port zero takes a free port, which the listener returns, and clients can connect to it. Two listeners get two ports.
#[tokio::test]
async fn port_zero_is_a_free_one() {
    let server = endpoint(ANY);
    let free = || {
        server
            .listen(0, &[SERVICE], Security::None)
            .expect("a free port")
    };
    let (one, other) = (free(), free());
    assert!(one.dccp_port() >= 49_152 && other.dccp_port() >= 49_152);
    assert_ne!(one.dccp_port(), other.dccp_port());
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: one.dccp_port(),
    };
    let client = endpoint(ANY);
    let (here, there) = soon(async {
        tokio::join!(
            client.connect(remote, SERVICE, Security::None),
            one.accept()
        )
    })
    .await;
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    soon(here.send("hello")).await.expect("sent");
    let received = soon(there.recv()).await.expect("data");
    assert_eq!(received.data, "hello");
}

/// If every port that can be assigned has a listener, `listen` reports that none is free. A port that is released is
/// free again.
#[tokio::test]
async fn no_port_is_free() {
    let server = endpoint(ANY);
    let mut all: Vec<_> = (49_152..=u16::MAX)
        .map(|port| {
            server
                .listen(port, &[SERVICE], Security::None)
                .expect("free")
        })
        .collect();
    let error = server
        .listen(0, &[SERVICE], Security::None)
        .expect_err("none is free");
    assert!(
        error.to_string().starts_with("no free DCCP port"),
        "{error}"
    );
    let gone = all.remove(1_000).dccp_port();
    let given = server
        .listen(0, &[SERVICE], Security::None)
        .expect("one is free");
    assert_eq!(given.dccp_port(), gone);
}

/// RFC 5596: two NATs each let packets in only after one has gone out. Between them a client does not reach a server
/// that only listens, but reaches one that invites it.
#[tokio::test]
async fn simultaneous_open_passes_two_nats() {
    const CLIENT_PORT: u16 = 6_001;
    let nats = Nats::between_two().await;
    let (client, server) = (endpoint(ANY), endpoint(ANY));
    let (front, back) = (nats.front, nats.back);
    tokio::spawn(nats.run(server.local_addr()));
    let to_server = DccpAddr {
        addr: front,
        dccp_port: 5_001,
    };
    let to_client = DccpAddr {
        addr: back,
        dccp_port: CLIENT_PORT,
    };
    let mut config = Config::default();
    config.connect_timeout = Duration::from_millis(1_300);
    let options = ConnectOptions::new().config(config).local_port(CLIENT_PORT);
    let listener = server
        .listen(5_001, &[SERVICE], Security::None)
        .expect("a free port");
    let error =
        soon(client.connect_with(to_server, SERVICE, Security::None, options.clone())).await;
    assert!(
        matches!(error, Err(ConnectError::Timeout { .. })),
        "{error:?}"
    );

    let (here, there) = soon(async {
        tokio::join!(
            client.connect_with(to_server, SERVICE, Security::None, options.clone()),
            server.listen_towards(5_001, to_client, SERVICE, Security::None, options.clone())
        )
    })
    .await;
    let (here, there) = (here.expect("connected"), there.expect("connected"));
    assert_eq!((here.service(), there.service()), (SERVICE, SERVICE));
    soon(here.send("through")).await.expect("sent");
    assert_eq!(soon(there.recv()).await.expect("open").data, "through");
    drop(listener);
}

/// Two NATs with the network between them. What the client sends to `front` is sent to the server from `back`, and vice
/// versa, once a packet has gone the other way.
struct Nats {
    sockets: [tokio::net::UdpSocket; 2],
    front: SocketAddr,
    back: SocketAddr,
}

impl Nats {
    async fn between_two() -> Self {
        let socket = || tokio::net::UdpSocket::bind(ANY);
        let sockets = [
            socket().await.expect("a port"),
            socket().await.expect("a port"),
        ];
        let [front, back] = [0, 1].map(|i: usize| sockets[i].local_addr().expect("bound"));
        Self {
            sockets,
            front,
            back,
        }
    }

    async fn run(self, server: SocketAddr) {
        let mut peers = [None, None];
        let (mut from_client, mut from_server) = ([0; 2_048], [0; 2_048]);
        let [front, back] = &self.sockets;
        loop {
            tokio::select! {
                Ok((len, client)) = front.recv_from(&mut from_client) => {
                    peers[0] = Some(client);
                    if peers[1].is_some() {
                        let sent = back.send_to(&from_client[..len], server).await;
                        sent.expect("loopback");
                    }
                }
                Ok((len, _)) = back.recv_from(&mut from_server) => {
                    peers[1] = Some(server);
                    if let Some(client) = peers[0] {
                        let sent = front.send_to(&from_server[..len], client).await;
                        sent.expect("loopback");
                    }
                }
            }
        }
    }
}

/// Data arrives as ECT(0) (RFC 8311, section 6): the ECN field is sent and received in both directions.
#[tokio::test]
async fn data_carries_ect0() {
    let (here, there) = pair(Config::default()).await;
    soon(here.send("x")).await.expect("sent");
    let received = soon(there.recv()).await.expect("open");
    assert_eq!(received.ecn, fairwire::Ecn::Ect0);
}

/// `recv_into` copies what fits and returns the full length. An empty datagram is received as a datagram.
#[tokio::test]
async fn receiving_into_a_buffer() {
    let (here, there) = pair(Config::default()).await;
    for data in ["0123456789", ""] {
        soon(here.send(data)).await.expect("sent");
    }
    let mut buffer = [0; 4];
    let received = soon(there.recv_into(&mut buffer)).await.expect("open");
    assert_eq!((received.len, &buffer), (10, b"0123"));
    let received = soon(there.recv_into(&mut buffer)).await.expect("open");
    assert_eq!(received.len, 0);
}

/// A cancelled receive loses no datagram.
#[tokio::test]
async fn cancelled_receives_lose_nothing() {
    let (here, there) = pair(Config::default()).await;
    for n in 0..10_u8 {
        let early = tokio::time::timeout(Duration::from_millis(1), there.recv()).await;
        assert!(early.is_err(), "nothing was sent yet");
        soon(here.send(vec![n])).await.expect("sent");
        assert_eq!(soon(there.recv()).await.expect("open").data, vec![n]);
    }
}

/// A full queue is reported at once, and `send` waits for room. Every accepted datagram has a fate. A datagram that is
/// too large is refused, with the size that fits.
#[tokio::test]
async fn a_full_queue_pushes_back() {
    let mut config = Config::default();
    config.report_fates = true;
    config.send_ccids = vec![Ccid::TCP_LIKE];
    config.receive_ccids = vec![Ccid::TCP_LIKE];
    let mut limits = QueueLimits::default();
    limits.packets = 4;
    config.send_queue = limits;
    let (here, there) = pair(config).await;
    let max = here.max_datagram_size();
    assert!(max > 1_200, "{max} on loopback");
    let error = here.try_send(vec![0; max + 1]).expect_err("too large");
    assert!(error.to_string().contains(&max.to_string()), "{error}");
    let data = Bytes::from(vec![0; max]);
    let mut taken = 0;
    let full = loop {
        match here.try_send(data.clone()) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken <= 64, "the driver had no turn: the queue must fill");
    };
    assert_eq!(full, TrySendError::Full);
    soon(here.send(data.clone())).await.expect("room at last");
    taken += 1;
    let reading = async {
        for _ in 0..taken {
            there.recv().await.expect("open");
        }
    };
    soon(reading).await;
    for id in 0..taken {
        let (of, fate) = soon(here.fate()).await.expect("open");
        assert_eq!((of.0, fate), (id, Fate::Acknowledged));
    }
}

/// Without the setting no fate will ever come: whoever asks for one is told so, and does not wait.
#[tokio::test]
async fn fates_that_are_not_reported_are_not_awaited() {
    let (here, _there) = pair(Config::default()).await;
    assert_eq!(soon(here.fate()).await, Err(FateError::NotReported));
    here.abort();
    soon(here.closed()).await;
    let Err(FateError::Closed(closed)) = soon(here.fate()).await else {
        panic!("the connection is over");
    };
    assert_eq!(closed.reason, CloseReason::Aborted);
}

/// ICMP reports a port without a listener, long before the connect timeout.
#[tokio::test]
async fn a_dead_port_is_found_at_once() {
    let dead = UdpSocket::bind(ANY).expect("a free port");
    let addr = dead.local_addr().expect("bound");
    drop(dead);
    let error = soon(fairwire::connect(
        &addr.to_string(),
        SERVICE,
        Security::None,
    ))
    .await
    .expect_err("nobody is there");
    if cfg!(target_os = "linux") {
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    }
}

/// A DCCP port without a listener and a service that is not offered give different errors.
#[tokio::test]
async fn refusals_are_told_apart() {
    let (_server, _listener, remote) = listen(Config::default());
    let client = endpoint(ANY);
    let wrong_port = DccpAddr {
        dccp_port: 5_002,
        ..remote
    };
    let other = ServiceCode::from_bytes(*b"?oth");
    for (remote, service, expected) in [
        (wrong_port, SERVICE, "nobody listens"),
        (remote, other, "another service"),
    ] {
        let connecting = client.connect(remote, service, Security::None);
        let error = soon(connecting).await.expect_err("refused");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A client that connects while the backlog is full is told that the server is busy. After one connection was accepted,
/// there is room again.
#[tokio::test]
async fn a_full_backlog_says_so() {
    let server = endpoint(ANY);
    let remote = DccpAddr::same_ports(server.local_addr());
    let options = ListenOptions::new().backlog(1);
    let listener = server.listen_with(remote.dccp_port, &[SERVICE], Security::None, options);
    let listener = listener.expect("a free port");
    let client = endpoint(ANY);
    let first = soon(client.connect(remote, SERVICE, Security::None)).await;
    let _first = first.expect("connected");
    let probing = async {
        // The server counts a connection when the last Ack of its handshake has arrived.
        loop {
            if let Err(error) = client.connect(remote, SERVICE, Security::None).await {
                break error;
            }
        }
    };
    let error = soon(probing).await;
    assert!(error.to_string().contains("busy"), "{error}");
    let _accepted = soon(listener.accept()).await.expect("the first");
    let again = soon(client.connect(remote, SERVICE, Security::None)).await;
    again.expect("room again");
}

/// A peer that does not answer in DCCP gives a timeout error that says so.
#[tokio::test]
async fn a_peer_that_is_not_dccp() {
    let other = tokio::net::UdpSocket::bind(ANY).await.expect("a free port");
    let addr = other.local_addr().expect("bound");
    tokio::spawn(async move {
        let mut buffer = [0; 2_048];
        while let Ok((_, from)) = other.recv_from(&mut buffer).await {
            let _ = other
                .send_to(b"HTTP/1.1 400 Bad Request\r\n\r\n", from)
                .await;
        }
    });
    let mut config = Config::default();
    config.connect_timeout = Duration::from_millis(300);
    let options = ConnectOptions::new().config(config);
    let addr = addr.to_string();
    let connecting = fairwire::connect_with(&addr, SERVICE, Security::None, options);
    let error = soon(connecting).await.expect_err("no DCCP there");
    assert!(error.to_string().contains("not in DCCP"), "{error}");
}

/// An abort resets the connection: the peer learns of it at once, and its end is not orderly.
#[tokio::test]
async fn aborting_resets() {
    let (here, there) = pair(Config::default()).await;
    here.abort();
    let end = soon(there.recv()).await.expect_err("the end");
    assert!(!end.is_orderly(), "{end}");
}

/// Dropping the last handle resets the connection, and the peer is told that it was not closed. Afterwards the endpoint
/// is idle.
#[tokio::test]
async fn finding_21_dropping_is_no_close() {
    let (server, listener, remote) = listen(Config::default());
    let client = endpoint(ANY);
    let (here, there) = soon(async {
        tokio::join!(
            client.connect(remote, SERVICE, Security::None),
            listener.accept()
        )
    })
    .await;
    let here = here.expect("connected");
    let clone = here.clone();
    drop(here);
    soon(clone.send("still open")).await.expect("sent");
    let there = there.expect("accepted");
    assert_eq!(soon(there.recv()).await.expect("open").data, "still open");
    drop(clone);
    let end = soon(there.recv()).await.expect_err("the end");
    assert!(!end.is_orderly(), "{end}");
    assert!(end.to_string().contains("without closing it"), "{end}");
    drop(there);
    soon(client.wait_idle()).await;
    soon(server.wait_idle()).await;
}

/// Wildcard sockets answer from the address that the client used, over IPv4 and, if the host has it, IPv6.
#[tokio::test]
async fn wildcard_sockets_and_ipv6() {
    let mut ways = vec![("0.0.0.0:0", "127.0.0.1"), ("0.0.0.0:0", "127.0.0.2")];
    if UdpSocket::bind("[::1]:0").is_ok() {
        ways.extend([
            ("[::1]:0", "::1"),
            ("[::]:0", "::1"),
            ("[::]:0", "127.0.0.1"),
        ]);
    } else {
        eprintln!("skipped: this host has no ::1");
    }
    for (bound, dialled) in ways {
        let server = endpoint(bound);
        let port = server.local_addr().port();
        let listener = server
            .listen(port, &[SERVICE], Security::None)
            .expect("a free port");
        let addr = SocketAddr::new(dialled.parse().expect("an address"), port).to_string();
        let (here, there) = soon(async {
            tokio::join!(
                fairwire::connect(&addr, SERVICE, Security::None),
                listener.accept()
            )
        })
        .await;
        let (here, there) = (here.expect(&addr), there.expect(&addr));
        soon(here.send("ping")).await.expect("sent");
        assert_eq!(soon(there.recv()).await.expect("open").data, "ping");
        let seen = there.local().expect("open").addr;
        assert_eq!(seen.to_string(), addr, "as dialled");
        let peer = there.remote().expect("open");
        assert_eq!(Some(peer), here.local(), "both ends agree");
    }
}

/// A UDP port that is in use gives an error that says so.
#[tokio::test]
async fn a_port_in_use() {
    let first = endpoint(ANY);
    let error = Endpoint::bind(first.local_addr()).expect_err("taken");
    assert!(error.to_string().contains("in use"), "{error}");
}

/// After its runtime has ended, a connection refuses datagrams with an error instead of queueing them forever.
#[test]
fn a_runtime_that_ends() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (here, _there) = runtime.block_on(pair(Config::default()));
    drop(runtime);
    let error = here.try_send("anybody?").expect_err("nobody is there");
    assert!(matches!(error, TrySendError::Send(_)), "{error}");
}

/// A program that ends without closing, or panics, resets its connections while its runtime shuts down: those in use,
/// those whose handle is never dropped, and those not yet accepted.
#[tokio::test]
async fn finding_21_a_program_that_ends_says_so() {
    for panics in [false, true] {
        let (tell, told) = tokio::sync::oneshot::channel();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let life = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let (_server, listener, remote) = listen(Config::default());
                tell.send(remote).expect("heard");
                let _in_hand = listener.accept().await.expect("a client");
                let held = listener.accept().await.expect("a client");
                std::mem::forget(held);
                let _ = ended.await;
                assert!(!panics, "on purpose");
            });
        });
        let remote = soon(told).await.expect("told");
        let client = endpoint(ANY);
        let mut connections = Vec::new();
        for _ in 0..3 {
            let connected = soon(client.connect(remote, SERVICE, Security::None)).await;
            connections.push(connected.expect("connected"));
        }
        // The third connection is complete when its last Ack has arrived.
        tokio::time::sleep(Duration::from_millis(100)).await;
        end.send(()).expect("alive until now");
        assert_eq!(life.join().is_err(), panics);
        for connection in connections {
            let end = soon(connection.recv()).await.expect_err("the end");
            assert!(end.to_string().contains("without closing it"), "{end}");
        }
    }
}

/// A close that was polled goes on when its future and then the connection are dropped: all queued data arrives, and
/// the end is orderly. A close that was never polled has no effect.
#[tokio::test]
async fn finding_21_a_cancelled_close_goes_on() {
    for polled in [true, false] {
        let (here, there) = pair(Config::default()).await;
        for n in 0..20_u8 {
            soon(here.send(vec![n])).await.expect("sent");
        }
        let mut closing = Box::pin(here.close());
        if polled {
            let once = std::future::poll_fn(|context| Poll::Ready(closing.as_mut().poll(context)));
            assert!(once.await.is_pending(), "the peer has not answered yet");
        }
        drop(closing);
        drop(here);
        let mut got = 0;
        let end = loop {
            match soon(there.recv()).await {
                Ok(_) => got += 1,
                Err(end) => break end,
            }
        };
        assert_eq!(end.is_orderly(), polled, "{end}");
        assert_eq!(got == 20, polled, "{got}");
    }
}

/// Cancelling a connect ends the attempt: the endpoint keeps no connection, and the server gets a Reset.
#[tokio::test]
async fn finding_21_a_cancelled_connect_ends_its_attempt() {
    let silent = UdpSocket::bind(ANY).expect("a free port");
    let client = endpoint(ANY);
    let remote = DccpAddr::same_ports(silent.local_addr().expect("bound"));
    let connecting = client.connect(remote, SERVICE, Security::None);
    let early = tokio::time::timeout(Duration::from_millis(50), connecting).await;
    assert!(early.is_err(), "nobody answers");
    soon(client.wait_idle()).await;
    assert_eq!(client.stats().connections, 0);
    let mut buffer = [0; 2_048];
    let timeout = Some(Duration::from_secs(5));
    silent.set_read_timeout(timeout).expect("not zero");
    let mut types = Vec::new();
    for _ in 0..2 {
        silent.recv(&mut buffer).expect("a Request and its Reset");
        types.push(buffer[8] >> 1 & 15);
    }
    assert_eq!(types, [0, 7], "Request, Reset (RFC 4340, 5.1)");
}
