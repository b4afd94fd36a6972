//! A host on the path that copies every datagram, and can lose some.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

/// Starts a relay that passes on as long as `passes` says so. It gets the number of datagrams passed so far.
///
/// Returns the address for a client, and the datagrams of both directions.
pub(crate) async fn relay(
    server: SocketAddr,
    passes: impl Fn(usize) -> bool + Send + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<Vec<u8>>>>) {
    let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("bound");
    let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("bound");
    back.connect(server).await.expect("a route");
    let at = front.local_addr().expect("an address");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let copies = Arc::clone(&seen);
    tokio::spawn(async move {
        let (mut one, mut other) = ([0; 2_048], [0; 2_048]);
        let (mut client, mut passed) = (None, 0);
        loop {
            tokio::select! {
                Ok((len, from)) = front.recv_from(&mut one) => {
                    client = Some(from);
                    copies.lock().expect("sound").push(one[..len].to_vec());
                    if passes(passed) {
                        passed += 1;
                        let _ = back.send(&one[..len]).await;
                    }
                }
                Ok(len) = back.recv(&mut other) => {
                    copies.lock().expect("sound").push(other[..len].to_vec());
                    if passes(passed) && let Some(client) = client {
                        passed += 1;
                        let _ = front.send_to(&other[..len], client).await;
                    }
                }
                else => return,
            }
        }
    });
    (at, seen)
}
