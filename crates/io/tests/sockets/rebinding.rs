//! Clients behind a NAT that gives them another address in the middle of a connection (`docs/security.md`).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairwire::tls::{ClientConfig, ServerConfig};
use fairwire::{
    Config, ConnectOptions, Connection, ConnectionEvent, DccpAddr, Endpoint, ListenOptions,
    Listener, Security,
};
use tokio::net::UdpSocket;

use crate::{PORT, SERVICE, identity, in_time};

/// A NAT with one client. What arrives at an address that it has given up is lost.
struct Nat {
    front: SocketAddr,
    server: SocketAddr,
    back: tokio::sync::watch::Sender<Arc<UdpSocket>>,
    /// Every datagram of the client.
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Addresses that were given up: their sockets stay open, so that no ICMP error tells of it.
    old: Vec<Arc<UdpSocket>>,
}

async fn bound(host: u8) -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, host), 0)).await;
    socket.expect("a free port")
}

impl Nat {
    async fn new(server: SocketAddr) -> Self {
        let (front, back) = (bound(1).await, Arc::new(bound(1).await));
        let at = front.local_addr().expect("bound");
        let (give, mut given) = tokio::sync::watch::channel(Arc::clone(&back));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let copies = Arc::clone(&seen);
        tokio::spawn(async move {
            let (mut one, mut other) = ([0; 2_048], [0; 2_048]);
            let mut client = None;
            loop {
                let back = Arc::clone(&given.borrow_and_update());
                tokio::select! {
                    changed = given.changed() => if changed.is_err() { return },
                    Ok((len, from)) = front.recv_from(&mut one) => {
                        client = Some(from);
                        copies.lock().expect("sound").push(one[..len].to_vec());
                        let _ = back.send_to(&one[..len], server).await;
                    }
                    Ok((len, _)) = back.recv_from(&mut other) => {
                        if let Some(client) = client {
                            let _ = front.send_to(&other[..len], client).await;
                        }
                    }
                }
            }
        });
        Self {
            front: at,
            server,
            back: give,
            seen,
            old: Vec::new(),
        }
    }

    /// Gives the client a new port of this host. Returns its address.
    async fn rebind(&mut self, host: u8) -> SocketAddr {
        let back = Arc::new(bound(host).await);
        let at = back.local_addr().expect("bound");
        self.old.push(self.back.send_replace(back));
        at
    }

    fn newest(&self) -> Vec<u8> {
        let seen = self.seen.lock().expect("sound");
        seen.last().expect("the client has sent something").clone()
    }
}

/// A server, and clients behind NATs.
struct Place {
    _endpoint: Endpoint,
    listener: Listener,
    at: SocketAddr,
    client: Option<ClientConfig>,
    config: Config,
}

impl Place {
    fn new(is_encrypted: bool, config: &Config, of_server: &Config) -> Self {
        let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let server = identity();
        let client = is_encrypted.then(|| ClientConfig::pinned([server.fingerprint()]));
        let security = if is_encrypted {
            Security::dtls(ServerConfig::new(server))
        } else {
            Security::None
        };
        let options = ListenOptions::new().config(of_server.clone());
        let listener = endpoint.listen_with(PORT, &[SERVICE], security, options);
        Self {
            at: endpoint.local_addr(),
            listener: listener.expect("a free port"),
            _endpoint: endpoint,
            client,
            config: config.clone(),
        }
    }

    /// Connects a client behind a NAT of its own. All clients have one DCCP port.
    async fn connect(&self) -> (Nat, Connection, Connection) {
        let nat = Nat::new(self.at).await;
        let client = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let security = match &self.client {
            Some(config) => Security::dtls(config.clone()),
            None => Security::None,
        };
        let options = ConnectOptions::new()
            .config(self.config.clone())
            .local_port(6_000);
        let to = DccpAddr {
            addr: nat.front,
            dccp_port: PORT,
        };
        let connecting = client.connect_with(to, SERVICE, security, options);
        let both = async { tokio::join!(connecting, self.listener.accept()) };
        let (here, there) = in_time(both).await;
        (nat, here.expect("connected"), there.expect("accepted"))
    }
}

/// Returns a configuration with which an end takes part in migration.
fn following(mut config: Config) -> Config {
    config.migration = true;
    config
}

/// Echoes all that a connection gets.
fn echo(there: Connection) {
    tokio::spawn(async move {
        while let Ok(received) = there.recv().await {
            let _ = there.send(received.data).await;
        }
    });
}

/// Sends numbers, one after the other, and waits for the echo of each. Returns how many got none.
async fn lost(here: &Connection, tag: u8, times: u8) -> u8 {
    let mut lost = 0;
    for number in 0..times {
        let data = vec![tag, number];
        here.send(data.clone()).await.expect("open");
        let answer = tokio::time::timeout(Duration::from_secs(2), here.recv());
        match answer.await {
            Ok(received) => assert_eq!(received.expect("open").data, data),
            Err(_) => lost += 1,
        }
    }
    lost
}

/// A client that gets another port, and then another host's address, keeps its connection in both directions. Each time,
/// the answer is lost that was sent before the client had answered at its new address, and no other.
#[tokio::test]
async fn a_client_is_followed() {
    tokio::join!(
        is_followed(following(Config::default())),
        is_followed(following(Config::interactive()))
    );
}

async fn is_followed(config: Config) {
    let place = Place::new(true, &config, &config);
    let (mut nat, here, there) = place.connect().await;
    echo(there.clone());
    assert_eq!(lost(&here, 0, 20).await, 0);
    let mut from = there.remote().expect("known").addr;
    for (tag, host) in [(1, 1), (2, 2), (3, 2)] {
        let to = nat.rebind(host).await;
        let lost = lost(&here, tag, 20).await;
        assert!(lost <= 1, "{lost} of 20 at {to}");
        assert_eq!(there.remote().expect("known").addr, to);
        let moved = loop {
            let event = in_time(there.event()).await.expect("open");
            if let ConnectionEvent::PathChanged { from, to } = event {
                break (from, to);
            }
        };
        assert_eq!(moved, (from, to));
        from = to;
    }
    assert_eq!(there.stats().migrations, 3);
    assert_eq!(here.stats().migrations, 0);
    in_time(here.close()).await.expect("an orderly end");
}

/// A server learns that its client has another address if it sends all the time, too, and is told by ICMP that nobody is
/// at the old one.
#[tokio::test]
async fn a_client_is_followed_from_a_port_that_is_closed() {
    let config = following(Config::interactive());
    let place = Place::new(true, &config, &config);
    let (mut nat, here, there) = place.connect().await;
    let from_there = there.clone();
    tokio::spawn(async move {
        while from_there.send("tick").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    in_time(here.recv()).await.expect("open");
    let to = nat.rebind(1).await;
    nat.old.clear();
    tokio::time::sleep(Duration::from_millis(100)).await;
    while there.remote().expect("known").addr != to {
        here.send("here I am").await.expect("open");
        in_time(there.recv()).await.expect("open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    in_time(here.recv()).await.expect("open");
}

/// Two clients with the same DCCP ports, whose NAT gives both other addresses at one time: each keeps its own connection.
#[tokio::test]
async fn two_clients_of_one_nat_keep_theirs() {
    let config = following(Config::default());
    let place = Place::new(true, &config, &config);
    let (mut first_nat, first, at_first) = place.connect().await;
    let (mut second_nat, second, at_second) = place.connect().await;
    echo(at_first.clone());
    echo(at_second.clone());
    let both = async || tokio::join!(lost(&first, 1, 10), lost(&second, 2, 10));
    assert_eq!(both().await, (0, 0));
    let to = (first_nat.rebind(1).await, second_nat.rebind(1).await);
    let (one, other) = both().await;
    assert!(one <= 1 && other <= 1, "{one} and {other} of 10");
    let at = [&at_first, &at_second].map(|there| there.remote().expect("known").addr);
    assert_eq!(at, [to.0, to.1]);
}

/// Two clients with the same DCCP ports whose NAT exchanges their addresses at one moment are not followed: each one's
/// packets have the address of the other. Neither gets what belongs to the other.
#[tokio::test]
async fn two_clients_that_exchange_addresses_get_nothing() {
    let config = following(Config::default());
    let place = Place::new(true, &config, &config);
    let (first_nat, first, at_first) = place.connect().await;
    let (second_nat, second, at_second) = place.connect().await;
    echo(at_first.clone());
    echo(at_second.clone());
    assert_eq!(lost(&first, 1, 5).await, 0);
    assert_eq!(lost(&second, 2, 5).await, 0);
    let of_second = second_nat.back.borrow().clone();
    let of_first = first_nat.back.send_replace(of_second);
    second_nat.back.send_replace(of_first);
    for (here, tag) in [(&first, 1), (&second, 2)] {
        for _ in 0..10 {
            let sent = here.try_send(vec![tag, 0]);
            let answer = tokio::time::timeout(Duration::from_millis(50), here.recv());
            match (sent, answer.await) {
                (Ok(_), Err(_)) => {}
                (_, Ok(Ok(received))) => panic!("{received:?} has come"),
                (_, _) => break, // One of them may have been reset.
            }
        }
    }
    for there in [&at_first, &at_second] {
        assert_eq!(there.stats().migrations, 0);
    }
}

/// Somebody who has seen all datagrams of a client and sends them from elsewhere gets nothing for those that have come,
/// and moves nothing.
#[tokio::test]
async fn copies_move_nothing() {
    let config = following(Config::default());
    let place = Place::new(true, &config, &config);
    let (nat, here, there) = place.connect().await;
    echo(there.clone());
    assert_eq!(lost(&here, 0, 20).await, 0);
    let at = there.remote();
    let thief = bound(3).await;
    let seen = nat.seen.lock().expect("sound").clone();
    // Those of the handshake are answered, as anybody's: with Resets.
    let of_data = seen.iter().rev().take(15);
    for datagram in of_data {
        thief.send_to(datagram, nat.server).await.expect("sent");
    }
    assert_eq!(lost(&here, 1, 20).await, 0);
    assert_eq!(there.remote(), at);
    assert_eq!(there.stats().migrations, 0);
}

/// Without encryption nobody is followed: the server does not know the client at its new address, as ever. The same holds
/// if the server does not want to follow.
#[tokio::test]
async fn clear_text_is_not_followed() {
    let follows = following(Config::default());
    for (is_encrypted, of_server) in [(false, &follows), (true, &Config::default())] {
        let place = Place::new(is_encrypted, &follows, of_server);
        let (mut nat, here, there) = place.connect().await;
        echo(there.clone());
        assert_eq!(lost(&here, 0, 5).await, 0);
        nat.rebind(1).await;
        here.send("here I am").await.expect("open");
        let end = in_time(here.recv()).await.expect_err("unknown there");
        assert!(
            end.to_string().contains("does not know the connection"),
            "{end}"
        );
        assert!(!nat.newest().is_empty());
        assert_eq!(there.stats().migrations, 0);
    }
}
