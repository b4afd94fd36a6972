use fairwire_wire::{DccpOption, DropBlock, DropCode, Encoder, HeadBuf, Kind, Packet, Ports, Seq};

use super::{Dropped, Fit, REMEMBERED};
use crate::work;

/// Writes a report up to `ackno` into a header of at most `limit` bytes; returns its blocks.
fn report(
    dropped: &mut Dropped,
    ours: u64,
    ackno: u64,
    fit: Fit,
    limit: usize,
) -> Option<Vec<DropBlock>> {
    let mut head = HeadBuf::new();
    let (ports, ackno) = (
        Ports {
            source: 1,
            destination: 2,
        },
        Seq::new(ackno),
    );
    let (seq, kind) = (Seq::new(ours), Kind::Ack { ack: ackno.into() });
    let mut encoder = Encoder::new(&mut head, ports, seq.into(), &kind, 0, 0).limit(limit);
    if dropped.write(ackno, fit, 0, &mut encoder).is_err() {
        return None;
    }
    dropped.on_report_sent(seq, ackno);
    let head = encoder.finish();
    let packet = Packet::decode(head.as_slice()).expect("a packet");
    let blocks = packet.options.iter().filter_map(|raw| match raw.decode() {
        Ok(DccpOption::DataDropped(blocks)) => Some(blocks),
        _ => None,
    });
    Some(
        blocks
            .flat_map(fairwire_wire::DropBlocks::iter)
            .collect::<Vec<_>>(),
    )
}

fn whole(dropped: &mut Dropped, ours: u64, ackno: u64) -> Vec<DropBlock> {
    report(dropped, ours, ackno, Fit::Whole, 1_020).expect("room")
}

fn note(dropped: &mut Dropped, code: DropCode, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        dropped.note(Seq::new(number), code);
    }
}

fn delivered(run: u8) -> DropBlock {
    DropBlock::Delivered { run }
}

fn buffer(run: u8) -> DropBlock {
    DropBlock::Dropped {
        code: DropCode::ReceiveBuffer,
        run,
    }
}

/// RFC 4340, 11.7, the example: below 100, packet 99 and, after four delivered ones (98 to 95), three more were dropped
/// from the receive buffer: 0, 160, 3, 162. (By its run lengths those three are 94 to 92; the text names 95 twice.)
#[test]
fn the_example_of_the_rfc() {
    let mut dropped = Dropped::default();
    note(&mut dropped, DropCode::ReceiveBuffer, [92, 93, 94, 99]);
    let blocks = whole(&mut dropped, 1, 100);
    let bytes: Vec<u8> = blocks.into_iter().map(DropBlock::byte).collect();
    assert_eq!(bytes, [0, 160, 3, 162]);
}

/// RFC 4340, 11.7: a long run takes several blocks of 128 or 16 packets, a block has one code, and nothing is reported
/// if all data was delivered.
#[test]
fn long_runs_are_split() {
    let mut dropped = Dropped::default();
    assert_eq!(whole(&mut dropped, 1, 100), []);
    note(&mut dropped, DropCode::ReceiveBuffer, 1_000..1_040);
    note(&mut dropped, DropCode::Corrupt, [1_040]);
    let corrupt = DropBlock::Dropped {
        code: DropCode::Corrupt,
        run: 1,
    };
    let expected = [
        delivered(128),
        delivered(72),
        corrupt,
        buffer(16),
        buffer(16),
        buffer(8),
    ];
    assert_eq!(whole(&mut dropped, 2, 1_240), expected);
}

/// RFC 4340, 11.7: a report is repeated until a packet that carried it is acknowledged. A packet dropped after that
/// packet had left is still reported, even if it arrived before.
#[test]
fn told_until_acknowledged() {
    let mut dropped = Dropped::default();
    note(&mut dropped, DropCode::ReceiveBuffer, [50]);
    assert_eq!(whole(&mut dropped, 1, 50), [buffer(1)]);
    assert_eq!(whole(&mut dropped, 2, 51), [delivered(1), buffer(1)]);
    note(&mut dropped, DropCode::ReceiveBuffer, [49, 52]);
    dropped.on_acknowledged(Seq::new(2));
    let all = [buffer(1), delivered(1), buffer(2)];
    assert_eq!(whole(&mut dropped, 3, 52), all, "49 was late");
    dropped.on_acknowledged(Seq::new(3));
    assert!(!dropped.is_due());
    assert_eq!(whole(&mut dropped, 4, 60), []);
    note(&mut dropped, DropCode::ReceiveBuffer, [61]);
    assert_eq!(
        whole(&mut dropped, 5, 61),
        [buffer(1)],
        "older ones are done"
    );
}

/// RFC 4340, 11.7: a packet's status does not change, so its first code stays.
#[test]
fn the_first_code_stays() {
    let mut dropped = Dropped::default();
    assert!(dropped.note(Seq::new(9), DropCode::DeliveredCorrupt));
    assert!(!dropped.note(Seq::new(9), DropCode::ReceiveBuffer));
    let corrupt = DropBlock::Dropped {
        code: DropCode::DeliveredCorrupt,
        run: 1,
    };
    assert_eq!(whole(&mut dropped, 1, 9), [corrupt]);
}

/// If there is no room for the whole report, a data packet carries none of it and an Ack the newest part. The rest is
/// discarded, so that the state stays bounded.
#[test]
fn what_does_not_fit() {
    let mut dropped = Dropped::default();
    note(
        &mut dropped,
        DropCode::ReceiveBuffer,
        (0..20).map(|n| 2 * n),
    );
    // 24 bytes of header and 8 of options: 6 blocks. From 39 down: one delivered, one dropped, ...
    assert_eq!(report(&mut dropped, 1, 39, Fit::Whole, 32), None);
    let blocks = report(&mut dropped, 2, 39, Fit::Newest, 32).expect("some");
    assert_eq!(blocks, [delivered(1), buffer(1)].repeat(3));
    assert_eq!(whole(&mut dropped, 3, 39), blocks);
}

/// A hundred thousand drops without an acknowledgement take one header and bounded memory.
#[test]
fn a_peer_that_acknowledges_nothing() {
    let mut dropped = Dropped::default();
    for number in 0..100_000 {
        if number % 2 == 0 {
            dropped.note(Seq::new(number), DropCode::ReceiveBuffer);
        }
        if number % 50 == 49 {
            let blocks = report(&mut dropped, number, number, Fit::Newest, 1_020);
            assert!(blocks.is_some_and(|blocks| blocks.len() <= 3 * 253 + 229));
        }
    }
    assert!(dropped.records.state_len() <= 1 << 16);
}

/// RFC 4340, 8.1.3: a Response reports the data of all Requests. If a later one has a number 2^45 greater, the report
/// still goes back no further than codes are kept, in a step for each block.
#[test]
fn finding_1_a_report_looks_back_a_bounded_distance() {
    for jump in [0, 9, 4_095, 4_096, 1 << 45, (1 << 47) - 1, (1 << 48) - 1] {
        let mut dropped = Dropped {
            back_to: Some(Seq::new(1)),
            ..Dropped::default()
        };
        let newest = Seq::new(1).add(jump).get();
        note(&mut dropped, DropCode::ProtocolConstraints, [1, newest]);
        let (blocks, _) = work::within(512, || whole(&mut dropped, 1, newest));
        let packets: u64 = blocks.iter().map(|block| u64::from(block.run())).sum();
        let expected = if jump < 4_096 { jump + 1 } else { 1 };
        assert_eq!(packets, expected, "{jump}");
    }
}

/// The most expensive report: codes that change with each packet, as far back as they are kept, without room for them.
/// It costs a few steps for each byte of room.
#[test]
fn finding_1_a_report_costs_what_it_has_room_for() {
    let mut dropped = Dropped::default();
    for number in 0..REMEMBERED {
        let code = DropCode::from_number((number % 7) as u8);
        dropped.note(Seq::new(number), code);
    }
    let newest = REMEMBERED - 1;
    for (fit, limit) in [(Fit::Whole, 100), (Fit::Newest, 100), (Fit::Newest, 1_020)] {
        let bound = 10 * limit as u64 + REMEMBERED / 16;
        work::within(bound, || report(&mut dropped, 1, newest, fit, limit));
    }
}

/// Where the newest numbers were forged, what was reported of packets before them stays until it is acknowledged (RFC
/// 4340, 11.7), and nothing is said of packets with forged numbers.
#[test]
fn a_roll_back_keeps_older_codes() {
    for forged in [20, 3_000, 100_000] {
        let mut dropped = Dropped::new(10);
        note(&mut dropped, DropCode::ReceiveBuffer, [3, 5]);
        note(&mut dropped, DropCode::Corrupt, [forged]);
        assert!(!whole(&mut dropped, 1, forged).is_empty());
        dropped.roll_back(Seq::new(6));
        let kept = whole(&mut dropped, 2, 6);
        let is_remembered = forged < 4_096;
        let expected = [delivered(1), buffer(1), delivered(1), buffer(1)];
        assert_eq!(
            kept,
            if is_remembered { &expected[..] } else { &[] },
            "{forged}"
        );
        // A report that named the forged number does not cover what is noted later.
        note(&mut dropped, DropCode::ReceiveBuffer, [7]);
        dropped.on_acknowledged(Seq::new(1));
        assert!(!whole(&mut dropped, 3, 7).is_empty(), "{forged}");
    }
}
