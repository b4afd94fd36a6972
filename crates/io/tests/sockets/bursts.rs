//! Many clients at the same moment, on a runtime with one thread. Every wait is bounded.

use std::time::Duration;

use fairwire::{ConnectError, Connection, DccpAddr, Endpoint, ListenOptions, Listener, Security};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::{SERVICE, in_time};

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port")
}

fn listen(options: ListenOptions) -> (Endpoint, Listener, DccpAddr) {
    let server = endpoint();
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 5_001,
    };
    let listener = server.listen_with(5_001, &[SERVICE], Security::None, options);
    (server, listener.expect("a free port"), remote)
}

/// Accepts forever, with a pause after each connection, and echoes datagrams.
async fn serve(listener: Listener, pause: Duration) {
    let mut connections = JoinSet::new();
    while let Ok(connection) = listener.accept().await {
        connections.spawn(async move {
            while let Ok(received) = connection.recv().await {
                if connection.send(received.data).await.is_err() {
                    break;
                }
            }
        });
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
}

/// Sends a datagram until its echo arrives. The network may lose some, and a server that has not accepted yet drops
/// them. Fails if the connection is over.
async fn exchange(connection: &Connection, name: u32) {
    let data = name.to_be_bytes().to_vec();
    loop {
        let sent = connection.send(data.clone()).await;
        assert!(sent.is_ok(), "client {name}: {sent:?}");
        match timeout(Duration::from_millis(200), connection.recv()).await {
            Ok(Ok(received)) => return assert_eq!(received.data, data, "client {name}"),
            Ok(Err(lost)) => panic!("client {name}: {lost}"),
            Err(_) => {}
        }
    }
}

/// Finding 15: with default options and one thread for all, 2,000 clients connect at once. Each of them connects and
/// exchanges a datagram.
#[tokio::test]
async fn finding_15_a_burst_of_clients_is_served() {
    let (server, listener, remote) = listen(ListenOptions::new());
    let serving = tokio::spawn(serve(listener, Duration::ZERO));
    let client = endpoint();
    let mut clients = JoinSet::new();
    for name in 0..2_000 {
        let client = client.clone();
        clients.spawn(async move {
            let connection = client.connect(remote, SERVICE, Security::None).await;
            let connection = connection.unwrap_or_else(|error| panic!("client {name}: {error}"));
            exchange(&connection, name).await;
        });
    }
    let done = in_time(clients.join_all()).await;
    assert_eq!(done.len(), 2_000);
    assert_eq!(server.stats().refused, 0);
    serving.abort();
}

/// Finding 15: 200 clients connect at once to a backlog of eight that is emptied slowly. Some are told that the server
/// is too busy. Every client that learns that its connection is open can use it.
#[tokio::test]
async fn finding_15_no_open_connection_is_dead() {
    let (server, listener, remote) = listen(ListenOptions::new().backlog(8));
    let serving = tokio::spawn(serve(listener, Duration::from_millis(5)));
    let client = endpoint();
    let mut clients = JoinSet::new();
    for name in 0..200 {
        let client = client.clone();
        clients.spawn(async move {
            match client.connect(remote, SERVICE, Security::None).await {
                Ok(connection) => exchange(&connection, name).await,
                Err(ConnectError::Refused { .. }) => return false,
                Err(error) => panic!("client {name}: {error}"),
            }
            true
        });
    }
    let served = in_time(clients.join_all()).await;
    let served = served.into_iter().filter(|&served| served).count();
    assert!(served >= 8, "{served} were served");
    let refused = usize::try_from(server.stats().refused).expect("few");
    assert!(served + refused >= 200, "{served} and {refused}");
    serving.abort();
}
