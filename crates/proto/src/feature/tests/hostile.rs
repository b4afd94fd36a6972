//! Misbehaving peers, and networks that reorder packets.

use super::*;

const CHANGE_L: u8 = 32;
const CONFIRM_L: u8 = 33;
const CHANGE_R: u8 = 34;
const CONFIRM_R: u8 = 35;
const MANDATORY: u8 = 1;

fn option(option_type: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![option_type, u8::try_from(data.len() + 2).unwrap()];
    bytes.extend_from_slice(data);
    bytes
}

fn mandatory(option_type: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![MANDATORY];
    bytes.extend(option(option_type, data));
    bytes
}

/// RFC 4340, 6.6.7 to 6.6.9: an invalid or unknown Change gets an empty Confirm; with Mandatory, it is a Mandatory
/// Error.
#[test]
fn items_22_and_23_strange_changes_get_empty_confirms_or_mandatory_errors() {
    let window = |value: u64| [&[3], &value.to_be_bytes()[2..]].concat();
    let cases: [(&str, u8, Vec<u8>); 10] = [
        ("unknown feature", CHANGE_L, vec![77, 1]),
        ("reserved feature 0", CHANGE_R, vec![0, 1]),
        ("RTT Estimate, refused", CHANGE_R, vec![128, 1]),
        ("Loss Event Rate with CCID 2", CHANGE_L, vec![192, 1]),
        ("Change R of a non-negotiable", CHANGE_R, vec![5, 0, 2]),
        ("Sequence Window 0", CHANGE_L, window(0)),
        ("Sequence Window 31", CHANGE_L, window(31)),
        ("Sequence Window 2^46", CHANGE_L, window(1 << 46)),
        (
            "Sequence Window of 5 bytes",
            CHANGE_L,
            vec![3, 0, 0, 0, 1, 0],
        ),
        ("an empty list", CHANGE_L, vec![6]),
    ];
    for (what, option_type, data) in cases {
        let (mut end, _) = open_pair();
        end.receive_bytes(&option(option_type, &data)).unwrap();
        let answer = end.send(at(1_000), PacketType::Ack);
        let feature = data[0];
        let empty = match option_type {
            CHANGE_L => DccpOption::ConfirmR {
                feature,
                value: &[],
            },
            _ => DccpOption::ConfirmL {
                feature,
                value: &[],
            },
        };
        assert_eq!(options(&answer), [empty], "{what}");
        assert_eq!(
            options(&end.send(at(1_001), PacketType::Ack)),
            [],
            "{what}: once"
        );
        let fatal = end
            .receive_bytes(&mandatory(option_type, &data))
            .unwrap_err();
        assert_eq!(fatal.code, ResetCode::MandatoryError, "{what}");
        let second = data.get(1).copied().unwrap_or(0);
        assert_eq!(fatal.data, [option_type, feature, second], "{what}");
    }
    // Just inside the bounds, and Ack Ratio 0, which erratum 1049 allows.
    for (feature, data, value) in [
        (Feature::SequenceWindow, window(32), 32),
        (
            Feature::SequenceWindow,
            window((1 << 46) - 1),
            (1 << 46) - 1,
        ),
        (Feature::AckRatio, vec![5, 0, 0], 0),
    ] {
        let (mut end, _) = open_pair();
        end.receive_bytes(&mandatory(CHANGE_L, &data)).unwrap();
        assert_eq!(end.current(feature, Location::Remote), value);
    }
}

/// RFC 4340, 6.3.1: without a common value the value stays, and the Confirm names it.
#[test]
fn nothing_in_common_keeps_the_value() {
    let (mut end, _) = open_pair();
    end.receive_bytes(&option(CHANGE_R, &[2, 1])).unwrap();
    assert_eq!(
        options(&end.send(at(1_000), PacketType::Ack)),
        [DccpOption::ConfirmL {
            feature: 2,
            value: &[0, 0],
        }]
    );
    let fatal = end
        .receive_bytes(&mandatory(CHANGE_R, &[2, 1]))
        .unwrap_err();
    assert_eq!(
        (fatal.code, fatal.data),
        (ResetCode::MandatoryError, [CHANGE_R, 2, 1])
    );
}

/// RFC 4340, 6.6.8: a Confirm that cannot be right resets the connection with Option Error.
#[test]
fn item_22_wrong_confirms_are_option_errors() {
    let cases: [(&str, u8, &[u8]); 6] = [
        (
            "a window we did not offer",
            CONFIRM_R,
            &[3, 0, 0, 0, 0, 8, 1],
        ),
        ("a window of two bytes", CONFIRM_R, &[3, 8, 0]),
        ("empty for a required feature", CONFIRM_R, &[3]),
        (
            "Confirm L of a non-negotiable",
            CONFIRM_L,
            &[3, 0, 0, 0, 0, 8, 0],
        ),
        ("the server's second choice", CONFIRM_R, &[7, 0, 1, 0]),
        ("an NDP Count value nobody offered", CONFIRM_R, &[7, 2]),
    ];
    for (what, option_type, data) in cases {
        let (mut client, _) = open_pair();
        client
            .negotiation
            .request_change(Feature::SequenceWindow, Location::Local, 2_048);
        client
            .negotiation
            .request_change(Feature::SendNdpCount, Location::Local, 1);
        client.send(at(1_000), PacketType::Ack);
        let fatal = client
            .receive_bytes(&option(option_type, data))
            .unwrap_err();
        let second = data.get(1).copied().unwrap_or(0);
        assert_eq!(fatal.code, ResetCode::OptionError, "{what}");
        assert_eq!(fatal.data, [option_type, data[0], second], "{what}");
    }
}

/// RFC 4340, 6.6.7: an empty Confirm for an optional feature leaves its value, and we do not ask again.
#[test]
fn a_refused_extension_is_given_up() {
    let (mut client, _) = open_pair();
    client
        .negotiation
        .request_change(Feature::SendNdpCount, Location::Remote, 1);
    client.send(at(1_000), PacketType::Ack);
    let handled = client.receive_bytes(&option(CONFIRM_L, &[7])).unwrap();
    assert_eq!(handled, [Handled::Noted]);
    assert!(
        client
            .negotiation
            .is_settled(Feature::SendNdpCount, Location::Remote)
    );
    assert_eq!(client.current(Feature::SendNdpCount, Location::Remote), 0);
    assert_eq!(client.negotiation.next_timeout(RTT), None);
}

/// RFC 4341, 4: if Ack Vectors were refused while the CCID was undecided, we ask with Mandatory once it is CCID 2, and
/// no data is sent before.
#[test]
fn what_the_ccid_cannot_do_without_is_insisted_on() {
    let mut client = End::new(Role::Client, &Config::default());
    client.send(at(0), PacketType::Request);
    let refuses = option(CONFIRM_L, &[6, 0, 0, 1]);
    let chooses = option(CONFIRM_R, &[1, 2, 2]);
    let response = [refuses, chooses].concat();
    let ackno = Some(client.gss);
    client
        .receive_options(
            PacketType::Response,
            Seq::new(7_000),
            ackno,
            Options::new(&response),
        )
        .unwrap();
    assert_eq!(
        client.negotiation.ccid(Location::Local),
        Some(Ccid::TCP_LIKE)
    );
    assert!(!client.negotiation.may_send_data());
    let ack = client.send(at(60), PacketType::Ack);
    let told = options(&ack);
    let change = DccpOption::ChangeR {
        feature: 6,
        value: &[1],
    };
    let place = told.iter().position(|&option| option == change).unwrap();
    assert_eq!(told[place - 1], DccpOption::Mandatory);
}

/// RFC 4340, 6.6.8: a Confirm that is not awaited is ignored, however wrong it is.
#[test]
fn item_22_unexpected_confirms_are_ignored() {
    let (mut client, _) = open_pair();
    for data in [
        &[3, 0, 0, 0, 0, 9, 9][..],
        &[3],
        &[77, 1],
        &[6, 0, 0],
        &[192, 1],
        &[1],
    ] {
        for option_type in [CONFIRM_L, CONFIRM_R] {
            if option_type == CONFIRM_L && data[0] == 3 {
                continue; // That one is wrong at any time.
            }
            let handled = client.receive_bytes(&option(option_type, data)).unwrap();
            assert_eq!(handled, [Handled::Ignored], "{option_type} {data:?}");
        }
    }
}

/// RFC 4340, 6.6.2 and 6.6.3: a Change that is repeated in a new packet, because its Confirm was lost, gets the same
/// Confirm again.
#[test]
fn item_22_a_repeated_change_gets_the_same_confirm() {
    let (mut end, _) = open_pair();
    let change = option(CHANGE_R, &[7, 1, 0]);
    let mut answers = Vec::new();
    for ms in [1_000, 2_000, 3_000] {
        end.receive_bytes(&change).unwrap();
        answers.push(end.send(at(ms), PacketType::Ack));
    }
    let feature = 7;
    let DccpOption::ConfirmL { value, .. } = options(&answers[0])[0] else {
        panic!("a Confirm");
    };
    assert_eq!(value[0], 1, "NDP Counts are granted");
    for answer in &answers {
        assert_eq!(options(answer), [DccpOption::ConfirmL { feature, value }]);
    }
}

/// RFC 4340, 6.6.7: every DCCP knows CCID, short sequence numbers and Sequence Window. An empty Confirm for a Change of
/// one of them is Reset 5.
#[test]
fn item_22_what_everybody_knows_is_not_refused() {
    let client = Config {
        short_seqnos: true,
        ..config(&[3, 2], &[3, 2])
    };
    for feature in [
        Feature::Ccid,
        Feature::AllowShortSeqnos,
        Feature::SequenceWindow,
    ] {
        let mut client = End::new(Role::Client, &client);
        let request = client.send(at(0), PacketType::Request);
        let asked = options(&request)
            .into_iter()
            .find_map(|option| match option {
                DccpOption::ChangeL { feature: f, .. } => {
                    (f == feature.number()).then_some(CONFIRM_R)
                }
                DccpOption::ChangeR { feature: f, .. } => {
                    (f == feature.number()).then_some(CONFIRM_L)
                }
                _ => None,
            });
        let confirm = asked.unwrap_or_else(|| panic!("the Request asks for {feature}"));
        let ackno = Some(client.gss);
        let empty = option(confirm, &[feature.number()]);
        let answered = client.receive_options(
            PacketType::Response,
            Seq::new(7_000),
            ackno,
            Options::new(&empty),
        );
        let fatal = answered.unwrap_err();
        assert_eq!(fatal.code, ResetCode::OptionError, "{feature}");
    }
}

/// RFC 4340, 6.6.4: reordered and duplicated packets change nothing, even with Mandatory.
#[test]
fn item_22_reordered_changes_are_ignored() {
    let (mut client, mut server) = open_pair();
    let old = client.gss;
    client
        .negotiation
        .request_change(Feature::AckRatio, Location::Local, 4);
    let change = client.send(at(1_000), PacketType::Ack);
    server.receive(&change).unwrap();
    server.send(at(1_001), PacketType::Ack);
    assert_eq!(
        server.receive(&change).unwrap(),
        [Handled::Ignored],
        "a duplicate"
    );
    let stale = mandatory(CHANGE_L, &[5, 0, 9]);
    let handled = server
        .receive_options(PacketType::Ack, old, Some(server.gss), Options::new(&stale))
        .unwrap();
    assert_eq!(handled, [Handled::Ignored], "older than FGSR");
    let unknown = mandatory(CHANGE_L, &[77, 1]);
    let handled = server
        .receive_options(
            PacketType::Ack,
            old,
            Some(server.gss),
            Options::new(&unknown),
        )
        .unwrap();
    assert_eq!(handled, [Handled::Ignored], "reordered, so no Reset");
    assert_eq!(server.current(Feature::AckRatio, Location::Remote), 4);
    assert_eq!(options(&server.send(at(1_002), PacketType::Ack)), []);
}

/// RFC 4340, 6.6.4: a Confirm must acknowledge the newest Change or a later packet.
#[test]
fn confirms_of_older_changes_are_ignored() {
    for (back, expected) in [(1, 1_024), (0, 2_048)] {
        let (mut client, _) = open_pair();
        client
            .negotiation
            .request_change(Feature::SequenceWindow, Location::Local, 2_048);
        client.send(at(1_000), PacketType::Ack);
        let confirm = option(CONFIRM_R, &[3, 0, 0, 0, 0, 8, 0]);
        let ackno = client.gss.sub(back);
        let seq = client.gsr.next();
        client
            .receive_options(PacketType::Ack, seq, Some(ackno), Options::new(&confirm))
            .unwrap();
        let window = client.current(Feature::SequenceWindow, Location::Local);
        assert_eq!(window, expected, "{back} before the Change");
    }
}

/// RFC 4340, 6.6.4: a retransmitted Change is not a new one, so the answer to its first copy still counts.
#[test]
fn answers_to_the_first_copy_count_after_a_retransmission() {
    let (mut client, mut server) = open_pair();
    let window = Feature::SequenceWindow;
    client
        .negotiation
        .request_change(window, Location::Local, 2_048);
    server
        .receive(&client.send(at(1_000), PacketType::Ack))
        .unwrap();
    let answer = server.send(at(1_050), PacketType::Ack);
    let again = client.send(at(2_000), PacketType::Ack);
    assert_eq!(options(&again).len(), 1, "the Change was sent again");
    client.receive(&answer).unwrap();
    assert_eq!(client.current(window, Location::Local), 2_048);
}

/// Erratum 974: half a circle after the last negotiation, options still count, also across the wrap. Without the rule
/// they would be ignored for the next 2^47 packets.
#[test]
fn item_24_negotiation_survives_half_a_circle() {
    // Three quarters of the circle, and one and a quarter, which wraps both numbers.
    for quarters in [3, 5] {
        half_a_circle_later(quarters);
    }
}

fn half_a_circle_later(quarters: usize) {
    let (mut server, _) = open_pair();
    let change = |ratio: u8| option(CHANGE_L, &[5, 0, ratio]);
    server.receive_bytes(&change(3)).unwrap();
    server
        .negotiation
        .request_change(Feature::SequenceWindow, Location::Local, 2_048);
    server.send(at(1_000), PacketType::Ack);
    // Packets without options, a quarter of the circle apart.
    for _ in 0..quarters {
        let seq = server.gsr.add(1 << 46);
        server.gss = server.gss.add(1 << 46);
        server
            .receive_options(PacketType::Ack, seq, Some(server.gss), Options::default())
            .unwrap();
    }
    server.receive_bytes(&change(7)).unwrap();
    assert_eq!(
        server.current(Feature::AckRatio, Location::Remote),
        7,
        "FGSR"
    );
    server
        .receive_bytes(&option(CONFIRM_R, &[3, 0, 0, 0, 0, 8, 0]))
        .unwrap();
    assert_eq!(
        server.current(Feature::SequenceWindow, Location::Local),
        2_048,
        "FGSS"
    );
}

/// Packets full of Changes get at most one Confirm for each feature, which always fits, and no state grows.
#[test]
fn item_6_floods_of_changes_get_one_confirm_each() {
    let (mut end, _) = open_pair();
    let same = option(CHANGE_R, &[6, 1]).repeat(250);
    for _ in 0..4 {
        end.receive_bytes(&same).unwrap();
    }
    assert_eq!(
        options(&end.send(at(1_000), PacketType::Ack)).len(),
        1,
        "1,000 Changes"
    );

    let mut long = vec![1; 251];
    long.push(0);
    let full = [&[CHANGE_R, 255, 2][..], &long].concat().repeat(3);
    end.receive_bytes(&full).unwrap();
    assert_eq!(
        options(&end.send(at(2_000), PacketType::Ack)),
        [DccpOption::ConfirmL {
            feature: 2,
            value: &[0, 0],
        }],
        "three lists of 252 values"
    );

    let mut unknown = Vec::new();
    for feature in 10..=255 {
        unknown.extend(option(CHANGE_L, &[feature, 1]));
        unknown.extend(option(CHANGE_R, &[feature, 1]));
    }
    end.receive_bytes(&unknown).unwrap();
    let mut answered = 0;
    for _ in 0..3 {
        end.gss = end.gss.next();
        let mut buf = HeadBuf::new();
        let (ports, ack) = (
            Ports {
                source: 1,
                destination: 2,
            },
            SeqNo::Long(end.gsr),
        );
        let mut encoder = Encoder::new(
            &mut buf,
            ports,
            SeqNo::Long(end.gss),
            &Kind::Ack { ack },
            0,
            0,
        );
        end.negotiation
            .write(at(3_000), end.gss, PacketType::Ack, RTT, &mut encoder)
            .unwrap();
        answered += options(encoder.finish().as_slice()).len();
    }
    assert_eq!(
        answered,
        2 * 246,
        "every unknown feature once, over several packets"
    );
}

/// Options that do not fit are not written at all, and are still due afterwards.
#[test]
fn no_room_writes_nothing() {
    let (mut client, _) = open_pair();
    client
        .negotiation
        .request_change(Feature::SequenceWindow, Location::Local, 2_048);
    client.receive_bytes(&option(CHANGE_L, &[5, 0, 2])).unwrap();
    // Change L(Sequence Window) and Confirm R(Ack Ratio).
    let needed = 9 + 5;
    for (room, fits) in [(needed - 1, false), (needed, true)] {
        let mut buf = HeadBuf::new();
        let (ports, ack) = (
            Ports {
                source: 1,
                destination: 2,
            },
            SeqNo::Long(client.gsr),
        );
        let mut encoder = Encoder::new(
            &mut buf,
            ports,
            SeqNo::Long(client.gss.next()),
            &Kind::Ack { ack },
            0,
            0,
        );
        while encoder.room() > room {
            encoder.option(&DccpOption::Padding).unwrap();
        }
        let before = encoder.options_len();
        let wrote = client.negotiation.write(
            at(1_000),
            client.gss.next(),
            PacketType::Ack,
            RTT,
            &mut encoder,
        );
        assert_eq!(wrote.is_ok(), fits, "{room} bytes of room");
        let expected = if fits { needed } else { 0 };
        assert_eq!(encoder.options_len() - before, expected);
    }
}
