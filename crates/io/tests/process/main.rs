//! What the entire process holds: memory and descriptors. Tests here run one after the other.

#[cfg(target_os = "linux")]
mod allocations;
mod connection_memory;
#[cfg(target_os = "linux")]
mod descriptors;
mod pinned_memory;

use std::sync::{Mutex, MutexGuard, PoisonError};

use fairwire::{Connection, DccpAddr, Endpoint, Security, ServiceCode};

#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?tst");

/// Waits until no other test runs.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test while no other one runs. A test that waits has no runtime yet: it holds no descriptor and little memory.
fn alone(test: impl Future<Output = ()>) {
    let _turn = turn();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

/// Makes a connection on loopback, and returns the server's endpoint, the client's end and the server's.
async fn connected() -> (Endpoint, Connection, Connection) {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Endpoint::bind(any).expect("a free port");
    let listener = server.listen(5_001, &[SERVICE], Security::None);
    let listener = listener.expect("a free port");
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 5_001,
    };
    let client = Endpoint::bind(any).expect("a free port");
    let connecting = client.connect(remote, SERVICE, Security::None);
    let (here, there) = tokio::join!(connecting, listener.accept());
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    (server, here, there)
}
