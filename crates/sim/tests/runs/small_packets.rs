//! Datagrams of 80 bytes over CCID 4 and over CCID 3 beside TCP with segments of 1,460 bytes: equal rates in bytes or
//! in packets (RFC 5622, RFC 4828).

use fairwire_scenario::Adjust;
use fairwire_sim::results::{CellResult, Metric, Results, Subject};

use super::{all_seeds, ours};

/// The number of seeds. Each gives 240 s with hundreds of loss events, so the mean is known within about 10 %.
const SEEDS: u32 = 5;

fn results() -> Results {
    let adjust = Adjust {
        seeds: Some(SEEDS),
        ..Adjust::default()
    };
    all_seeds(&ours("small-packets.toml", &adjust))
}

/// Returns the throughput in bit/s.
///
/// Packets are 1,500 bytes for TCP and 116 for DCCP; RFC 4828 counts the same, except for TCP's 40 bytes of headers.
fn rate(cell: &CellResult, flow: &str) -> f64 {
    cell.estimate(&Subject::flow(flow), "steady", Metric::Throughput)
        .unwrap_or_else(|| panic!("{}: no throughput of {flow}", cell.name))
        .mean
}

/// RFC 4828, sections 4 and 7: if all packets are equally likely to be dropped, CCID 4 gets TCP's rate in bytes, and
/// CCID 3 gets its rate in packets.
///
/// The test allows a factor of two: RFC 4828 promises rough fairness, and its own simulations of drop rates between 4
/// and 20 % (tables 8, 9 and 12) have ratios of 0.6 to 1.8. Packet sizes differ by a factor of 13, so the two cases
/// cannot be confused.
#[test]
fn small_packets_get_bytes_and_not_packets() {
    let results = results();
    for (name, tcps) in [("queue", 5), ("drop-20", 1)] {
        let cell = results.cell(name).expect("a cell");
        let tcp: f64 = (1..=tcps).map(|n| rate(cell, &format!("tcp{n}"))).sum();
        let tcp = tcp / f64::from(tcps);
        let (small, plain) = (rate(cell, "small"), rate(cell, "plain"));
        let context = format!("{name}: CCID 4 {small}, CCID 3 {plain}, TCP {tcp} bit/s");
        let bytes = small / tcp;
        assert!(
            (0.5..=2.0).contains(&bytes),
            "{bytes} of the bytes; {context}"
        );
        let packets = plain / 116.0 / (tcp / 1_500.0);
        assert!(
            (0.5..=2.0).contains(&packets),
            "{packets} of the packets; {context}"
        );
        // RFC 5622, section 5: 10 ms between packets.
        assert!(small <= 92_800.0 * 1.01, "{context}");
    }
}
