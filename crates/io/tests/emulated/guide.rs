//! The code of `docs/testing-your-application.md`: every block of Rust there is a part of this file.

use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Rate, Security, ServiceCode};

const CAMERA: ServiceCode = ServiceCode::from_bytes(*b"?cam");

/// A first test.
#[tokio::test(start_paused = true)]
async fn frames_arrive() {
    // 2 Mbit/s and 20 ms in each direction.
    let link = Link::new(Rate::from_bits_per_s(2_000_000), Duration::from_millis(20));
    let (client, server) = link.join().unwrap();

    let port = server.local_addr().port();
    let listener = server.listen(port, &[CAMERA], Security::None).unwrap();
    let connecting = client.connect(server.local_addr(), CAMERA, Security::None);
    let (here, there) = tokio::join!(connecting, listener.accept());
    let (here, there) = (here.unwrap(), there.unwrap());

    here.send("one frame").await.unwrap();
    assert_eq!(there.recv().await.unwrap().data, "one frame");
}

/// Links of many kinds can be made.
#[tokio::test(start_paused = true)]
async fn bad_networks() {
    let ms = Duration::from_millis;
    let mbit = |mbit: u64| Rate::from_bits_per_s(mbit * 1_000_000);

    // A tenth of the packets is lost, each independently of the others.
    let lossy = Link::new(mbit(2), ms(40)).loss(0.1).seed(7);

    // A satellite: 20 Mbit/s from the first endpoint of `join` to the second, 1 Mbit/s back, with a long queue.
    let up = Link::new(mbit(1), ms(280));
    let satellite = Link::new(mbit(20), ms(280)).queue(ms(1_000)).back(up);

    // Nothing arrives of what is sent from second 20 to second 25.
    let tunnel = Link::new(mbit(2), ms(40)).outage(ms(20_000), ms(5_000));

    // A hand-off: nothing leaves for 300 ms, what waits is kept, and the new network is slower.
    let hand_off = Link::new(mbit(10), ms(10))
        .rate_from(ms(8_000), Rate::ZERO)
        .rate_from(ms(8_300), mbit(1));

    // A path on which packets above 1,400 bytes disappear without an error.
    let black_hole = Link::new(mbit(10), ms(10)).path_mtu(1_400);

    for link in [lossy, satellite, tunnel, hand_off, black_hole] {
        let (client, server) = link.join().unwrap();
        let port = server.local_addr().port();
        let listener = server.listen(port, &[CAMERA], Security::None).unwrap();
        let connecting = client.connect(server.local_addr(), CAMERA, Security::None);
        let (here, there) = tokio::join!(connecting, listener.accept());
        assert!(here.is_ok() && there.is_ok(), "{link:?}");
    }
}

/// Models of the simulator, and the error for nonsense.
#[tokio::test(start_paused = true)]
async fn models_and_nonsense() {
    use fairwire::emulated::net::{DropTailConfig, QueueLimit};

    let queue = DropTailConfig {
        limit: QueueLimit::Packets(2),
        ..DropTailConfig::default()
    };
    let link = Link::new(Rate::from_bits_per_s(2_000_000), Duration::from_millis(20));
    let link = link.queue_model(queue);
    assert!(link.join().is_ok());
    let error = link.loss(1.5).join().unwrap_err();
    assert!(error.to_string().contains("a number from 0 to 1"));
}

/// Hosts, options, counters, and a cut by hand.
#[tokio::test(start_paused = true)]
async fn hosts() {
    use fairwire::emulated::net::LinkId;
    use fairwire::{Endpoint, EndpointConfig};

    let link = Link::new(Rate::from_bits_per_s(2_000_000), Duration::from_millis(20));
    let (left, right) = link.hosts().unwrap();
    let server = right.bind(7_001).unwrap();
    let mut config = EndpointConfig::default();
    config.max_memory = 1 << 20;
    let client = Endpoint::builder().config(config);
    let client = client.bind_emulated(&left, 0).unwrap();

    let network = left.network();
    network.set_up(LinkId(0), false); // from left to right, nothing gets through from now on
    network.set_up(LinkId(0), true);
    let back = network.link_stats(LinkId(1)).unwrap();
    assert_eq!((back.queue_drops, back.wire_drops), (0, 0));
    assert_ne!(client.local_addr(), server.local_addr());
}

/// DTLS on a lossy link.
#[tokio::test(start_paused = true)]
async fn encrypted() {
    use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};

    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    let identity = Identity::generate(&[], validity).unwrap();
    let pinned = ClientConfig::pinned([identity.fingerprint()]);

    let link = Link::new(Rate::from_bits_per_s(2_000_000), Duration::from_millis(20)).loss(0.1);
    let (client, server) = link.join().unwrap();
    let port = server.local_addr().port();
    let security = Security::dtls(ServerConfig::new(identity));
    let listener = server.listen(port, &[CAMERA], security).unwrap();
    let connecting = client.connect(server.local_addr(), CAMERA, Security::dtls(pinned));
    let (here, there) = tokio::join!(connecting, listener.accept());
    assert!(here.unwrap().is_encrypted() && there.unwrap().is_encrypted());
}

/// The guide shows only code that is compiled and run here.
#[test]
fn every_block_of_the_guide_is_here() {
    let trimmed = |text: &str| -> String {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n") + "\n"
    };
    let here = trimmed(include_str!("guide.rs"));
    let guide = include_str!("../../../../docs/testing-your-application.md");
    let blocks: Vec<_> = guide.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 5, "{} blocks", blocks.len());
    for block in blocks {
        let code = trimmed(block.split("```").next().unwrap_or_default());
        assert!(here.contains(&code), "not in this file:\n{code}");
    }
}
