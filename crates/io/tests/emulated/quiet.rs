//! Single datagrams on connections that are otherwise quiet: when they leave.

use fairwire::emulated::net::LinkId;
use fairwire::emulated::{Link, Network};
use fairwire::{Connection, DccpAddr, Rate, Security};
use tokio::task::yield_now;

use crate::{PORT, SERVICE, dtls, ms};

/// A connection over a link, and the network that counts its packets.
struct Quiet {
    network: Network,
    here: Connection,
    there: Connection,
}

impl Quiet {
    async fn new(encrypted: bool) -> Self {
        let link = Link::new(Rate::from_bits_per_s(100_000_000), ms(10));
        let (a, b) = link.hosts().expect("a link");
        let network = a.network().clone();
        let (a, b) = (a.bind(PORT).expect("bound"), b.bind(PORT).expect("bound"));
        let (client, server) = if encrypted {
            let (client, server) = dtls();
            (Security::dtls(client), Security::dtls(server))
        } else {
            (Security::None, Security::None)
        };
        let listener = b.listen(PORT, &[SERVICE], server).expect("a free port");
        let remote = DccpAddr::same_ports(b.local_addr());
        let connecting = a.connect(remote, SERVICE, client);
        let (here, there) = tokio::join!(connecting, listener.accept());
        let (here, there) = (here.expect("connected"), there.expect("accepted"));
        // What the handshake and the search for the path MTU still have to send.
        tokio::time::sleep(ms(60_000)).await;
        Self {
            network,
            here,
            there,
        }
    }

    /// Returns how many packets each end has sent.
    fn sent(&self) -> [u64; 2] {
        [0, 1].map(|link| {
            let stats = self.network.link_stats(LinkId(link)).expect("a link");
            stats.offered_packets
        })
    }
}

/// A datagram leaves before the call that sends it returns, if the connection was quiet. Those that follow at once are
/// left to the driver, which can send them together.
#[tokio::test(start_paused = true)]
async fn a_datagram_leaves_in_the_call_that_sends_it() {
    for encrypted in [false, true] {
        let quiet = Quiet::new(encrypted).await;
        for round in 0..3 {
            let before = quiet.sent()[0];
            for _ in 0..3 {
                quiet.here.try_send(vec![7; 100]).expect("room");
                assert_eq!(quiet.sent()[0], before + 1, "{encrypted}, {round}");
            }
            for _ in 0..3 {
                yield_now().await;
            }
            assert_eq!(quiet.sent()[0], before + 3, "{encrypted}, {round}");
            // Longer than the round trip: they were acknowledged.
            tokio::time::sleep(ms(100)).await;
        }
        for _ in 0..9 {
            quiet.there.try_recv().expect("sent");
        }
    }
}

/// The driver, which has nothing to do for long, wakes in time for what follows from a datagram that a handle has sent.
#[tokio::test(start_paused = true)]
async fn a_loss_is_noticed_in_time() {
    let quiet = Quiet::new(false).await;
    quiet.here.send(vec![7; 100]).await.expect("open");
    tokio::time::sleep(ms(5_000)).await;
    quiet.network.set_up(LinkId(0), false);
    let before = quiet.here.stats().gauges.timeouts;
    quiet.here.try_send(vec![7; 100]).expect("room");
    // RFC 4341, 5: a timeout as that of TCP. The round trip is 20 ms.
    tokio::time::sleep(ms(1_500)).await;
    assert!(quiet.here.stats().gauges.timeouts > before);
}
