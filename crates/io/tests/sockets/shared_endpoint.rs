//! The endpoint that connections share which `connect` makes.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fairwire::{ConnectOptions, Connection, Listener, Security, connect, connect_with, listen};

use crate::SERVICE;

fn listener() -> (Listener, String) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = listen(any, &[SERVICE], Security::None).expect("bound");
    let to = listener.local_addr().to_string();
    (listener, to)
}

async fn connected(listener: &Listener, to: &str) -> (Connection, Connection) {
    let (here, there) = tokio::join!(connect(to, SERVICE, Security::None), listener.accept());
    (here.expect("connected"), there.expect("accepted"))
}

fn udp_of(connection: &Connection) -> SocketAddr {
    connection.remote().expect("open").addr
}

/// Connections of one runtime come from one UDP port, whichever call makes them, and each gets its own data.
#[tokio::test]
async fn connections_of_a_runtime_share_a_port() {
    let (listener, to) = listener();
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(connected(&listener, &to).await);
    }
    let ports: BTreeSet<SocketAddr> = open.iter().map(|(_, there)| udp_of(there)).collect();
    assert_eq!(ports.len(), 1, "{ports:?}");
    for (number, (here, _)) in open.iter().enumerate() {
        here.send(vec![u8::try_from(number).expect("few")])
            .await
            .expect("open");
    }
    for (number, (_, there)) in open.iter().enumerate() {
        let datagram = there.recv().await.expect("open");
        assert_eq!(usize::from(datagram.data[0]), number);
    }
}

/// A connection can have an endpoint of its own.
#[tokio::test]
async fn a_connection_can_be_alone() {
    let (listener, to) = listener();
    let (_first, there) = connected(&listener, &to).await;
    let alone = ConnectOptions::new().own_endpoint(true);
    let connecting = connect_with(&to, SERVICE, Security::None, alone);
    let (_second, other) = tokio::join!(connecting, listener.accept());
    assert_ne!(udp_of(&there), udp_of(&other.expect("accepted")));
}

/// The endpoint ends with its last connection, and the next connection has another; a server that is closed and one
/// that never was change nothing for others.
#[tokio::test]
async fn the_endpoint_ends_with_its_last_connection() {
    let (listener, to) = listener();
    for _ in 0..50 {
        let (here, there) = connected(&listener, &to).await;
        here.send("data").await.expect("open");
        there.recv().await.expect("open");
        drop(here);
        there.closed().await;
    }
    let (here, _there) = connected(&listener, &to).await;
    let nobody = (IpAddr::from(Ipv4Addr::LOCALHOST), 9).into();
    let refused = connect(&SocketAddr::to_string(&nobody), SERVICE, Security::None).await;
    assert!(refused.is_err(), "nobody listens there");
    here.send("still open").await.expect("open");
}

/// The endpoint of a runtime is not used on another, where nobody would run it, and not after its runtime is gone.
#[test]
fn each_runtime_has_its_own() {
    let runtime = || {
        let built = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        built.expect("a runtime")
    };
    let server = tokio::runtime::Runtime::new().expect("a runtime");
    let (listener, to) = {
        let _inside = server.enter();
        listener()
    };
    let first = runtime();
    let (_here, there) = first.block_on(connected(&listener, &to));
    for _ in 0..3 {
        // Nobody runs the first one now.
        let (_here, other) = runtime().block_on(connected(&listener, &to));
        assert_ne!(udp_of(&there), udp_of(&other));
    }
}
