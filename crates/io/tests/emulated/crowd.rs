//! Many clients at one moment. The clock stands still while they compute: on sockets, a busy machine makes the server
//! believe that clients which wait for their turn have stalled.

use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Config, ConnectOptions, ListenOptions, Rate, Security};
use tokio::task::JoinSet;

use crate::{SERVICE, dtls, ms};

/// Clients that connect at one moment are all served, although they are more than there are handshakes at one time.
#[tokio::test(start_paused = true)]
async fn a_crowd_of_honest_clients_is_served() {
    const CROWD: usize = 1_100;
    let mut patient = Config::default();
    patient.connect_timeout = Duration::from_secs(60);
    let link = Link::new(Rate::from_bits_per_s(1_000_000_000), ms(50));
    let (crowd, endpoint) = link.queue(Duration::from_secs(1)).join().expect("a link");
    let (client, server) = dtls();
    let remote = endpoint.local_addr();
    let options = ListenOptions::new().config(patient.clone());
    let listener = endpoint.listen_with(remote.port(), &[SERVICE], Security::dtls(server), options);
    let listener = listener.expect("a free port");
    let accepting = tokio::spawn(async move {
        let mut all = Vec::new();
        while all.len() < CROWD {
            all.push(listener.accept().await.expect("open"));
        }
        // They stay open until the last client knows that its handshake is complete.
        (listener.failed_handshakes(), all, listener)
    });
    let mut all = JoinSet::new();
    for _ in 0..CROWD {
        let options = ConnectOptions::new().config(patient.clone());
        let (crowd, security) = (crowd.clone(), Security::dtls(client.clone()));
        all.spawn(async move { crowd.connect_with(remote, SERVICE, security, options).await });
    }
    let open = all.join_all().await;
    let failed: Vec<_> = open.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{} failed: {}", failed.len(), failed[0]);
    let (refused, _all, _listener) = accepting.await.expect("no panic");
    assert_eq!(refused, 0);
}
