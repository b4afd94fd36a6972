//! Measures handshakes on loopback, with both ends in this process: handshakes per second, one after the other and 64
//! at a time, and the memory of an idle connection at both ends together.

use std::time::Instant;

use fairwire::{Connection, DccpAddr, Endpoint, ListenOptions, Listener, Security, ServiceCode};
use fairwire_held::Counting;

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?bch");
const PORT: u16 = 5_001;

/// Connections in one measurement.
const CONNECTIONS: usize = 4_096;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn endpoint() -> Endpoint {
    Endpoint::bind(([127, 0, 0, 1], 0).into()).expect("a free port")
}

/// Accepts all connections.
async fn accept(listener: &Listener) -> Vec<Connection> {
    let mut accepted = Vec::with_capacity(CONNECTIONS);
    while accepted.len() < CONNECTIONS {
        accepted.push(listener.accept().await.expect("the endpoint lives"));
    }
    accepted
}

/// Opens all connections from one endpoint, `abreast` at a time.
async fn connect(client: Endpoint, remote: DccpAddr, abreast: usize) -> Vec<Connection> {
    let mut begun = tokio::task::JoinSet::new();
    for _ in 0..abreast {
        let client = client.clone();
        begun.spawn(async move {
            let mut connected = Vec::with_capacity(CONNECTIONS / abreast);
            for _ in 0..CONNECTIONS / abreast {
                let connection = client.connect(remote, SERVICE, Security::None).await;
                connected.push(connection.expect("the listener lives"));
            }
            connected
        });
    }
    begun.join_all().await.into_iter().flatten().collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures time, and nothing that it computes depends on it"
)]
async fn measure(abreast: usize) {
    let (server, client) = (endpoint(), endpoint());
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: PORT,
    };
    let options = ListenOptions::new().backlog(CONNECTIONS);
    let listener = server.listen_with(PORT, &[SERVICE], Security::None, options);
    let listener = listener.expect("a fresh endpoint has the port");
    let before = fairwire_held::bytes();
    let begun = Instant::now();
    let (here, there) = tokio::join!(connect(client, remote, abreast), accept(&listener));
    let rate = CONNECTIONS as f64 / begun.elapsed().as_secs_f64();
    let held = fairwire_held::bytes() - before;
    let bytes = held / CONNECTIONS.cast_signed();
    println!(
        "{abreast:>3} at a time {rate:>10.0} handshakes/s {bytes:>8} bytes per idle connection, both ends"
    );
    drop((here, there));
}

fn main() {
    for abreast in [1, 64] {
        // A new runtime each time, so that nothing of the previous measurement is still being freed.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(measure(abreast));
    }
}
