use fairwire_units::{Duration, Instant};
use fairwire_wire::{DropCode, Options, Seq};

use super::{DropRun, PacketOptions, Reported};
use crate::work;

const ISS: Seq = Seq::new(10);

/// Reads options of a packet that acknowledges `ackno`; returns the new drops.
fn read(reported: &mut Reported, ackno: u64, options: &[u8]) -> Vec<DropRun> {
    let options = PacketOptions::read(Options::new(options));
    reported.read(&options, Some(Seq::new(ackno)), ISS);
    reported.new.drops.clone()
}

fn run(high: u64, low: u64, code: DropCode) -> DropRun {
    DropRun {
        high: Seq::new(high),
        low: Seq::new(low),
        code,
    }
}

/// RFC 4340, 11.7, the example: 99 and 94 to 92 were dropped from the receive buffer. A repeated report has nothing
/// new; with one packet more, only that one is new.
#[test]
fn each_packet_is_news_once() {
    let mut reported = Reported::default();
    let buffer = DropCode::ReceiveBuffer;
    let told = read(&mut reported, 100, &[40, 6, 0, 160, 3, 162]);
    assert_eq!(told, [run(99, 99, buffer), run(94, 92, buffer)]);
    assert_eq!(read(&mut reported, 100, &[40, 6, 0, 160, 3, 162]), []);
    // From 101 down: two delivered, 99 dropped, three delivered, 95 to 92 dropped.
    let told = read(&mut reported, 101, &[40, 6, 1, 160, 2, 163]);
    assert_eq!(told, [run(95, 95, buffer)]);
}

/// RFC 4340, 11.7: a second option continues where the first one ends.
#[test]
fn options_continue_each_other() {
    let mut reported = Reported::default();
    let told = read(&mut reported, 100, &[40, 3, 0, 40, 4, 176, 177]);
    assert_eq!(told, [run(99, 97, DropCode::Corrupt)]);
}

/// RFC 4340, 11.7: a report is ignored if it covers packets before the first one, drops a packet that the Ack Vector
/// reports missing, or changes a packet's code. A packet that was delivered at first may be dropped later.
#[test]
fn contradictions_are_ignored() {
    let mut reported = Reported::default();
    // From 14 down to 10, the first number, there are five packets; then six.
    assert_eq!(read(&mut reported, 14, &[40, 4, 3, 160]).len(), 1);
    assert_eq!(read(&mut reported, 14, &[40, 4, 4, 160]), []);
    // 30 received, 29 and 28 missing, the rest received.
    let vector = [38, 5, 0, 0xC1, 9];
    let with = |dropped: &[u8]| [&vector[..], dropped].concat();
    for (dropped, news) in [
        (&[40, 4, 0, 160][..], 0), // 29
        (&[40, 4, 1, 161], 0),     // 28 and 27
        (&[40, 4, 2, 160], 1),     // 27
        (&[40, 4, 15, 160], 1),    // 14, which the vector does not cover
        (&[40, 3, 176], 1),        // 30
    ] {
        let told = read(&mut Reported::default(), 30, &with(dropped));
        assert_eq!(told.len(), news, "{dropped:?}");
    }
    let mut reported = Reported::default();
    assert_eq!(read(&mut reported, 30, &[40, 3, 3]), [], "delivered");
    assert_eq!(read(&mut reported, 30, &[40, 4, 0, 160]).len(), 1);
    assert_eq!(read(&mut reported, 30, &[40, 4, 0, 176]), [], "not corrupt");
    assert_eq!(read(&mut reported, 30, &[40, 4, 0, 160]), [], "no news");
}

/// RFC 4342, 6.3: reports, and only reports, are acknowledged about once per round trip.
#[test]
fn reports_are_acknowledged_once_per_round_trip() {
    let rtt = Duration::from_millis(100);
    let at = |ms| Instant::START + Duration::from_millis(ms);
    let mut reported = Reported::default();
    assert!(!reported.wants_ack(at(0), rtt));
    read(&mut reported, 100, &[40, 3, 160]);
    assert!(reported.wants_ack(at(10), rtt));
    reported.acknowledged(at(10));
    assert!(!reported.wants_ack(at(200), rtt));
    read(&mut reported, 100, &[40, 3, 160]);
    assert!(!reported.wants_ack(at(109), rtt));
    assert!(reported.wants_ack(at(110), rtt));
}

/// A thousand packets with options full of drops take bounded work and memory, and no drop is new twice.
#[test]
fn floods_are_bounded() {
    let mut reported = Reported::default();
    let mut options = Vec::new();
    for _ in 0..3 {
        options.extend([40, 255]);
        options.extend([0xAF; 253]);
    }
    let mut news = 0;
    for n in 0..1_000 {
        let runs = read(&mut reported, 100_000 + n, &options);
        news += runs.iter().map(DropRun::packets).sum::<u64>();
    }
    // The first report covers 759 times 16 packets; each later one adds one.
    assert_eq!(news, 759 * 16 + 999);
    assert!(reported.runs.capacity() < 1_024);
}

/// The most expensive packets: as many drops as fit into a header, then as many runs of one packet each, then the
/// packets between them. Reading costs a few steps for each byte.
#[test]
fn finding_1_reading_costs_a_few_steps_a_byte() {
    let options = |blocks: &[u8]| {
        let mut options = Vec::new();
        for _ in 0..3 {
            options.extend([40, 255]);
            options.extend(blocks.iter().cycle().take(253));
        }
        options
    };
    let mut reported = Reported::default();
    for (ackno, blocks) in [
        (1 << 20, &[0xAF][..]),
        (1 << 21, &[0xA0, 0]),
        (1 << 21, &[0xAF]),
        (1 << 22, &[127, 0xAF]),
    ] {
        let options = options(blocks);
        let most = 8 * options.len() as u64 + 4_096 / 64;
        let (news, _) = work::within(most, || read(&mut reported, ackno, &options));
        assert!(!news.is_empty());
    }
    assert!(reported.codes.state_len() <= 1 << 16);
}
