//! What a connection tells about itself and about its datagrams, over a link of 10 ms each way.

use std::collections::BTreeSet;
use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Ccid, Config, ConnectOptions, Connection, ListenOptions, Rate, Security};
use tokio::time::Instant;

use crate::{SERVICE, dtls, ms};

/// The time that a packet travels, without queues.
const DELAY: Duration = ms(10);

/// Connects two endpoints under a CCID.
async fn pair(ccid: Ccid, encrypted: bool) -> (Connection, Connection) {
    let link = Link::new(Rate::from_bits_per_s(8_000_000), DELAY);
    let (a, b) = link.join().expect("a link");
    let mut config = Config::default();
    config.send_ccids = vec![ccid];
    config.receive_ccids = vec![ccid];
    let (mut client, mut server) = (Security::None, Security::None);
    if encrypted {
        let (ours, theirs) = dtls();
        (client, server) = (Security::dtls(ours), Security::dtls(theirs));
    }
    let (port, options) = (b.local_addr().port(), ListenOptions::new());
    let options = options.config(config.clone());
    let listener = b.listen_with(port, &[SERVICE], server, options);
    let listener = listener.expect("a free port");
    let options = ConnectOptions::new().config(config);
    let connecting = a.connect_with(b.local_addr(), SERVICE, client, options);
    let (here, there) = tokio::join!(connecting, listener.accept());
    (here.expect("connected"), there.expect("accepted"))
}

/// Under every CCID a connection knows its shortest and its latest round trip. They are those of the path, with a queue
/// that fills in between.
#[tokio::test(start_paused = true)]
async fn the_shortest_and_the_latest_round_trip() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let (here, there) = pair(ccid, false).await;
        let reading = tokio::spawn(async move { while there.recv().await.is_ok() {} });
        for _ in 0..400 {
            here.send(vec![0; 1_000]).await.expect("open");
        }
        let stats = here.stats();
        let (min, latest) = (stats.min_rtt.expect("known"), stats.latest_rtt);
        let latest = latest.expect("known");
        assert!(
            (2 * DELAY..2 * DELAY + ms(5)).contains(&min),
            "{ccid}: {min:?}"
        );
        assert!(latest >= min, "{ccid}: {latest:?}, {min:?}");
        assert_eq!(here.rtt(), stats.srtt, "{ccid}");
        assert!(here.rtt().is_some_and(|srtt| srtt >= min), "{ccid}");
        here.abort();
        reading.await.expect("no panic");
    }
}

/// A datagram tells when it arrived, however late it is read, and in whichever way.
#[tokio::test(start_paused = true)]
async fn datagrams_tell_when_they_arrived() {
    for encrypted in [false, true] {
        let (here, there) = pair(Ccid::TCP_LIKE, encrypted).await;
        let sent = Instant::now();
        for _ in 0..3 {
            here.send("on time").await.expect("open");
        }
        tokio::time::sleep(ms(1_000)).await;
        let mut times = vec![there.recv().await.expect("data").at];
        times.push(there.recv_into(&mut [0; 8]).await.expect("data").at);
        let mut rest = Vec::new();
        there.recv_many(&mut rest, 8).await.expect("data");
        times.extend(rest.iter().map(|datagram| datagram.at));
        assert_eq!(times.len(), 3);
        assert!(times.is_sorted(), "{times:?}");
        for at in times {
            // The window may hold the last one back for a round trip.
            let took = at - sent;
            assert!((DELAY..4 * DELAY).contains(&took), "{took:?}");
        }
    }
}

/// The counters of DTLS are there for an encrypted connection, and only there.
#[tokio::test(start_paused = true)]
async fn dtls_counts() {
    let (here, there) = pair(Ccid::TCP_LIKE, true).await;
    let before = here.dtls_stats().expect("encrypted").sealed;
    for _ in 0..5 {
        here.send("secret").await.expect("open");
        there.recv().await.expect("data");
    }
    assert_eq!(here.dtls_stats().expect("encrypted").sealed, before + 5);
    let told = there.dtls_stats().expect("encrypted");
    assert!(told.opened >= 5 && told.forged == 0, "{told:?}");
    let (here, there) = pair(Ccid::TCP_LIKE, false).await;
    assert_eq!((here.dtls_stats(), there.dtls_stats()), (None, None));
}

/// No two connections of a process have the same number, whatever their endpoints; clones have that of the original.
#[tokio::test(start_paused = true)]
async fn numbers_of_connections_differ() {
    let mut numbers = BTreeSet::new();
    for _ in 0..3 {
        let (here, there) = pair(Ccid::TCP_LIKE, false).await;
        for end in [here, there] {
            assert_eq!(end.clone().stable_id(), end.stable_id());
            assert!(numbers.insert(end.stable_id()));
        }
    }
}
