//! Endpoints on sockets of this host, as applications use them.
//!
//! What a test counts for the entire process has to be counted in the program `process`.

mod blocking;
mod bursts;
mod cancel;
mod connect;
mod dtls;
mod dtls_hostile;
mod examples;
mod fair_turns;
mod loopback;
#[cfg(target_os = "linux")]
mod moving_hosts;
#[cfg(target_os = "linux")]
mod native;
#[cfg(target_os = "linux")]
mod native_hosts;
mod own_socket;
mod rate;
mod rebinding;
mod relay;
mod runtime;
mod shards;
mod shared_endpoint;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod vanished;
mod ways;

use std::future::Future;
use std::time::Duration;

use fairwire::tls::{Date, Identity, Validity};
use fairwire::{Endpoint, ServiceCode};

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?tst");

/// The DCCP port of servers; every endpoint has ports of its own.
const PORT: u16 = 5_001;

/// Ends a test that hangs, earlier than the default timeouts of an attempt (10 s) and of an idle connection (30 s)
/// would. A test that waits for such a timeout sets its own.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), what)
        .await
        .expect("an answer within 5 s")
}

/// Ends a test that hangs: nothing takes this long, however busy the machine is.
async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what)
        .await
        .expect("an answer within 60 s")
}

fn endpoint(addr: &str) -> Endpoint {
    Endpoint::bind(addr.parse().expect("an address")).expect("a free port")
}

fn identity() -> Identity {
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    Identity::generate(&["fairwire.test"], validity).expect("an identity")
}
