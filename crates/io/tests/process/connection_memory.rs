//! The memory of connections whose endpoints are their own.

use std::net::Ipv4Addr;

use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};
use fairwire::{ConnectOptions, Listener, Security};

use crate::{SERVICE, alone};

fn listen() -> (Listener, Security<ClientConfig>) {
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    let identity = Identity::generate(&["fairwire.test"], validity).expect("an identity");
    let client = Security::dtls(ClientConfig::pinned([identity.fingerprint()]));
    let server = Security::dtls(ServerConfig::new(identity));
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    (
        fairwire::listen(any, &[SERVICE], server).expect("bound"),
        client,
    )
}

/// An endpoint of one connection holds no receive buffers while it is idle.
#[test]
fn an_idle_endpoint_is_small() {
    alone(async {
        const COUNT: usize = 50;
        let (listener, client) = listen();
        let to = listener.local_addr().to_string();
        let mut open = Vec::new();
        let mut before = 0;
        for number in 0..=COUNT {
            if number == 1 {
                before = fairwire_held::bytes();
            }
            let own = ConnectOptions::new().own_endpoint(true);
            let connecting = fairwire::connect_with(&to, SERVICE, client.clone(), own);
            let (here, there) = tokio::join!(connecting, listener.accept());
            open.push((here.expect("connected"), there.expect("accepted")));
        }
        let each = (fairwire_held::bytes() - before) / isize::try_from(COUNT).expect("small");
        assert!(each < 300 << 10, "{each} bytes for each connection");
    });
}
