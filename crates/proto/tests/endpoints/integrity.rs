//! Checksum coverage and Data Checksums (RFC 4340, section 9).

use fairwire_kit::{Fault, Pair, Wire, data, ms, reseal};
use fairwire_wire::{Ccid, DccpOption, DropBlock, DropCode, Encoder, Kind, PacketType, ResetCode};

use fairwire_proto::{Config, ConnectionId, DamagedData, DataChecksum, Encapsulation, Payload};

fn options(wire: &Wire) -> Vec<DccpOption<'_>> {
    let raw = wire.packet().options.iter();
    raw.filter_map(|raw| raw.decode().ok()).collect()
}

fn is_data(wire: &Wire) -> bool {
    wire.transmit.id.is_some()
}

/// Returns the first report of Data Dropped in these packets.
fn first_report(wires: &[Wire]) -> Option<Vec<DropBlock>> {
    wires
        .iter()
        .flat_map(options)
        .find_map(|option| match option {
            DccpOption::DataDropped(blocks) => Some(blocks.iter().collect()),
            _ => None,
        })
}

fn dropped(code: DropCode) -> DropBlock {
    DropBlock::Dropped { code, run: 1 }
}

/// Returns an open pair whose client protects data only with Data Checksums.
///
/// `damaged_data` says what the server does with damaged data.
fn checked(damaged_data: DamagedData) -> (Pair, ConnectionId, ConnectionId) {
    let mut pair = Pair::new();
    let mut client = Config::default();
    client.checksum_coverage = 1;
    client.data_checksum = DataChecksum::On;
    let mut server = Config::default();
    server.minimum_checksum_coverage = 1;
    server.damaged_data = damaged_data;
    let (client, server) = pair.open(client, server);
    (pair, client, server)
}

/// RFC 4340, 9.3: damage outside the coverage of the header checksum is detected by the Data Checksum.
///
/// The data is dropped with Drop Code 3, or, if so configured, delivered as corrupt and reported with Drop Code 7. The
/// packet itself counts as received.
#[test]
fn damage_is_noticed_by_the_data_checksum() {
    for (what, code) in [
        (DamagedData::Drop, DropCode::Corrupt),
        (DamagedData::Deliver, DropCode::DeliveredCorrupt),
    ] {
        for damaged in [false, true] {
            let (mut pair, client, server) = checked(what);
            pair.log.clear();
            pair.rule(|wire| is_data(wire).then_some(Fault::Lose));
            for _ in 0..2 {
                let bytes = Payload::from(vec![9; 100]);
                pair.ends[0].send(pair.now, client, bytes).unwrap();
            }
            pair.drain();
            let mut sent: Vec<Wire> = pair
                .log
                .iter()
                .filter(|wire| is_data(wire))
                .cloned()
                .collect();
            assert_eq!(sent[0].packet().cscov, 1, "agreed on");
            if damaged {
                let mut bytes = vec![9; 100];
                bytes[70] ^= 4;
                sent[0].transmit.payload = Payload::from(bytes);
            }
            pair.deliver(1, &sent[0]);
            let answers = pair.answers_to(&sent[1]);
            let name = format!("{what:?}, {damaged}");
            let read: Vec<_> = std::iter::from_fn(|| pair.ends[1].recv(server))
                .map(|received| received.corrupt)
                .collect();
            let stats = pair.ends[1].stats(server).unwrap();
            let report = first_report(&answers);
            if !damaged {
                assert_eq!(read, [false, false], "{name}");
                assert_eq!(stats.dropped_locally, [0; 8], "{name}");
                assert_eq!(report, None, "{name}");
                continue;
            }
            let delivered = DropBlock::Delivered { run: 1 };
            assert_eq!(report, Some(vec![delivered, dropped(code)]), "{name}");
            let expected = match what {
                DamagedData::Drop => vec![false],
                _ => vec![true, false],
            };
            assert_eq!(read, expected, "{name}");
            assert_eq!(stats.dropped_locally[usize::from(code.number())], 1);
        }
    }
}

/// RFC 4340, 9.3: a wrong Data Checksum on an Ack or a Sync is reported too, and nothing is delivered.
///
/// A right one is not reported.
#[test]
fn padding_is_checked_too() {
    for (checksum, reported) in [(0, false), (1, true)] {
        for kind in [|ack| Kind::Ack { ack }, |ack| Kind::Sync { ack }] {
            let (mut pair, _, server) = checked(DamagedData::Deliver);
            let checksum = DccpOption::DataChecksum(checksum);
            let wire = pair.forge(0, 1, kind, |e| e.option(&checksum).unwrap(), Payload::EMPTY);
            pair.deliver(1, &wire);
            assert!(pair.ends[1].recv(server).is_none());
            let corrupt = pair.ends[1].stats(server).unwrap().dropped_locally[3];
            assert_eq!(corrupt, u64::from(reported));
            let next = pair.forge(0, 2, |_| Kind::Data, |_| {}, data(1));
            let before = pair.log.len();
            pair.deliver(1, &next);
            pair.run_for(ms(300));
            let code = DropCode::Corrupt;
            let report = reported.then(|| vec![DropBlock::Delivered { run: 1 }, dropped(code)]);
            assert_eq!(first_report(&pair.log[before..]), report);
        }
    }
}

/// Adversarial item 8; RFC 4340, 5.8 and 9.3: wrong Data Checksums drop or mark the data of one packet.
///
/// One of the wrong length is ignored, and the data is delivered as with the right one; after Mandatory it causes Reset
/// 6. One with a wrong value drops the data with Drop Code 3, or delivers it as corrupt with Drop Code 7 if so
/// configured. The next acknowledgement reports it, for this packet alone.
#[test]
fn item_8_data_checksums_that_are_wrong() {
    let payload = || Payload::from(b"123456789".to_vec());
    // The usual check value of CRC-32c is 0xE3069283; its lowest byte comes first (RFC 3309).
    let right = [0x83, 0x92, 0x06, 0xE3];
    let flipped = [0x83, 0x92, 0x06, 0xE2];
    for what in [DamagedData::Drop, DamagedData::Deliver] {
        for (option, suits) in [
            (&[0; 3][..], true),
            (&[0; 5], true),
            (&[], true),
            (&right, true),
            (&flipped, false),
            (&[0; 4], false),
        ] {
            let (mut pair, _, server) = checked(what);
            let kind = |ack| Kind::DataAck { ack };
            let checksum = |e: &mut Encoder<'_>| e.raw_option(44, option).unwrap();
            let wire = pair.forge(0, 1, kind, checksum, payload());
            let next = pair.forge(0, 2, |_| Kind::Data, |_| {}, payload());
            pair.deliver(1, &wire);
            let answers = pair.answers_to(&next);
            let name = format!("{what:?} {option:?}");
            let read: Vec<_> = std::iter::from_fn(|| pair.ends[1].recv(server))
                .map(|received| received.corrupt)
                .collect();
            let (notes, code) = match (suits, what) {
                (true, _) => (&[false, false][..], None),
                (_, DamagedData::Drop) => (&[false][..], Some(DropCode::Corrupt)),
                _ => (&[true, false][..], Some(DropCode::DeliveredCorrupt)),
            };
            assert_eq!(read, notes, "{name}");
            assert!(!answers.is_empty(), "two packets are acknowledged");
            let report = code.map(|code| vec![DropBlock::Delivered { run: 1 }, dropped(code)]);
            assert_eq!(first_report(&answers), report, "{name}");
        }
    }
    for (option, reset) in [
        (&[0; 3][..], Some((ResetCode::MandatoryError, [44, 0, 0]))),
        (&right, None),
    ] {
        let (mut pair, ..) = checked(DamagedData::Drop);
        let options = |e: &mut Encoder<'_>| {
            e.option(&DccpOption::Mandatory).unwrap();
            e.raw_option(44, option).unwrap();
        };
        let wire = pair.forge(0, 1, |ack| Kind::DataAck { ack }, options, payload());
        let answers = pair.answers_to(&wire);
        assert_eq!(answers.first().and_then(Wire::reset), reset, "{option:?}");
    }
}

/// RFC 4340, 9.3.1: Data Checksums are requested, with Mandatory if required, and confirmed.
///
/// After that all data packets carry one, and their headers have one length. Synthetic payloads carry one too.
#[test]
fn checking_is_negotiated() {
    for (wish, mandatory) in [(DataChecksum::On, false), (DataChecksum::Required, true)] {
        for ccid in [2, 3] {
            let mut pair = Pair::new();
            let mut client = Config::default();
            client.send_ccids = vec![Ccid::new(ccid)];
            client.data_checksum = wish;
            let (client, server) = pair.open(client, Config::default());
            let request = options(&pair.log[0]);
            let change = |option: &DccpOption<'_>| matches!(option, DccpOption::ChangeR { feature: 9, value } if value[0] == 1);
            let at = request.iter().position(change).expect("asked for");
            assert_eq!(request[at - 1] == DccpOption::Mandatory, mandatory);
            let confirmed = pair.log.iter().flat_map(options).any(|option| {
                matches!(option, DccpOption::ConfirmL { feature: 9, value } if value[0] == 1)
            });
            assert!(confirmed, "{wish:?}");
            pair.log.clear();
            pair.bottleneck = Some((ms(1), 100));
            pair.saturate(0, client, 700, ms(1_000));
            let stats = pair.ends[1].stats(server).unwrap();
            assert!(stats.data_received > 20, "{}", stats.data_received);
            assert_eq!(stats.dropped_locally, [0; 8]);
            for wire in pair.log.iter().filter(|wire| is_data(wire)) {
                let checksums = options(wire);
                let is_checksum = |o: &&DccpOption<'_>| matches!(o, DccpOption::DataChecksum(_));
                assert_eq!(checksums.iter().filter(is_checksum).count(), 1);
            }
            let plain = pair
                .log
                .iter()
                .filter(|w| w.packet_type() == PacketType::Data);
            assert!(plain.map(|w| w.head.len()).all(|len| len == 16 + 8));
        }
    }
}

/// RFC 4340, 5.8.2 and 9.3.1: a peer that does not agree to check required Data Checksums gets Reset 5.
///
/// It sends a Confirm of another value, or an empty one.
#[test]
fn a_peer_that_must_check_and_does_not() {
    for value in [&[][..], &[0, 0]] {
        let mut client = Config::default();
        client.data_checksum = DataChecksum::Required;
        let confirm = DccpOption::ConfirmL { feature: 9, value };
        assert_eq!(
            super::ecn::answered_with(client, &confirm),
            Some(ResetCode::OptionError),
            "{value:?}"
        );
    }
}

/// RFC 4340, 9.2.1, and RFC 6773, 3.3.1: partial coverage is used only after the peer has agreed to that much.
///
/// It holds for clients and servers, natively and in UDP.
#[test]
fn coverage_waits_for_the_peer() {
    for encapsulation in [Encapsulation::Native, Encapsulation::Udp] {
        for (wanted, least, used) in [
            (1, 0, 0),
            (1, 1, 1),
            (15, 1, 15),
            (15, 15, 15),
            (14, 1, 14),
            (15, 2, 15),
            (12, 4, 12),
            (5, 3, 5),
            (2, 3, 0),
            (0, 1, 0),
        ] {
            for sender in [0, 1] {
                let mut pair = Pair::along(encapsulation, ms(20));
                let mut sending = Config::default();
                sending.checksum_coverage = wanted;
                let mut receiving = Config::default();
                receiving.minimum_checksum_coverage = least;
                let (client, server) = if sender == 0 {
                    pair.open(sending, receiving)
                } else {
                    pair.open(receiving, sending)
                };
                let ids = [client, server];
                pair.log.clear();
                let bytes = Payload::from(vec![7; 100]);
                pair.ends[sender]
                    .send(pair.now, ids[sender], bytes)
                    .unwrap();
                pair.run_for(ms(300));
                let sent = pair.log.iter().find(|wire| is_data(wire)).unwrap();
                let name = format!("{wanted} {least} {sender}");
                assert_eq!(sent.packet().cscov, used, "{name}");
                assert!(
                    pair.ends[1 - sender].recv(ids[1 - sender]).is_some(),
                    "{name}"
                );
            }
        }
    }
}

/// RFC 4340, 9.2.1: data with too little coverage is refused with Drop Code 0; the packet's options count.
///
/// Adversarial item 7: it does not depend on the data.
#[test]
fn item_7_data_with_too_little_coverage() {
    for (least, cscov, taken) in [(0, 1, false), (3, 2, false), (3, 3, true), (3, 15, true)] {
        let mut pair = Pair::new();
        // The peer is configured to send with a coverage of 3, but then sends another.
        let mut sending = Config::default();
        sending.checksum_coverage = 3;
        let mut receiving = Config::default();
        receiving.minimum_checksum_coverage = least;
        let (_, server) = pair.open(sending, receiving);
        let bytes = Payload::from(vec![7; 100]);
        let mut wire = pair.forge(
            0,
            1,
            |ack| Kind::DataAck { ack },
            |encoder| encoder.option(&DccpOption::Timestamp(77)).unwrap(),
            bytes,
        );
        wire.head[5] |= cscov;
        let path = pair.path(0);
        partly_resealed(&mut wire, &path, cscov);
        pair.deliver(1, &wire);
        assert_eq!(
            pair.ends[1].recv(server).is_some(),
            taken,
            "{least} {cscov}"
        );
        let refused = pair.ends[1].stats(server).unwrap().dropped_locally[0];
        assert_eq!(refused, u64::from(!taken));
        pair.ends[1].send(pair.now, server, data(1)).unwrap();
        let before = pair.log.len();
        pair.run_for(ms(300));
        let answers = &pair.log[before..];
        let report = first_report(answers);
        let expected = (!taken).then(|| vec![dropped(DropCode::ProtocolConstraints)]);
        assert_eq!(report, expected, "{least} {cscov}");
        let echo =
            |o: &DccpOption<'_>| matches!(o, DccpOption::TimestampEcho { timestamp: 77, .. });
        assert!(answers.iter().flat_map(options).any(|o| echo(&o)));
    }
}

/// Sets the right checksum of partial coverage in a packet.
fn partly_resealed(wire: &mut Wire, path: &fairwire_proto::Path, cscov: u8) {
    use fairwire_wire::checksum::coverage;
    let whole = wire.transmit.payload.clone();
    let covered = coverage(cscov, whole.len());
    // The pseudo-header has the whole length; zeros after the covered part do not change the sum.
    let mut bytes = whole.as_slice().to_vec();
    bytes[covered..].fill(0);
    wire.transmit.payload = Payload::from(bytes);
    reseal(wire, path);
    wire.transmit.payload = whole;
}
