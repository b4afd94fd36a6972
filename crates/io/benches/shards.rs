//! Measures what shards bring: datagrams per second over eight connections on loopback, with one shard at each end and
//! with several, in turns. Both ends are in this process and need a processor each, so that more than two processors
//! are needed to see a gain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fairwire::{DccpAddr, Endpoint, Listener, Security, ServiceCode};

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?bch");
const PORT: u16 = 5_001;
const CONNECTIONS: usize = 8;
const SIZE: usize = 1_200;
const TURNS: usize = 3;
const TURN: Duration = Duration::from_secs(1);

fn endpoint(shards: u16) -> Endpoint {
    let builder = Endpoint::builder().shards(shards);
    let bound = builder.bind(([127, 0, 0, 1], 0).into());
    bound.expect("a free port")
}

/// Sends on a new connection until the task is ended.
async fn send(client: Endpoint, remote: DccpAddr) {
    let connection = client.connect(remote, SERVICE, Security::None).await;
    let connection = connection.expect("the listener lives");
    let data = fairwire::Bytes::from(vec![0; SIZE]);
    while connection.send(data.clone()).await.is_ok() {}
}

/// Counts what arrives on all connections.
async fn receive(listener: Listener, received: Arc<AtomicU64>) {
    let mut readers = tokio::task::JoinSet::new();
    while let Ok(connection) = listener.accept().await {
        let received = Arc::clone(&received);
        readers.spawn(async move {
            while connection.recv().await.is_ok() {
                received.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

/// Returns the datagrams received in one turn.
async fn measure(shards: u16) -> u64 {
    let (server, client) = (endpoint(shards), endpoint(shards));
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: PORT,
    };
    let listener = server.listen(PORT, &[SERVICE], Security::None);
    let listener = listener.expect("a fresh endpoint has the port");
    let received = Arc::new(AtomicU64::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(receive(listener, Arc::clone(&received)));
    for _ in 0..CONNECTIONS {
        tasks.spawn(send(client.clone(), remote));
    }
    tokio::time::sleep(TURN / 4).await;
    let before = received.load(Ordering::Relaxed);
    tokio::time::sleep(TURN).await;
    received.load(Ordering::Relaxed) - before
}

fn main() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = u16::try_from(processors).unwrap_or(u16::MAX).max(2);
    println!("{processors} processors, {CONNECTIONS} connections, {SIZE}-byte datagrams/s:");
    for turn in 1..=TURNS {
        let [one, several] = [1, most].map(|shards| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(measure(shards))
        });
        let ratio = several as f64 / one.max(1) as f64;
        println!("turn {turn}: 1 shard {one:>9}, {most} shards {several:>9}, ratio {ratio:.2}");
    }
}
