//! The CCID on sockets that an emulated link joins, in simulated time.

use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Ccid, Config, ConnectOptions, ListenOptions, Rate, Security, ServiceCode, Stats};
use own_ccid::PROBING;
use tokio::time::{Instant, timeout_at};

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"prob");
const SECONDS: u64 = 20;

fn config(ccid: Ccid) -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![ccid];
    config.receive_ccids = vec![ccid];
    config
}

/// Sends datagrams of 1,000 bytes for some time over 10 Mbit/s and 100 ms with a loss of 1 %. Returns how many arrived,
/// and the sender's statistics.
async fn transfer(ccid: Ccid) -> (u64, Stats) {
    let link = Link::new(Rate::from_bits_per_s(10_000_000), Duration::from_millis(50));
    let (client, server) = link
        .loss(0.01)
        .seed(1)
        .join()
        .expect("a link that makes sense");
    let options = ListenOptions::new().config(config(ccid));
    let port = server.local_addr().port();
    let listener = server.listen_with(port, &[SERVICE], Security::None, options);
    let listener = listener.expect("a free port");
    let options = ConnectOptions::new().config(config(ccid));
    let connecting = client.connect_with(server.local_addr(), SERVICE, Security::None, options);
    let (client, server) = tokio::join!(connecting, listener.accept());
    let (client, server) = (client.expect("an answer"), server.expect("a client"));
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let sending = async {
        while let Ok(sent) = timeout_at(end, client.send(vec![7; 1_000])).await {
            sent.expect("the connection is open");
        }
        client.stats()
    };
    let receiving = async {
        let mut received = 0;
        while timeout_at(end, server.recv())
            .await
            .is_ok_and(|got| got.is_ok())
        {
            received += 1;
        }
        received
    };
    let (stats, received) = tokio::join!(sending, receiving);
    (received, stats)
}

/// Both ends agree on the number, and the rate fills the path with its losses, which a window does not. The queue stays
/// short, so the round trip does.
#[tokio::test(start_paused = true)]
async fn it_fills_a_path_with_losses() {
    own_ccid::register().expect("the only one with this number");
    let full = 1_250 * SECONDS;
    let (received, stats) = transfer(PROBING).await;
    assert_eq!(stats.send_ccid, Some(PROBING));
    assert!(received > full * 8 / 10, "{received} of {full}: {stats:?}");
    assert!(
        stats.gauges.rate_bytes_per_s.is_some_and(|rate| rate > 1e6),
        "{stats:?}"
    );
    assert!(
        stats
            .srtt
            .is_some_and(|rtt| rtt < Duration::from_millis(150)),
        "{stats:?}"
    );
    let (received, stats) = transfer(Ccid::TCP_LIKE).await;
    assert_eq!(stats.send_ccid, Some(Ccid::TCP_LIKE));
    assert!(received < full * 3 / 10, "{received} of {full}");
}
