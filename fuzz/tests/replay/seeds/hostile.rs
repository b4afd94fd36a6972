//! Inputs of `hostile`: a complete connection for each role, CCID and encapsulation. They begin the corpus, and show that
//! the peer's part of the handshake works.

use fairwire_fuzz::hostile::run_seen;

use super::Seeds;

/// A handshake; data in both directions with acknowledgements and time between; actions of the application and the peer
/// in mid-connection; the end.
const LIFE: [&[u8]; 8] = [
    // An acknowledgement, and data of the application.
    &[0x4D, 0x0B, 0x00, 0x10, 0x4D, 0xA9, 0x6D],
    // Many of them.
    &[0x0B, 0x00, 0x18, 0x4D, 0xA9, 0x4D, 0xA9, 0x6D],
    // Data of the peer, one by one, then with a gap, then many.
    &[
        0x01, 0x00, 0x04, 0x00, 0x21, 0x00, 0x04, 0x32, 0x00, 0x01, 0x10, 0x04, 0x00, 0x02,
    ],
    // The application reads.
    &[0x0B, 0x02, 0x00, 0xA9],
    // An Ack with a lie about losses, a Sync, and an ICMP error.
    &[
        0x11, 0x00, 0x08, 0x00, 0x00, 0x61, 0x81, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x7F,
    ],
    // Another CCID, and the peer's agreement.
    &[0x0B, 0x08, 0x00, 0x19, 0x4D],
    // The application closes, and the peer answers with a Reset.
    &[0x0B, 0x04, 0x00, 0xA9, 0x71, 0x00, 0x00, 0x00, 0x00, 0x01],
    &[0xA9],
];

/// Returns every seed with its name.
pub(super) fn seeds() -> Seeds {
    let mut all = Vec::new();
    for (role, roads) in [("server", 0_u8), ("client", 1)] {
        for (n, ccids) in [0o00_u8, 0o11, 0o22].into_iter().enumerate() {
            for (below, more, limits) in [("ip", 0, 0), ("udp", 2, 0), ("cookie", 4, 8)] {
                let mut seed = vec![roads | more, ccids, limits, 0, 0, 0, 0, 0];
                let wish = [4_u8, 3, 5][n];
                seed.extend([0x00, wish]);
                if role == "client" {
                    seed.push(0);
                }
                seed.extend(LIFE.concat());
                all.push((format!("seed-{role}-{}-{below}", n + 2), seed));
            }
        }
    }
    all
}

/// Returns whether a connection opened, and the most data packets sent and received.
fn deepest(seed: &[u8]) -> (bool, u64, u64) {
    let (mut opened, mut sent, mut received) = (false, 0, 0);
    run_seen(seed, |end| {
        for id in end.ids() {
            opened |= end.is_open(id);
            if let Some(stats) = end.endpoint().stats(id) {
                sent = sent.max(stats.data_sent);
                received = received.max(stats.data_received);
            }
        }
    });
    (opened, sent, received)
}

/// Each seed opens a connection, and data crosses in both directions: the peer knows the handshake.
#[test]
fn seeds_open_connections() {
    for (name, seed) in seeds() {
        let (opened, sent, received) = deepest(&seed);
        println!("{name}: {opened}, {sent} sent, {received} received");
        assert!(opened, "{name} opens nothing");
        assert!(
            sent >= 5 && received >= 5,
            "{name}: {sent} sent, {received} received"
        );
    }
}
