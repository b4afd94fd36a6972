//! Endpoints on a simulated network, mostly with a paused clock.

mod crowd;
mod facts;
mod guide;
mod handshake_losses;
mod link;
mod quiet;
mod resend;
mod sending;
mod waiting_handshakes;

use std::time::Duration;

use fairwire::ServiceCode;
use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?tst");
const PORT: u16 = 5_001;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn identity(names: &[&str]) -> Identity {
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    Identity::generate(names, validity).expect("an identity")
}

/// Returns both ends' configurations of DTLS. The client knows the server's certificate.
fn dtls() -> (ClientConfig, ServerConfig) {
    let server = identity(&[]);
    let client = ClientConfig::pinned([server.fingerprint()]);
    (client, ServerConfig::new(server))
}
