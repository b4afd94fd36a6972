//! Unread datagrams hold only their own bytes, whatever other hosts send.

use std::net::UdpSocket;
use std::time::Duration;

use crate::{alone, connected};

/// Unread datagrams; too few to make the receiver slow the sender down.
const UNREAD: u64 = 3_000;

/// Finding 3: 3,000 unread datagrams of one byte hold at most 1 MiB, while a stranger sends a datagram of 60 kB beside
/// each of them. All of it is freed when they are read.
#[test]
fn finding_3_unread_datagrams_pin_little() {
    alone(async {
        let (server, here, there) = connected().await;
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        // A Data packet for a port without a listener: a header of four words, 48-bit numbers, and data.
        let mut noise = vec![0; 60_000];
        noise[..9].copy_from_slice(&[1, 1, 2, 2, 4, 0, 0, 0, 0b101]);
        here.send(vec![1]).await.expect("sent");
        there.recv().await.expect("data");

        let before = fairwire_held::bytes();
        let mut strange = 0;
        while there.stats().data_received < UNREAD {
            // Loopback loses only what overflows a buffer.
            strange += u32::from(stranger.send_to(&noise, server.local_addr()).is_ok());
            here.send(vec![1]).await.expect("sent");
            tokio::task::yield_now().await;
        }
        while here.stats().queued_packets > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let pinned = fairwire_held::bytes() - before;
        assert!(strange >= 3_000, "{strange}");
        assert!(server.stats().unmatched > 1_000, "strangers were heard");
        assert!(pinned <= 1 << 20, "{pinned} bytes for {UNREAD} of one byte");

        for _ in 0..UNREAD {
            assert_eq!(there.recv().await.expect("data").data, [1_u8][..]);
        }
        let left = fairwire_held::bytes() - before;
        assert!(left <= 64 << 10, "{left} bytes when all was read");
    });
}
