//! The memory of connections whose endpoints are their own, and of what they leave unread.

use std::net::Ipv4Addr;

use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};
use fairwire::{CloseReason, Endpoint, Listener, Security, SendError, TrySendError};

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

/// Each call of `connect` has an endpoint of its own. An idle one holds no receive buffers.
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
            let connecting = fairwire::connect(&to, SERVICE, client.clone());
            let (here, there) = tokio::join!(connecting, listener.accept());
            open.push((here.expect("connected"), there.expect("accepted")));
        }
        let each = (fairwire_held::bytes() - before) / isize::try_from(COUNT).expect("small");
        assert!(each < 300 << 10, "{each} bytes for each connection");
    });
}

/// After a peer's Reset, a send that fails decrypts little of what is unread. All of it can still be read.
#[test]
fn a_failed_send_decrypts_little() {
    alone(async {
        const UNREAD: u64 = 3_000;
        let (listener, client) = listen();
        let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound");
        let connecting = endpoint.connect(listener.local_addr(), SERVICE, client);
        let (here, there) = tokio::join!(connecting, listener.accept());
        let (here, there) = (here.expect("connected"), there.expect("accepted"));
        let mut sent = 0;
        while there.stats().data_received < UNREAD {
            here.send([7_u8].to_vec()).await.expect("open");
            sent += 1;
            tokio::task::yield_now().await;
        }
        here.abort();
        assert!(matches!(there.closed().await, CloseReason::Reset { .. }));
        let before = fairwire_held::bytes();
        fairwire_held::reset_peak();
        let refused = there.try_send("late");
        let more = fairwire_held::peak() - before;
        assert!(
            matches!(refused, Err(TrySendError::Send(SendError::Closed(_)))),
            "{refused:?}"
        );
        assert!(more < 64 << 10, "{more} bytes for one call");
        let mut read = 0;
        while let Ok(received) = there.recv().await {
            assert_eq!(received.data, [7_u8][..]);
            read += 1;
        }
        assert!((UNREAD - 100..=sent).contains(&read), "{read} of {sent}");
    });
}
