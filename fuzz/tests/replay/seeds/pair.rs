//! Inputs of `pair`: a complete connection for each CCID and encapsulation.

use fairwire_fuzz::pair::run_seen;

use super::Seeds;

/// A handshake without impairments; data in both directions; loss, reordering, copies and marks; the end.
const LIFE: [&[u8]; 8] = [
    &[0x90, 0x4B, 0x00, 0x18, 0x1B, 0x00, 0x18, 0x90],
    // Lost, copied, marked, out of order.
    &[0x0B, 0x00, 0x18, 0x04, 0x15, 0x19, 0x22, 0x33, 0x90],
    &[0x0B, 0x02, 0x00, 0x1B, 0x02, 0x00],
    // A changed bit that the checksum covers, an old packet again, an ICMP error.
    &[
        0x0B, 0x00, 0x10, 0x07, 0x09, 0x10, 0x06, 0x03, 0x0A, 0x00, 0x7F, 0x90,
    ],
    &[0x0B, 0x00, 0x20, 0x90, 0x90],
    // Another CCID.
    &[0x0B, 0x08, 0x00, 0x90],
    &[0x0B, 0x04, 0x00, 0x40, 0x03],
    &[0xC0],
];

/// Returns every seed with its name.
pub(super) fn seeds() -> Seeds {
    let mut all = Vec::new();
    for (n, ccids) in [0o00_u8, 0o11, 0o22].into_iter().enumerate() {
        for (below, roads, limits) in [("ip", 0, 0), ("udp", 2, 0), ("cookie", 4, 8)] {
            for (ending, last) in [("closed", 0xC0), ("restarted", 0xFE), ("aborted", 0xEE)] {
                let mut seed = Vec::new();
                for _ in 0..2 {
                    seed.extend([roads, ccids, limits, 0, 0, 0, 0, 0]);
                }
                let cut = if last == 0xC0 { LIFE.len() } else { 5 };
                seed.extend(LIFE[..cut].concat());
                seed.push(last);
                all.push((format!("seed-{}-{below}-{ending}", n + 2), seed));
            }
        }
    }
    all
}

/// Each seed opens a connection, and data crosses in both directions.
#[test]
fn seeds_open_connections() {
    for (name, seed) in seeds() {
        let mut received = [0; 2];
        run_seen(&seed, |ends| {
            for (end, most) in ends.iter().zip(&mut received) {
                for id in end.ids() {
                    let stats = end.endpoint().stats(id).expect("it is known");
                    *most = stats.data_received.max(*most);
                }
            }
        });
        println!("{name}: {received:?}");
        assert!(
            received.iter().all(|&count| count >= 5),
            "{name}: {received:?}"
        );
    }
}
