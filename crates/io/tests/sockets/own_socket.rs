//! Endpoints on sockets that the program has bound, and datagrams on them that are not DCCP.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;

use fairwire::{BindError, Connection, DccpAddr, Endpoint, Security};

use crate::SERVICE;

/// A datagram of STUN: a binding request without attributes (RFC 5389, section 6).
const STUN: [u8; 20] = [
    0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

fn bound() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port")
}

async fn connected(server: &Endpoint) -> (Connection, Connection) {
    let listener = server.listen(7, &[SERVICE], Security::None);
    let listener = listener.expect("a free port");
    let client = Endpoint::builder().from_std(bound()).expect("a socket");
    let to = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 7,
    };
    let connecting = client.connect(to, SERVICE, Security::None);
    let (here, there) = tokio::join!(connecting, listener.accept());
    (here.expect("connected"), there.expect("accepted"))
}

/// A socket that a program has bound keeps its address, and carries connections.
#[tokio::test]
async fn a_socket_of_ones_own_is_used() {
    let socket = bound();
    let addr = socket.local_addr().expect("bound");
    let server = Endpoint::builder().from_std(socket).expect("a socket");
    assert_eq!(server.local_addr(), addr);
    let (here, there) = connected(&server).await;
    here.send("there").await.expect("open");
    there.send("and back").await.expect("open");
    assert_eq!(there.recv().await.expect("open").data, "there");
    assert_eq!(here.recv().await.expect("open").data, "and back");
}

/// Datagrams that are not DCCP's leave and arrive on the port of an endpoint while it serves connections. A hook that
/// panics harms nobody.
#[tokio::test]
async fn a_port_is_shared_with_stun() {
    let socket = bound();
    let ours = socket.try_clone().expect("a descriptor");
    let (found, stun) = mpsc::channel();
    let hook = move |datagram: &[u8], from| {
        assert_ne!(datagram, b"panic");
        datagram.get(4..8) == Some(&STUN[4..8]) && found.send((datagram.to_vec(), from)).is_ok()
    };
    let builder = Endpoint::builder().divert(hook);
    let server = builder.from_std(socket).expect("a socket");
    let (here, there) = connected(&server).await;
    let peer = bound();
    let timeout = Some(Duration::from_secs(10));
    peer.set_read_timeout(timeout).expect("a timeout");
    let to = server.local_addr();
    for datagram in [&b"panic"[..], &STUN, &STUN] {
        peer.send_to(datagram, to).expect("loopback");
        here.send("data").await.expect("open");
        assert_eq!(there.recv().await.expect("open").data, "data");
    }
    for _ in 0..2 {
        let (datagram, from) = stun.recv_timeout(Duration::from_secs(10)).expect("it came");
        assert_eq!(
            (&datagram[..], from),
            (&STUN[..], peer.local_addr().expect("bound"))
        );
        ours.send_to(&datagram, from).expect("loopback");
        let mut answer = [0; 100];
        let (len, by) = peer.recv_from(&mut answer).expect("an answer");
        assert_eq!((&answer[..len], by), (&STUN[..], to));
    }
    // What the hook leaves to DCCP and is not DCCP is counted.
    assert_eq!(server.stats().malformed, 1);
}

/// A socket that cannot serve an endpoint is refused, with the reason.
#[tokio::test]
async fn sockets_that_are_of_no_use_are_refused() {
    let connected = bound();
    let peer = bound().local_addr().expect("bound");
    connected.connect(peer).expect("loopback");
    let refused = Endpoint::builder().from_std(connected);
    let error = refused.expect_err("it reaches one peer only");
    assert!(matches!(error, BindError::OnePeer { .. }), "{error}");
    assert!(error.to_string().contains(&peer.to_string()), "{error}");
    let domain = socket2::Domain::IPV4;
    let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None).expect("a socket");
    let refused = Endpoint::builder().from_std(socket.into());
    let error = refused.expect_err("it has no port");
    assert!(matches!(error, BindError::NotBound), "{error}");
}
