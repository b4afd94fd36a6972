//! Endpoints with several shards behave as those with one.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fairwire::{
    BindError, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, ListenOptions,
    Listener, Security,
};

use crate::{PORT, SERVICE, in_time};

const SHARDS: u16 = 3;

fn endpoint(ip: &str, shards: u16) -> Endpoint {
    let ip = ip.parse().expect("an address");
    let bound = Endpoint::builder()
        .shards(shards)
        .bind(SocketAddr::new(ip, 0));
    bound.expect("a free port")
}

fn at(server: &Endpoint, ip: &str) -> DccpAddr {
    let ip = ip.parse().expect("an address");
    DccpAddr {
        addr: SocketAddr::new(ip, server.local_addr().port()),
        dccp_port: PORT,
    }
}

/// Connects `count` times and passes a datagram each way on each connection.
async fn exchange(
    client: &Endpoint,
    listener: &Listener,
    remote: DccpAddr,
    count: u16,
    local_port: impl Fn(u16) -> Option<u16>,
) -> Vec<(Connection, Connection)> {
    let mut pairs = Vec::new();
    for n in 0..count {
        let mut options = ConnectOptions::new();
        if let Some(port) = local_port(n) {
            options = options.local_port(port);
        }
        let connecting = client.connect_with(remote, SERVICE, Security::None, options);
        let (here, there) = in_time(async { tokio::join!(connecting, listener.accept()) }).await;
        let (here, there) = (here.expect("connected"), there.expect("accepted"));
        for (from, to) in [(&here, &there), (&there, &here)] {
            in_time(from.send(n.to_be_bytes().to_vec()))
                .await
                .expect("sent");
            let got = in_time(to.recv()).await.expect("received");
            assert_eq!(got.data, n.to_be_bytes().to_vec());
        }
        pairs.push((here, there));
    }
    pairs
}

/// Connections are made and carry data whatever the number of shards at either end, over IPv4 and IPv6, from ports that
/// are drawn and from ports that are given. The counters cover all shards, and the endpoints end in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shard_carries_connections() {
    for (bound, to) in [
        ("127.0.0.1", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("::", "::1"),
    ] {
        for (client_shards, server_shards) in [(1, SHARDS), (SHARDS, 1), (SHARDS, 2)] {
            let server = endpoint(bound, server_shards);
            assert_eq!(server.shards(), usize::from(server_shards));
            let client = endpoint(to, client_shards);
            let listener = server.listen(PORT, &[SERVICE], Security::None);
            let listener = listener.expect("a free port");
            let remote = at(&server, to);
            let drawn = exchange(&client, &listener, remote, 12, |_| None).await;
            let given = exchange(&client, &listener, remote, 6, |n| Some(7_000 + n)).await;
            assert_eq!(server.stats().connections, drawn.len() + given.len());
            assert_eq!(client.stats().connections, drawn.len() + given.len());
            in_time(client.close()).await;
            for (_, there) in drawn.iter().chain(&given) {
                let end = in_time(there.recv()).await.expect_err("the end");
                assert!(end.is_orderly(), "{end}");
            }
            drop((drawn, given));
            in_time(server.wait_idle()).await;
            assert_eq!(server.stats().connections, 0);
        }
    }
}

/// Clients of several shards wait in the accept queue and are accepted; none is forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_all_shards_are_accepted() {
    const CLIENTS: usize = 60;
    let server = endpoint("127.0.0.1", SHARDS);
    let client = endpoint("127.0.0.1", 1);
    let options = ListenOptions::new().backlog(6);
    let listener = server.listen_with(PORT, &[SERVICE], Security::None, options);
    let listener = listener.expect("a free port");
    let remote = at(&server, "127.0.0.1");
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let client = client.clone();
        clients.push(tokio::spawn(async move {
            let mut made = client.connect(remote, SERVICE, Security::None).await;
            // A full accept queue refuses: RFC 4340, Reset 9. The client tries again.
            while matches!(made, Err(ConnectError::Refused { .. })) {
                tokio::time::sleep(Duration::from_millis(5)).await;
                made = client.connect(remote, SERVICE, Security::None).await;
            }
            made
        }));
    }
    let mut accepted = Vec::new();
    for _ in 0..CLIENTS {
        accepted.push(in_time(listener.accept()).await.expect("accepted"));
    }
    for client in clients {
        in_time(client)
            .await
            .expect("no panic")
            .expect("it is connected");
    }
}

/// Errors of the network reach the shard that they belong to, although the system delivers them by another rule.
#[tokio::test]
async fn a_closed_port_is_found_at_once() {
    let dead = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let nobody = dead.local_addr().expect("bound");
    drop(dead);
    let client = endpoint("127.0.0.1", SHARDS);
    for _ in 0..2 * SHARDS {
        let to = DccpAddr::from(nobody);
        let refused = in_time(client.connect(to, SERVICE, Security::None)).await;
        let error = refused.expect_err("nobody is there");
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    }
}

/// Two clients behind NATs meet, whatever shards their ports belong to.
#[tokio::test]
async fn invitations_reach_their_shard() {
    let server = endpoint("127.0.0.1", SHARDS);
    let client = endpoint("127.0.0.1", SHARDS);
    for n in 0..SHARDS {
        let port = 6_000 + n;
        let back = DccpAddr {
            addr: client.local_addr(),
            dccp_port: port,
        };
        let there = DccpAddr {
            addr: server.local_addr(),
            dccp_port: PORT,
        };
        let options = ConnectOptions::new().local_port(port);
        let waits =
            server.listen_towards(PORT, back, SERVICE, Security::None, ConnectOptions::new());
        let calls = client.connect_with(there, SERVICE, Security::None, options);
        let (waited, called) = in_time(async { tokio::join!(waits, calls) }).await;
        waited.expect("invited");
        called.expect("connected");
    }
}

/// A second endpoint cannot take the port of one with shards by accident.
#[tokio::test]
async fn the_port_is_not_shared_with_others() {
    let first = endpoint("127.0.0.1", SHARDS);
    for shards in [1, SHARDS] {
        let second = Endpoint::builder().shards(shards).bind(first.local_addr());
        assert!(
            matches!(second, Err(BindError::PortInUse { .. })),
            "{second:?}"
        );
    }
}

/// A connection outlives the handles of its endpoint, although the other shards have ended by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_outlives_the_other_shards() {
    let server = endpoint("127.0.0.1", SHARDS);
    let client = endpoint("127.0.0.1", SHARDS);
    let listener = server.listen(PORT, &[SERVICE], Security::None);
    let listener = listener.expect("a free port");
    let remote = at(&server, "127.0.0.1");
    let mut pairs = exchange(&client, &listener, remote, 1, |_| None).await;
    drop((listener, server, client));
    // The other drivers end at their next turn.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (here, there) = pairs.pop().expect("one pair");
    for _ in 0..20 {
        in_time(here.send("still")).await.expect("sent");
        assert_eq!(in_time(there.recv()).await.expect("data").data, "still");
    }
    in_time(here.close()).await.expect("an orderly end");
}
