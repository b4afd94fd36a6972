//! DCCP directly in IP on this host: two endpoints on loopback, and what a third one receives.
//!
//! A raw socket receives every DCCP packet of its host, so these tests, which run in parallel, also receive each
//! other's packets. Every test has its own DCCP ports.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use fairwire::{
    BindError, Ccid, Config, ConnectError, ConnectOptions, Connection, DccpAddr, Ecn, Endpoint,
    ListenOptions, Security, ServiceCode,
};

use crate::{SERVICE, soon};

/// The variable that is set in the child that must not have the right to open raw sockets.
const CHILD: &str = "FAIRWIRE_TEST_WITHOUT_RIGHT";

/// Returns whether this test may open raw sockets. If not, prints that the test is skipped.
fn may() -> bool {
    let Err(error) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(async { Endpoint::bind_native([127, 0, 0, 1].into()) })
    else {
        return true;
    };
    assert!(matches!(error, BindError::NotPrivileged { .. }), "{error}");
    let strict = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|value| value == "1");
    assert!(!strict, "FAIRWIRE_NO_SKIP=1: {error}");
    eprintln!("skipped: {error}");
    false
}

/// Runs a test that needs the right to open raw sockets.
fn native(test: impl Future<Output = ()>) {
    if may() {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(test);
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Two endpoints and a connection between them.
struct Pair {
    server: Endpoint,
    client: Endpoint,
    here: Connection,
    there: Connection,
}

async fn pair(bound: &str, dialled: &str, port: u16, config: Config) -> Pair {
    let server = Endpoint::bind_native(ip(bound)).expect("a raw socket");
    let client = Endpoint::bind_native(ip(bound)).expect("a raw socket");
    let options = ListenOptions::new().config(config.clone());
    let listener = server.listen_with(port, &[SERVICE], Security::None, options);
    let listener = listener.expect("a free port");
    let remote = DccpAddr::native(SocketAddr::new(ip(dialled), port));
    let options = ConnectOptions::new().config(config);
    let (here, there) = soon(async {
        tokio::join!(
            client.connect_with(remote, SERVICE, Security::None, options),
            listener.accept()
        )
    })
    .await;
    Pair {
        here: here.expect(dialled),
        there: there.expect(dialled),
        server,
        client,
    }
}

/// IPv4 and IPv6, one bound address and all, CCID 2 and 3, whole and partial checksums (RFC 4340, section 9.2):
/// datagrams cross both ways unchanged and as ECT(0), both ends report the same addresses, and the close is orderly.
#[test]
fn datagrams_cross_both_ways() {
    native(async {
        let ways = [
            ("127.0.0.1", "127.0.0.1", 2, 0),
            ("0.0.0.0", "127.0.0.3", 3, 1),
            ("::1", "::1", 2, 1),
            ("::", "::1", 3, 0),
            ("::", "127.0.0.1", 2, 2),
        ];
        for (port, (bound, dialled, ccid, coverage)) in (5_101..).zip(ways) {
            let mut config = Config::default();
            config.send_ccids = vec![Ccid::new(ccid)];
            config.receive_ccids = vec![Ccid::new(ccid)];
            config.checksum_coverage = coverage;
            config.minimum_checksum_coverage = coverage;
            let pair = pair(bound, dialled, port, config).await;
            let (here, there) = (&pair.here, &pair.there);
            for (from, to) in [(here, there), (there, here)] {
                for n in 0..20_u8 {
                    soon(from.send(vec![n; 101])).await.expect("sent");
                }
                for n in 0..20_u8 {
                    let received = soon(to.recv()).await.expect("open");
                    assert_eq!(received.data, vec![n; 101], "{bound}");
                    assert_eq!(received.lost_before, 0, "{bound}");
                    assert_eq!(received.ecn, Ecn::Ect0, "{bound}");
                }
            }
            let at = there.local().expect("open");
            assert_eq!(at, DccpAddr::native(SocketAddr::new(ip(dialled), port)));
            assert_eq!(there.remote(), here.local(), "both ends agree");
            soon(here.close()).await.expect("an orderly end");
            let end = soon(there.recv()).await.expect_err("the end");
            assert!(end.is_orderly(), "{end}");
            for endpoint in [&pair.server, &pair.client] {
                assert_eq!(endpoint.stats().checksum_errors, 0, "{bound}");
            }
        }
    });
}

/// The largest native datagram is 8 bytes larger than in UDP on the same path (RFC 6773, section 3.7), and it arrives.
#[test]
fn the_largest_datagram_fits() {
    native(async {
        let pair = pair("127.0.0.1", "127.0.0.1", 5_111, Config::default()).await;
        let max = pair.here.max_datagram_size();
        // 1,500 minus 20 for the IPv4 header, 24 for a DataAck header, and 40 for options.
        assert_eq!(max, 1_500 - 20 - 24 - 40);
        soon(pair.here.send(vec![1; max])).await.expect("sent");
        let received = soon(pair.there.recv()).await.expect("open");
        assert_eq!(received.data.len(), max);
    });
}

/// A native endpoint does not answer a Request to a port that it has not bound. Only an exclusive endpoint sends the
/// Reset (code 7) that RFC 4340 describes.
#[test]
fn unbound_ports_are_not_answered() {
    native(async {
        let at = "127.0.0.71";
        for (exclusive, expected) in [(false, "did not answer"), (true, "nobody listens")] {
            let server = Endpoint::builder().exclusive(exclusive);
            let server = server.bind_native(ip(at)).expect("a raw socket");
            let client = Endpoint::bind_native(ip("127.0.0.72")).expect("a raw socket");
            let mut config = Config::default();
            config.connect_timeout = Duration::from_millis(400);
            let options = ConnectOptions::new().config(config);
            let remote = DccpAddr::native(SocketAddr::new(ip(at), 5_121));
            let connecting = client.connect_with(remote, SERVICE, Security::None, options);
            let error = soon(connecting).await.expect_err("nobody listens");
            assert!(error.to_string().contains(expected), "{error}");
            let answered = server.stats().resets_sent > 0;
            assert_eq!(answered, exclusive, "{error}");
        }
    });
}

/// Two pairs of endpoints and an idle one, all on 127.0.0.1, receive each other's packets and ignore them: nothing is
/// lost, no Reset is sent, and the packets are counted as unmatched.
#[test]
fn endpoints_of_one_host_do_not_disturb_each_other() {
    native(async {
        let idle = Endpoint::bind_native(ip("0.0.0.0")).expect("a raw socket");
        let one = pair("127.0.0.1", "127.0.0.1", 5_131, Config::default()).await;
        let two = pair("127.0.0.1", "127.0.0.1", 5_132, Config::default()).await;
        for n in 0..50_u8 {
            for pair in [&one, &two] {
                soon(pair.here.send(vec![n; 200])).await.expect("sent");
                let received = soon(pair.there.recv()).await.expect("open");
                assert_eq!((received.data[0], received.lost_before), (n, 0));
            }
        }
        for pair in [&one, &two] {
            soon(pair.here.close()).await.expect("an orderly end");
        }
        for endpoint in [&idle, &one.server, &one.client, &two.server, &two.client] {
            assert_eq!(endpoint.stats().resets_sent, 0);
        }
        assert!(idle.stats().unmatched > 100, "{:?}", idle.stats());
    });
}

/// A DCCP port has at most one listener on the host, whichever endpoint it belongs to. It is free again when that
/// listener is dropped.
#[test]
fn a_port_in_use() {
    native(async {
        let first = Endpoint::bind_native(ip("127.0.0.1")).expect("a raw socket");
        let second = Endpoint::bind_native(ip("127.0.0.1")).expect("a raw socket");
        let listener = first
            .listen(5_141, &[SERVICE], Security::None)
            .expect("a free port");
        let error = second
            .listen(5_141, &[SERVICE], Security::None)
            .expect_err("taken");
        assert!(error.to_string().contains("5141"), "{error}");
        drop(listener);
        second
            .listen(5_141, &[SERVICE], Security::None)
            .expect("free again");
    });
}

/// A wrong service is refused, and the error says so.
#[test]
fn refusals_are_told_apart() {
    native(async {
        let server = Endpoint::bind_native(ip("::")).expect("raw sockets");
        let _listener = server
            .listen(5_151, &[SERVICE], Security::None)
            .expect("a free port");
        let other = ServiceCode::from_bytes(*b"?oth");
        for host in ["127.0.0.1:5151", "[::1]:5151"] {
            let connecting =
                fairwire::connect_native(host, other, Security::None, ConnectOptions::new());
            let error = soon(connecting).await.expect_err("refused");
            let text = error.to_string();
            assert!(
                text.contains("another service") && text.contains(host),
                "{text}"
            );
        }
    });
}

/// An endpoint on UDP cannot connect to an address without a UDP port, and the error says so.
#[tokio::test]
async fn a_udp_endpoint_needs_a_udp_port() {
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let remote = DccpAddr::native(([127, 0, 0, 1], 5_161).into());
    let error = soon(endpoint.connect(remote, SERVICE, Security::None)).await;
    let error = error.expect_err("no UDP port");
    assert!(matches!(error, ConnectError::NoUdpPort { .. }), "{error}");
}

/// An address that is not one of this host gives an error that names it.
#[test]
fn a_foreign_address_is_named() {
    native(async {
        for foreign in ["192.0.2.1", "2001:db8::1"] {
            let error = Endpoint::bind_native(ip(foreign)).expect_err("not ours");
            let text = error.to_string();
            assert!(
                text.contains(foreign) && text.contains("not an address"),
                "{text}"
            );
        }
    });
}

/// A program without `CAP_NET_RAW` gets an error that says how to grant it. A child of this test, which gave the
/// capability up, checks this.
#[test]
fn a_missing_right_is_named() {
    let refused = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime");
        for any in ["0.0.0.0", "::", "127.0.0.1", "::1"] {
            let bound = runtime.block_on(async { Endpoint::bind_native(ip(any)) });
            let text = bound.expect_err("no right").to_string();
            assert!(
                text.contains("CAP_NET_RAW") && text.contains("root"),
                "{text}"
            );
        }
    };
    if std::env::var_os(CHILD).is_some() || !may() {
        return refused();
    }
    let test = std::env::current_exe().expect("a test has a path");
    let child = Command::new("setpriv")
        .args(["--bounding-set=-net_raw", "--inh-caps=-net_raw"])
        .arg(test)
        .args(["--exact", "native::a_missing_right_is_named"])
        .env(CHILD, "1")
        .output()
        .expect("setpriv (util-linux)");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}
