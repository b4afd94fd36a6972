//! Which packets acknowledge, and which must not.

use fairwire_wire::{Ccid, DccpOption};

use super::*;

/// RFC 4340, 7.1, and RFC 5348, 3.2.1 and 5.1: each packet has the number after the last one's, even if all earlier
/// packets were lost.
#[test]
fn numbers_rise_by_one() {
    for ccid in [2, 3] {
        let mut pair = open(ccid);
        pair.lose(|sent| sent.from == CLIENT && sent.packet_type() == PacketType::Data);
        for _ in 0..20 {
            send(&mut pair, CLIENT);
            send(&mut pair, SERVER);
            pair.run_for(DELAY);
        }
        pair.run_for(Duration::from_secs(5));
        for side in [CLIENT, SERVER] {
            let sent = pair.log.iter().filter(|sent| sent.from == side);
            let numbers: Vec<_> = sent.filter_map(|sent| sent.packet().seq.long()).collect();
            assert!(numbers.len() > 20, "{} packets", numbers.len());
            for two in numbers.windows(2) {
                assert_eq!(two[1], two[0].next());
            }
        }
    }
}

/// RFC 4342, 8.3 to 8.6.1, and RFC 4340, 11.4: Data and Request have no Acknowledgement Number, so they carry no
/// feedback options, even while feedback is due in both directions.
#[test]
fn feedback_does_not_ride_on_data() {
    for ccid in [2, 3] {
        let mut pair = open(ccid);
        for _ in 0..50 {
            send(&mut pair, CLIENT);
            send(&mut pair, SERVER);
            pair.run_for(DELAY);
        }
        let mut counts = [0, 0];
        let bears = |sent: &&Wire| sent.is_data() || sent.packet_type() == PacketType::Request;
        assert_eq!(pair.log[0].packet_type(), PacketType::Request);
        for sent in pair.log.iter().filter(bears) {
            let packet = sent.packet();
            let feedback = packet
                .options
                .into_iter()
                .any(|option| matches!(option.option_type, 37..=39 | 43 | 192..=195));
            let is_plain = sent.packet_type() != PacketType::DataAck;
            assert!(!(is_plain && feedback), "CCID {ccid}");
            counts[usize::from(feedback)] += 1;
        }
        assert!(counts[1] > 0, "some data carried feedback: {counts:?}");
    }
}

/// RFC 4340, 11.4: a packet that was refused for its Acknowledgement Number is reported as missing by the next vector,
/// and its options have no effect, although its own number is valid.
#[test]
fn what_was_not_processed_is_not_told() {
    let mut pair = open(2);
    let (seq, ack) = next_numbers(&pair, CLIENT);
    let never_sent = ack.add(50).into();
    let answers = inject(
        &mut pair,
        CLIENT,
        seq,
        &Kind::Ack { ack: never_sent },
        |encoder| {
            let stamp = DccpOption::Timestamp(1);
            encoder.option(&stamp).expect("there is room");
        },
    );
    assert!(matches!(answers[..], [Kind::Sync { .. }]), "{answers:?}");
    let data = Kind::DataAck { ack: ack.into() };
    let before = pair.log.len();
    inject(&mut pair, CLIENT, seq.add(1), &data, |_| {});
    let sent = pair
        .log
        .get(before)
        .expect("what comes after a gap is acknowledged at once");
    let packet = sent.packet();
    assert_eq!(
        packet.kind,
        Kind::Ack {
            ack: seq.add(1).into()
        }
    );
    let mut states = Vec::new();
    for option in packet.options {
        match option
            .decode()
            .expect("an endpoint writes what can be read")
        {
            DccpOption::AckVector { entries, .. } => {
                for entry in entries.iter() {
                    let packets = usize::from(entry.run());
                    states.extend(std::iter::repeat_n(entry.state(), packets));
                }
            }
            DccpOption::TimestampEcho { .. } => panic!("an echo of what was not processed"),
            _ => {}
        }
    }
    let (came, missing) = (EntryState::Received, EntryState::NotReceived);
    assert_eq!(states[..3], [came, missing, came]);
}

/// RFC 4340, 15: unknown options from a peer with an extension cause no Reset, and an unknown feature gets an empty
/// Confirm.
#[test]
fn the_unknown_is_not_punished() {
    let mut pair = open(2);
    let (seq, ack) = next_numbers(&pair, CLIENT);
    let ack = Kind::Ack { ack: ack.into() };
    let before = pair.log.len();
    inject(&mut pair, CLIENT, seq, &ack, |encoder| {
        encoder.raw_option(99, &[1, 2, 3]).expect("there is room");
        encoder.raw_option(127, &[]).expect("there is room");
        let value = &[7][..];
        let change = DccpOption::ChangeL { feature: 77, value };
        encoder.option(&change).expect("there is room");
    });
    pair.run_for(Duration::from_secs(1));
    let answers = &pair.log[before..];
    let empty = DccpOption::ConfirmR {
        feature: 77,
        value: &[],
    };
    let confirmed = answers.iter().any(|sent| {
        let mut options = sent.packet().options.into_iter();
        options.any(|option| option.decode() == Ok(empty))
    });
    assert!(confirmed, "the feature is not known");
    for sent in answers {
        assert_ne!(sent.packet_type(), PacketType::Reset);
    }
    send(&mut pair, CLIENT);
    pair.run_for(Duration::from_secs(1));
    let server = pair.server.expect("open");
    assert!(pair.ends[SERVER].recv(server).is_some(), "it goes on");
}

/// RFC 4340, 15 and 6.3.2: a Sequence Window below 32 is invalid, and its Change gets an empty Confirm.
#[test]
fn an_unacceptable_value_gets_an_empty_confirm() {
    for (window, accepted) in [(31, false), (32, true)] {
        let mut pair = open(2);
        let (seq, ack) = next_numbers(&pair, CLIENT);
        let ack = Kind::Ack { ack: ack.into() };
        let before = pair.log.len();
        let value = &[0, 0, 0, 0, 0, window][..];
        inject(&mut pair, CLIENT, seq, &ack, |encoder| {
            let change = DccpOption::ChangeL { feature: 3, value };
            encoder.option(&change).expect("there is room");
        });
        pair.run_for(Duration::from_secs(1));
        let options = pair.log[before..]
            .iter()
            .flat_map(|sent| sent.packet().options);
        let confirmed: Vec<_> = options
            .filter_map(|option| match option.decode() {
                Ok(DccpOption::ConfirmR { feature: 3, value }) => Some(value),
                _ => None,
            })
            .collect();
        let expected = if accepted { value } else { &[] };
        assert_eq!(confirmed, [expected], "{window}");
    }
}

/// RFC 4340, 10.3: feature 192 belongs to the CCID of the data that its location receives. With CCID 3 in one direction
/// and CCID 2 in the other, only the receiver of CCID 3's data knows it.
#[test]
fn features_of_a_ccid_belong_to_its_half() {
    let (mut client, mut server) = (config(3), config(2));
    client.receive_ccids = vec![Ccid::TCP_LIKE];
    server.receive_ccids = vec![Ccid::TFRC];
    let mut pair = with_configs(SERVICE, [client, server]);
    pair.run_for(Duration::from_secs(1));
    let (seq, ack) = next_numbers(&pair, CLIENT);
    let ack = Kind::Ack { ack: ack.into() };
    let before = pair.log.len();
    let (feature, value) = (192, &[1][..]);
    inject(&mut pair, CLIENT, seq, &ack, |encoder| {
        for change in [
            DccpOption::ChangeR { feature, value },
            DccpOption::ChangeL { feature, value },
        ] {
            encoder.option(&change).expect("there is room");
        }
    });
    pair.run_for(Duration::from_secs(1));
    let options = pair.log[before..]
        .iter()
        .flat_map(|sent| sent.packet().options);
    let mut confirmed = [None, None];
    for option in options {
        match option.decode() {
            Ok(DccpOption::ConfirmL {
                feature: 192,
                value,
            }) => confirmed[0] = Some(value.first()),
            Ok(DccpOption::ConfirmR {
                feature: 192,
                value,
            }) => confirmed[1] = Some(value.first()),
            _ => {}
        }
    }
    assert_eq!(confirmed, [Some(Some(&1)), Some(None)]);
}
