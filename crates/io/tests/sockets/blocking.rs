//! The blocking sockets: no runtime in sight.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use fairwire::blocking::{Endpoint, Listener, connect, listen};
use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};
use fairwire::{
    Config, ConnectError, ConnectOptions, DccpAddr, Fate, Security, SendOptions, ServiceCode,
};

const ECHO: ServiceCode = ServiceCode::from_bytes(*b"echo");

fn any_port() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Sends back what the first client sends, until it closes.
fn echo(listener: Listener) -> thread::JoinHandle<bool> {
    thread::spawn(move || {
        let connection = listener.accept().expect("a client");
        loop {
            match connection.recv() {
                Ok(received) => drop(connection.send(received.data).expect("open")),
                Err(closed) => return closed.is_orderly() && closed.code() == Some(3),
            }
        }
    })
}

/// A client and a server on plain threads, with DTLS: datagrams there and back, a wait that ends, a close.
#[test]
fn threads_talk() {
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    let identity = Identity::generate(&["echo"], validity).expect("an identity");
    let trusted = Security::dtls(ClientConfig::pinned([identity.fingerprint()]));
    let shown = Security::dtls(ServerConfig::new(identity));
    let listener = listen(any_port(), &[ECHO], shown).expect("a free port");
    let address = listener.local_addr().to_string();
    let server = echo(listener);
    let connection = connect(&address, ECHO, trusted).expect("it answers");
    assert!(connection.is_encrypted());
    for word in ["one", "two"] {
        connection.send(word).expect("open");
        assert_eq!(connection.recv().expect("an answer").data, word);
    }
    let nothing = connection.recv_timeout(Duration::from_millis(20));
    assert!(nothing.expect("open").is_none());
    connection.close_with(3, "done").expect("an orderly end");
    assert!(server.join().expect("no panic"));
}

/// One thread waits to receive while another one sends on the same connection, and fates are reported.
#[test]
fn clones_send_and_receive_at_once() {
    let server = Endpoint::bind(any_port()).expect("a free port");
    let listener = server.listen(7, &[ECHO], Security::None).expect("free");
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 7,
    };
    let serving = echo(listener);
    let mut config = Config::default();
    config.report_fates = true;
    let client = Endpoint::bind(any_port()).expect("a free port");
    let options = ConnectOptions::new().config(config);
    let connection = client
        .connect_with(remote, ECHO, Security::None, options)
        .expect("it answers");
    let reading = connection.clone();
    let reader = thread::spawn(move || {
        let all = (0..100).map(|_| reading.recv().expect("an echo").data);
        all.collect::<Vec<_>>()
    });
    for number in 0..100_u8 {
        let options = SendOptions::new().within(Duration::from_secs(60));
        connection.send_with(vec![number], options).expect("open");
    }
    let echoed = reader.join().expect("no panic");
    assert_eq!(
        echoed,
        (0..100_u8).map(|number| vec![number]).collect::<Vec<_>>()
    );
    let (_, fate) = connection.fate().expect("open");
    assert_eq!(fate, Fate::Acknowledged);
    connection.close_with(3, "").expect("an orderly end");
    assert!(serving.join().expect("no panic"));
    server.close();
}

/// Nobody listens: the error is that of the `async` API. It comes even inside of another runtime, where blocking is a
/// bad idea but no panic.
#[test]
fn errors_and_foreign_runtimes() {
    let unused = std::net::UdpSocket::bind(any_port()).expect("a free port");
    let address = unused.local_addr().expect("bound").to_string();
    drop(unused);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        let refused = connect(&address, ECHO, Security::None).map(drop);
        assert!(
            matches!(refused, Err(ConnectError::Unreachable { .. })),
            "{refused:?}"
        );
    });
}
