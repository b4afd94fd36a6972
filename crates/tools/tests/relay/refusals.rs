//! What a relay refuses: loops, ports in use, peers that are no relays.

use fairwire_tools::perf::{Local, PerfError, Server, ServerOptions};
use fairwire_tools::relay::Side;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::{LIMIT, Running, clear, echo, loopback, new_identity, pair, program};

/// Returns the error of a relay that must not start.
async fn refused(options: fairwire_tools::relay::Options) -> PerfError {
    match Running::start(options).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

/// A relay that would send to itself is refused, at both sides.
#[tokio::test]
async fn a_relay_that_names_itself_is_refused() {
    let free = program().await.local_addr().expect("bound");
    for side in [Side::Client, Side::Server] {
        let mut options = clear(side, free);
        options.listen = free;
        let error = refused(options).await;
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(error.to_string().contains("would reach itself"), "{error}");
        // Nothing is left behind.
        UdpSocket::bind(free).await.expect("the port is free");
    }
}

/// A far relay that sends to the near one makes a client of each session. The near one finds that out and ends.
#[tokio::test]
async fn a_loop_over_two_relays_ends() {
    let near = program().await.local_addr().expect("bound");
    let server = Running::start(clear(Side::Server, near)).await;
    let server = server.expect("a free port");
    let mut options = clear(Side::Client, server.addr);
    options.listen = near;
    let client = Running::start(options).await.expect("a relay there");
    program()
        .await
        .send_to(b"round and round", near)
        .await
        .expect("sent");
    let summary = timeout(LIMIT, client.task).await.expect("it ends");
    let summary = summary.expect("no panic");
    let error = summary.error.clone().expect("a loop");
    assert_eq!(error.exit, 1);
    assert!(
        error.message.contains("comes back to its own UDP port"),
        "{}",
        error.message
    );
    assert!(summary.totals.sessions_begun < 500, "{:?}", summary.totals);
    drop(client.stop);
    server.end().await;
}

/// A port in use is one clear error at both sides.
#[tokio::test]
async fn a_port_in_use_is_told() {
    let taken = program().await;
    let far = echo().await;
    for side in [Side::Client, Side::Server] {
        let mut options = clear(side, far);
        options.listen = taken.local_addr().expect("bound");
        let error = refused(options).await;
        let port = format!(
            "UDP port {} is in use",
            taken.local_addr().expect("bound").port()
        );
        assert!(error.to_string().contains(&port), "{error}");
        assert_eq!(error.kind(), "local");
    }
}

/// A peer that is not a relay, or encrypts when this side does not, or is not the one that was pinned, is told at once.
#[tokio::test]
async fn a_peer_that_is_no_such_relay_is_told() {
    let mut options = ServerOptions::new(0);
    options.bind = Some(Local::from(loopback(0).ip()));
    let perf = Server::bind(options).expect("a free port");
    let perf = loopback(perf.port().expect("bound"));
    let (client, server) = pair(echo().await, |_| {}).await;
    let (_directory, id, fingerprint) = new_identity();
    let mut options = clear(Side::Server, echo().await);
    options.clear_text = false;
    options.dtls.identity = Some(id);
    let encrypted = Running::start(options).await.expect("a free port");
    let another = fairwire_tools::identity::Fingerprint::of(b"another certificate");
    for (to, pin, said) in [
        (encrypted.addr, None, "offers another service"),
        (server.addr, Some(fingerprint), "offers another service"),
        (encrypted.addr, Some(another), "certificate"),
        (
            perf,
            Some(fingerprint),
            "is not an encrypted fairwire relay",
        ),
    ] {
        let mut options = clear(Side::Client, to);
        options.clear_text = pin.is_none();
        options.dtls.pins.extend(pin);
        let error = refused(options).await;
        assert_eq!(error.kind(), "peer", "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    client.end().await;
    server.end().await;
    encrypted.end().await;
}
