//! Connecting to addresses without a server and to several addresses at once, and the texts of the errors. On loopback,
//! without names.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fairwire::{
    AckRatioFollows, AddressKind, Bursts, Config, ConnectError, ConnectOptions, DccpAddr,
    ListenError, ListenOptions, Listener, Security, StartError, connect_any,
};

use crate::{PORT, SERVICE, endpoint, soon};

fn addr(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Makes a listener at `ip`. The port of the returned address is both the UDP port and the DCCP port.
fn server(ip: &str) -> (Listener, SocketAddr) {
    let endpoint = endpoint(&format!("{ip}:0"));
    let at = endpoint.local_addr();
    let listener = endpoint.listen(at.port(), &[SERVICE], Security::None);
    (listener.expect("a free port"), at)
}

/// Makes an address that accepts everything and answers nothing.
fn black_hole(ip: &str) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind(addr(&format!("{ip}:0"))).expect("a free port");
    let at = socket.local_addr().expect("bound");
    (socket, at)
}

/// Returns an address without a listener.
fn closed(ip: &str) -> SocketAddr {
    black_hole(ip).1
}

/// Returns the types of all packets that arrived at a black hole.
fn types(hole: &UdpSocket) -> Vec<u8> {
    hole.set_nonblocking(true).expect("it can");
    let mut buffer = [0; 2_048];
    let mut types = Vec::new();
    while hole.recv(&mut buffer).is_ok() {
        types.push(buffer[8] >> 1 & 15);
    }
    types
}

/// Returns whether this host has IPv6. If not, tests of both families print that they are skipped.
fn has_ipv6() -> bool {
    let has = UdpSocket::bind("[::1]:0").is_ok();
    if !has {
        eprintln!("skipped: this host has no ::1");
    }
    has
}

/// Remotes that cannot be connected to are refused before anything is sent. Each has its own error, which says what was
/// wrong and what to do.
#[tokio::test]
async fn finding_22_remotes_that_cannot_be() {
    let (v4, any4, v6) = ("127.0.0.1:0", "0.0.0.0:0", "[::1]:0");
    let mut rows = vec![
        (v4, "[::1]:7001", "bind another endpoint to [::]"),
        (v4, "0.0.0.0:7001", "write 127.0.0.1"),
        (any4, "224.0.0.1:7001", "multicast group"),
        (any4, "255.255.255.255:7001", "broadcast address"),
        (any4, "127.255.255.255:7001", "broadcast address"),
        (any4, "127.0.0.1:0", "port 0"),
    ];
    if has_ipv6() {
        rows.extend([
            (v6, "127.0.0.1:7001", "bind another endpoint to 0.0.0.0"),
            ("[::]:0", "[::]:7001", "[::1]"),
            ("[::]:0", "[ff02::1]:7001", "multicast group"),
            ("[::]:0", "[::ffff:224.0.0.1]:7001", "multicast group"),
            ("[::]:0", "[fe80::1]:7001", "fe80::1%eth0"),
        ]);
    }
    for (bound, remote, advice) in rows {
        let endpoint = endpoint(bound);
        let to = DccpAddr::same_ports(addr(remote));
        let connecting = soon(endpoint.connect(to, SERVICE, Security::None)).await;
        let inviting =
            endpoint.listen_towards(5_001, to, SERVICE, Security::None, ConnectOptions::new());
        for error in [connecting, soon(inviting).await] {
            let error = error.expect_err(remote);
            let text = error.to_string();
            assert!(text.contains(advice), "{bound} to {remote}: {text}");
            assert!(!matches!(error, ConnectError::Resolve { .. }), "{error:?}");
        }
        assert_eq!(endpoint.stats().connections, 0);
    }
    let endpoint = endpoint(any4);
    let to = DccpAddr::same_ports(addr("224.0.0.1:7001"));
    let error = endpoint
        .connect(to, SERVICE, Security::None)
        .await
        .expect_err("a group");
    let multicast = AddressKind::Multicast;
    assert!(matches!(error, ConnectError::NotOneHost { kind, .. } if kind == multicast));
}

/// An echo service is named in the error, and gets only the two Requests that are needed to recognize it.
#[tokio::test]
async fn finding_22_an_echo_service_is_named() {
    let echo = tokio::net::UdpSocket::bind("127.0.0.1:0").await;
    let echo = echo.expect("a free port");
    let at = echo.local_addr().expect("bound");
    let echoing = tokio::spawn(async move {
        let mut buffer = [0; 2_048];
        let mut count = 0;
        while let Ok(Ok((len, from))) =
            tokio::time::timeout(Duration::from_secs(2), echo.recv_from(&mut buffer)).await
        {
            count += 1;
            let _ = echo.send_to(&buffer[..len], from).await;
        }
        count
    });
    let error = soon(connect_any(
        &[at],
        SERVICE,
        Security::None,
        ConnectOptions::new(),
    ))
    .await;
    let error = error.expect_err("no DCCP there");
    assert!(matches!(error, ConnectError::Reflected { .. }), "{error}");
    assert!(error.to_string().contains("echo service"), "{error}");
    assert_eq!(soon(echoing).await.expect("it ends"), 2);
}

/// An endpoint that connects to itself receives its own Requests, and is connected.
#[tokio::test]
async fn finding_22_connecting_to_oneself_is_no_echo() {
    for bound in ["127.0.0.1:0", "0.0.0.0:0"] {
        let both = endpoint(bound);
        let port = both.local_addr().port();
        let listener = both
            .listen(5_001, &[SERVICE], Security::None)
            .expect("a free port");
        let remote = DccpAddr {
            addr: ([127, 0, 0, 1], port).into(),
            dccp_port: 5_001,
        };
        let (here, there) = soon(async {
            tokio::join!(
                both.connect(remote, SERVICE, Security::None),
                listener.accept()
            )
        })
        .await;
        let (here, there) = (here.expect("connected"), there.expect("accepted"));
        soon(here.send("me")).await.expect("sent");
        assert_eq!(soon(there.recv()).await.expect("open").data, "me");
    }
}

/// Closed addresses of each family, before and after the open one, cost no timeout: the next address is tried when one
/// fails.
#[tokio::test]
async fn finding_23_closed_addresses_are_passed_over() {
    if !has_ipv6() {
        return;
    }
    for ip in ["127.0.0.1", "[::1]"] {
        let (listener, open) = server(ip);
        let others = [closed("127.0.0.1"), closed("[::1]"), closed("127.0.0.2")];
        for place in 0..=others.len() {
            let mut addrs = others.to_vec();
            addrs.insert(place, open);
            let connecting = connect_any(&addrs, SERVICE, Security::None, ConnectOptions::new());
            let (here, there) = soon(async { tokio::join!(connecting, listener.accept()) }).await;
            let (here, there) = (here.expect(ip), there.expect(ip));
            assert_eq!(here.remote().expect("open").addr, open);
            soon(here.send("x")).await.expect("sent");
            assert_eq!(soon(there.recv()).await.expect("open").data, "x");
        }
    }
}

/// Addresses that answer nothing cost one head start each, not a timeout. Their attempts end with a Reset when another
/// one wins.
#[tokio::test]
async fn finding_23_black_holes_cost_a_head_start() {
    let holes = [black_hole("127.0.0.1"), black_hole("127.0.0.2")];
    let (listener, open) = server("127.0.0.1");
    let addrs = [holes[0].1, holes[1].1, open];
    let connecting = connect_any(&addrs, SERVICE, Security::None, ConnectOptions::new());
    let (here, _there) = soon(async { tokio::join!(connecting, listener.accept()) }).await;
    assert_eq!(here.expect("connected").remote().expect("open").addr, open);
    tokio::time::sleep(Duration::from_millis(100)).await;
    for (hole, _) in &holes {
        let types = types(hole);
        assert_eq!((types[0], types.last()), (0, Some(&7)), "Request, Reset");
        assert!(types.len() <= 4, "{types:?}");
    }
}

/// If the first address answers, the second one is not tried: a server with two addresses sees one connection.
#[tokio::test]
async fn finding_23_the_preferred_address_is_taken() {
    let (listener, preferred) = server("127.0.0.1");
    let (hole, other) = black_hole("127.0.0.2");
    let addrs = [preferred, other];
    let connecting = connect_any(&addrs, SERVICE, Security::None, ConnectOptions::new());
    let (here, _there) = soon(async { tokio::join!(connecting, listener.accept()) }).await;
    assert_eq!(
        here.expect("connected").remote().expect("open").addr,
        preferred
    );
    let sent = types(&hole);
    assert!(sent.is_empty(), "{sent:?}");
}

/// The text of an address may name the UDP port and the DCCP port. Errors say what is wrong with it.
#[tokio::test]
async fn texts_name_both_ports() {
    let server = endpoint("127.0.0.1:0");
    let listener = server.listen(PORT, &[SERVICE], Security::None);
    let listener = listener.expect("a free port");
    let to = format!("{}/{PORT}", server.local_addr());
    let connecting = fairwire::connect(&to, SERVICE, Security::None);
    let (here, _there) = soon(async { tokio::join!(connecting, listener.accept()) }).await;
    let remote = here.expect("connected").remote().expect("open");
    assert_eq!(remote.to_string(), to);
    assert_eq!(to.parse::<DccpAddr>().expect("an address"), remote);
    for (text, advice) in [
        (format!("{to}/1"), "as in 6511/7001"),
        (format!("{}/x", server.local_addr()), "as in 6511/7001"),
        (format!("{}/0", server.local_addr()), "DCCP port 0"),
    ] {
        let connected = fairwire::connect(&text, SERVICE, Security::None).await;
        let error = connected.expect_err("refused").to_string();
        assert!(error.contains(advice), "{text}: {error}");
    }
}

/// When all attempts fail, the error holds the error of each, and its message names them all. With one address the
/// error is its own. A cancelled race ends every attempt that it began.
#[tokio::test]
async fn finding_23_all_errors_are_told() {
    let (hole, silent) = black_hole("127.0.0.1");
    let dead = closed("127.0.0.2");
    let mut config = Config::default();
    config.connect_timeout = Duration::from_millis(500);
    let options = ConnectOptions::new().config(config);
    let error = soon(connect_any(
        &[silent, dead],
        SERVICE,
        Security::None,
        options.clone(),
    ))
    .await;
    let error = error.expect_err("nobody is there");
    let text = error.to_string();
    let ConnectError::All { host: None, tried } = error else {
        panic!("{text}");
    };
    let mut failed: Vec<_> = tried.iter().map(|(at, _)| *at).collect();
    failed.sort();
    assert_eq!(failed, [silent, dead]);
    for at in [silent, dead] {
        assert!(text.contains(&at.to_string()), "{text}");
    }
    assert!(text.contains("did not answer"), "{text}");
    let error = soon(connect_any(&[silent], SERVICE, Security::None, options)).await;
    assert!(
        matches!(error, Err(ConnectError::Timeout { .. })),
        "{error:?}"
    );
    let error = soon(connect_any(
        &[],
        SERVICE,
        Security::None,
        ConnectOptions::new(),
    ))
    .await;
    assert!(matches!(error, Err(ConnectError::NoAddress)), "{error:?}");

    let _ = types(&hole);
    let endpoint = endpoint("127.0.0.1:0");
    let remotes = [silent, black_hole("127.0.0.3").1, silent].map(DccpAddr::same_ports);
    let racing = endpoint.connect_any(&remotes, SERVICE, Security::None, ConnectOptions::new());
    let early = tokio::time::timeout(Duration::from_millis(100), racing).await;
    assert!(early.is_err(), "nobody answers");
    soon(endpoint.wait_idle()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(types(&hole), [0, 7], "Request, Reset");
}

/// What Linux does against a MUST of the RFCs can be simulated, but no socket does it: neither a client nor a listener.
#[tokio::test]
async fn violations_are_not_imitated_on_sockets() {
    type Imitate = fn(&mut Config);
    let (_listener, at) = server("127.0.0.1");
    let imitations: [(&str, Imitate); 3] = [
        ("ccid3.bursts", |config| {
            config.ccid3.bursts = Bursts::Unbounded;
        }),
        ("ccid3.keep_sequence_window", |config| {
            config.ccid3.keep_sequence_window = true;
        }),
        ("ccid2.ack_ratio_follows", |config| {
            config.ccid2.ack_ratio_follows = AckRatioFollows::Window;
        }),
    ];
    let here = endpoint("127.0.0.1:0");
    for (field, imitate) in imitations {
        let mut config = Config::default();
        imitate(&mut config);
        let options = ConnectOptions::new().config(config.clone());
        let to = DccpAddr {
            addr: at,
            dccp_port: at.port(),
        };
        let error = soon(here.connect_with(to, SERVICE, Security::None, options)).await;
        match error.expect_err("refused") {
            ConnectError::Start(StartError::Config(error)) => assert_eq!(error.field(), field),
            error => panic!("{error}"),
        }
        let options = ListenOptions::new().config(config);
        let error = here.listen_with(at.port(), &[SERVICE], Security::None, options);
        match error.expect_err("refused") {
            ListenError::Config(error) => assert_eq!(error.field(), field),
            error => panic!("{error}"),
        }
    }
}

/// The ports of a connection that has just ended rest at the peer (TIMEWAIT). Who takes them again is told, and with
/// other ports it connects.
#[tokio::test]
async fn resting_ports_are_told() {
    let (listener, at) = server("127.0.0.1");
    let client = endpoint("127.0.0.1:0");
    let connect = |port| {
        let options = ConnectOptions::new().local_port(port);
        client.connect_with(DccpAddr::same_ports(at), SERVICE, Security::None, options)
    };
    let (here, there) = soon(async { tokio::join!(connect(50_000), listener.accept()) }).await;
    // Without closing it: so the peer is the one that waits.
    drop(here.expect("connected"));
    soon(there.expect("accepted").closed()).await;
    let error = soon(connect(50_000)).await.expect_err("it rests");
    let told = "a connection with the same ports ended less than five minutes ago";
    assert!(error.to_string().contains(told), "{error}");
    soon(connect(50_001)).await.expect("other ports");
}
