//! Tests of two of our own ends.

use super::*;

fn assert_agreed(client: &End, server: &End, what: &str) {
    for feature in crate::feature::slot::KNOWN {
        for location in Location::BOTH {
            let (ours, theirs) = (
                client.current(feature, location),
                server.current(feature, location.other()),
            );
            assert_eq!(
                ours, theirs,
                "{what}: {feature} at the client's {location:?}"
            );
            for end in [client, server] {
                assert!(
                    end.negotiation.is_settled(feature, location),
                    "{what}: {feature} at {location:?} is open"
                );
            }
        }
    }
}

/// RFC 4340, 6: one handshake settles all features, for every pair of CCID lists, and both ends then hold the same
/// values.
#[test]
fn a_handshake_settles_everything() {
    let lists: [&[u8]; 6] = [&[2], &[3], &[4], &[2, 3], &[3, 2], &[4, 3]];
    for client_send in lists {
        for client_receive in lists {
            for server_list in [&[2, 3, 4][..], &[4, 3, 2]] {
                let what = format!("{client_send:?} {client_receive:?} against {server_list:?}");
                let mut client = End::new(Role::Client, &config(client_send, client_receive));
                let mut server = End::new(Role::Server, &config(server_list, server_list));
                shake_hands(&mut client, &mut server);
                // The Ack confirmed what the server asked for in its Response; other features that the client asks for
                // need one more exchange.
                for round in 1..4 {
                    let ack = client.send(at(1_000 * round), PacketType::Ack);
                    server.receive(&ack).unwrap();
                    let ack = server.send(at(1_000 * round + 50), PacketType::Ack);
                    client.receive(&ack).unwrap();
                }
                assert_agreed(&client, &server, &what);
                for (location, list) in [
                    (Location::Local, client_send),
                    (Location::Remote, client_receive),
                ] {
                    // RFC 4340, 6.3.1: the first entry of the server that the client also has.
                    let expected = server_list.iter().find(|ccid| list.contains(ccid)).unwrap();
                    let ccid = client.negotiation.ccid(location);
                    assert_eq!(ccid, Some(Ccid::new(*expected)), "{what}");
                    let vectors = client.current(Feature::SendAckVector, location.other());
                    assert_eq!(
                        vectors == 1,
                        *expected == 2,
                        "{what}: Ack Vectors of CCID 2"
                    );
                    let rates = client.current(Feature::SendLossEventRate, location.other());
                    assert_eq!(
                        rates == 1,
                        *expected >= 3,
                        "{what}: Loss Event Rates of CCID 3 and 4"
                    );
                }
                assert!(client.negotiation.may_send_data(), "{what}");
                assert!(server.negotiation.may_send_data(), "{what}");
            }
        }
    }
}

/// With equal preferences, the client may send data after the Response, and the server after the Ack.
#[test]
fn data_may_flow_after_one_handshake() {
    for ccid in [2, 3, 4] {
        let config = config(&[ccid], &[ccid]);
        let mut client = End::new(Role::Client, &config);
        let mut server = End::new(Role::Server, &config);
        assert!(!client.negotiation.may_send_data(), "nothing is agreed yet");
        shake_hands(&mut client, &mut server);
        assert!(client.negotiation.may_send_data(), "CCID {ccid}");
        assert!(server.negotiation.may_send_data(), "CCID {ccid}");
        assert_eq!(
            client.current(Feature::SequenceWindow, Location::Local),
            1_024
        );
        assert_eq!(
            server.current(Feature::SequenceWindow, Location::Remote),
            1_024
        );
    }
}

/// RFC 6323, 3.2.2: either end may ask that data of CCID 3 or 4 carry round-trip times, and both directions then do.
/// With CCID 2 the feature does not exist.
#[test]
fn either_end_asks_for_round_trip_times() {
    for ccid in [2, 3, 4] {
        for (client_asks, server_asks) in
            [(false, false), (true, false), (false, true), (true, true)]
        {
            let asking = |asks| Config {
                send_rtt_estimate: asks,
                ..config(&[ccid], &[ccid])
            };
            let mut client = End::new(Role::Client, &asking(client_asks));
            let mut server = End::new(Role::Server, &asking(server_asks));
            shake_hands(&mut client, &mut server);
            for round in 1..4 {
                let ack = client.send(at(1_000 * round), PacketType::Ack);
                server.receive(&ack).unwrap();
                let ack = server.send(at(1_000 * round + 50), PacketType::Ack);
                client.receive(&ack).unwrap();
            }
            let what = format!("CCID {ccid}, {client_asks}, {server_asks}");
            assert_agreed(&client, &server, &what);
            for location in Location::BOTH {
                let on = client.current(Feature::SendRttEstimate, location) == 1;
                assert_eq!(on, ccid > 2 && (client_asks || server_asks), "{what}");
            }
        }
    }
}

/// RFC 4340, 10: if the CCID lists have nothing in common and 2 is not acceptable, the result is a Mandatory Error.
#[test]
fn no_common_ccid_is_a_mandatory_error() {
    let mut client = End::new(Role::Client, &config(&[3], &[3]));
    let mut server = End::new(Role::Server, &config(&[2], &[2]));
    let request = client.send(at(0), PacketType::Request);
    let fatal = server.receive(&request).unwrap_err();
    assert_eq!(fatal.code, ResetCode::MandatoryError);
    assert_eq!(fatal.data, [32, 1, 3], "Change L, CCID, 3");

    // In the other direction, the server cannot give the Ack Vectors that CCID 2 needs.
    let mut client = End::new(Role::Client, &config(&[2], &[2]));
    let mut server = End::new(Role::Server, &config(&[3], &[3]));
    let request = client.send(at(0), PacketType::Request);
    let fatal = server.receive(&request).unwrap_err();
    assert_eq!(fatal.code, ResetCode::MandatoryError);

    // A client that does not negotiate CCIDs has CCID 2; the server insists on another.
    let mut server = End::new(Role::Server, &config(&[3], &[3]));
    server
        .receive_options(PacketType::Request, Seq::new(500), None, Options::default())
        .unwrap();
    let response = server.send(at(50), PacketType::Response);
    let insists = [
        DccpOption::Mandatory,
        DccpOption::ChangeL {
            feature: 1,
            value: &[3],
        },
        DccpOption::Mandatory,
        DccpOption::ChangeR {
            feature: 1,
            value: &[3],
        },
    ];
    assert_eq!(options(&response)[..4], insists);
}

/// RFC 4340, 12.1: an end that cannot read marks says so with Mandatory, and accepts no data before that is confirmed.
#[test]
fn ecn_incapability_is_confirmed_before_data() {
    let blind = Config {
        ecn: false,
        ..Config::default()
    };
    let mut client = End::new(Role::Client, &blind);
    let mut server = End::new(Role::Server, &Config::default());
    let request = client.send(at(0), PacketType::Request);
    let told = options(&request);
    let change = DccpOption::ChangeL {
        feature: 4,
        value: &[1],
    };
    let place = told.iter().position(|&option| option == change).unwrap();
    assert_eq!(told[place - 1], DccpOption::Mandatory);
    assert!(!client.negotiation.may_take_data());
    server.receive(&request).unwrap();
    assert_eq!(server.current(Feature::EcnIncapable, Location::Remote), 1);
    let response = server.send(at(50), PacketType::Response);
    client.receive(&response).unwrap();
    assert!(client.negotiation.may_take_data());
}

/// RFC 4340, 6.6.3: a Change whose packet or answer was lost is repeated unchanged, with intervals that double and are
/// never below a round trip.
#[test]
fn lost_changes_come_again_with_back_off() {
    let (mut client, mut server) = open_pair();
    assert!(
        client
            .negotiation
            .request_change(Feature::SequenceWindow, Location::Local, 2_048)
    );
    let mut now = client.negotiation.next_timeout(RTT).unwrap();
    assert!(
        now <= at(100) + RTT,
        "not later than a round trip after the Ack"
    );
    let first = client.send(now, PacketType::Ack);
    let mut last_gap = Duration::ZERO;
    for _ in 0..12 {
        let next = client.negotiation.next_timeout(RTT).unwrap();
        let gap = next - now;
        assert!(gap >= RTT, "{gap} is below a round trip");
        let doubled = (last_gap * 2).min(Duration::from_secs(64));
        assert!(gap >= doubled, "{gap} after {last_gap}");
        let quiet = Instant::from_nanos(next.as_nanos() - 1);
        assert_eq!(
            options(&client.send(quiet, PacketType::Ack)),
            [],
            "too early"
        );
        let again = client.send(next, PacketType::Ack);
        assert_eq!(options(&again), options(&first), "identical contents");
        (now, last_gap) = (next, gap);
        server.receive(&again).unwrap();
    }
    assert_eq!(
        server.current(Feature::SequenceWindow, Location::Remote),
        2_048
    );
    assert_eq!(
        client.current(Feature::SequenceWindow, Location::Local),
        1_024,
        "not before the Confirm"
    );
    let answer = server.send(now, PacketType::Ack);
    assert_eq!(options(&answer).len(), 1, "one Confirm for all the Changes");
    client.receive(&answer).unwrap();
    assert_eq!(
        client.current(Feature::SequenceWindow, Location::Local),
        2_048
    );
    assert_eq!(
        client.negotiation.next_timeout(RTT),
        None,
        "silence when all is settled"
    );
    assert_eq!(
        options(&server.send(now, PacketType::Ack)),
        [],
        "a Confirm is not repeated"
    );
}

/// RFC 4340, 6 and 6.6.1: no options on Data, and no Confirm on a packet without an Acknowledgement Number.
#[test]
fn packet_types_carry_what_they_may() {
    let (mut client, mut server) = open_pair();
    client
        .negotiation
        .request_change(Feature::AckRatio, Location::Local, 1);
    assert_eq!(options(&client.send(at(900), PacketType::Data)), []);
    let change = client.send(at(901), PacketType::DataAck);
    assert_eq!(options(&change).len(), 1);
    let packet = Packet::decode(&change).unwrap();
    let on_data = server
        .receive_options(PacketType::Data, server.gsr.next(), None, packet.options)
        .unwrap();
    assert_eq!(on_data, [Handled::Ignored], "RFC 4340, 6: ignored on Data");
    server
        .receive(&change)
        .unwrap_or_else(|fatal| panic!("{fatal:?}"));
    assert_eq!(options(&server.send(at(902), PacketType::Data)), []);
    assert_eq!(options(&server.send(at(902), PacketType::Sync)), []);
    let confirm = server.send(at(902), PacketType::SyncAck);
    assert_eq!(
        options(&confirm),
        [DccpOption::ConfirmR {
            feature: 5,
            value: &[0, 1],
        }]
    );
}

/// RFC 4340, 6.6.5: if an offer changes after its Change was sent, answers to that Change no longer count; the newest
/// offer is agreed on in the end.
#[test]
fn an_unstable_feature_ends_with_the_newest_offer() {
    let (mut client, mut server) = open_pair();
    let window = |end: &End| end.current(Feature::SequenceWindow, Location::Local);
    client
        .negotiation
        .request_change(Feature::SequenceWindow, Location::Local, 2_048);
    let first = client.send(at(1_000), PacketType::Ack);
    client
        .negotiation
        .request_change(Feature::SequenceWindow, Location::Local, 4_096);
    server.receive(&first).unwrap();
    let stale = server.send(at(1_010), PacketType::Ack);
    assert_eq!(
        client.receive(&stale).unwrap(),
        [Handled::Ignored],
        "UNSTABLE"
    );
    let second = client.send(at(1_020), PacketType::Ack);
    client
        .receive(&server.send(at(1_030), PacketType::Ack))
        .unwrap();
    assert_eq!(window(&client), 1_024);
    server.receive(&second).unwrap();
    client
        .receive(&server.send(at(1_040), PacketType::Ack))
        .unwrap();
    assert_eq!(window(&client), 4_096);
    assert_eq!(
        server.current(Feature::SequenceWindow, Location::Remote),
        4_096
    );
}

/// RFC 4340, 6.6.4 and 6.6.8: a Confirm of an earlier Change may acknowledge a packet after the newest Change, if that
/// Change was lost. It is not a wrong choice; it is ignored, and the newest offer is sent again.
#[test]
fn late_confirms_of_earlier_values_are_ignored() {
    let window = |end: &End, location| end.current(Feature::SequenceWindow, location);
    for lost in 1..=8 {
        let (mut client, mut server) = open_pair();
        let ask = |client: &mut End, value| {
            let feature = Feature::SequenceWindow;
            let negotiation = &mut client.negotiation;
            assert!(negotiation.request_change(feature, Location::Local, value));
            client.send(at(1_000), PacketType::Ack)
        };
        let heard = ask(&mut client, 2_048);
        for doubled in 1..=lost {
            let change = ask(&mut client, 2_048 << doubled);
            assert_eq!(options(&change).len(), 1, "a Change leaves, and is lost");
        }
        let wanted = 2_048 << lost;
        server.receive(&heard).unwrap();
        let later = client.send(at(1_010), PacketType::DataAck);
        assert_eq!(options(&later), [], "nothing is due");
        server.receive(&later).unwrap();
        let late = server.send(at(1_020), PacketType::Ack);
        assert_eq!(options(&late).len(), 1, "the Confirm of the first value");
        let handled = client.receive(&late);
        assert_eq!(handled, Ok(vec![Handled::Ignored]), "{lost} Changes lost");
        assert_eq!(window(&client, Location::Local), 1_024);

        let again = client.send(at(10_000), PacketType::Ack);
        server.receive(&again).unwrap();
        let answer = server.send(at(10_010), PacketType::Ack);
        client.receive(&answer).unwrap();
        assert_eq!(window(&client, Location::Local), wanted);
        assert_eq!(window(&server, Location::Remote), wanted);
    }
}

/// The same holds if the earlier Change is agreed on and its second copy is confirmed after the next Change was sent.
#[test]
fn confirms_of_second_copies_are_ignored() {
    let (mut client, mut server) = open_pair();
    let feature = Feature::SequenceWindow;
    let negotiation = &mut client.negotiation;
    negotiation.request_change(feature, Location::Local, 2_048);
    let first = client.send(at(1_000), PacketType::Ack);
    let copy = client.send(at(5_000), PacketType::Ack);
    assert_eq!(options(&copy), options(&first), "a copy");
    server.receive(&first).unwrap();
    client
        .receive(&server.send(at(5_010), PacketType::Ack))
        .unwrap();
    assert_eq!(client.current(feature, Location::Local), 2_048);
    server.receive(&copy).unwrap();
    let negotiation = &mut client.negotiation;
    negotiation.request_change(feature, Location::Local, 4_096);
    let lost = client.send(at(5_020), PacketType::Ack);
    assert_eq!(options(&lost).len(), 1, "the next Change");
    server
        .receive(&client.send(at(5_030), PacketType::Ack))
        .unwrap();
    let late = server.send(at(5_040), PacketType::Ack);
    assert_eq!(options(&late).len(), 1, "the Confirm of the copy");
    assert_eq!(client.receive(&late), Ok(vec![Handled::Ignored]));
}

/// RFC 4340, 6.6.8: a value that no Change of ours ever named is a wrong choice.
#[test]
fn values_never_offered_are_wrong_choices() {
    for value in [2_047, 4_097] {
        let (mut client, _) = open_pair();
        for ours in [2_048, 4_096, 3_000] {
            let feature = Feature::SequenceWindow;
            client
                .negotiation
                .request_change(feature, Location::Local, ours);
            client.send(at(1_000), PacketType::Ack);
        }
        let mut bytes = vec![35, 9, 3];
        bytes.extend(Feature::SequenceWindow.encode_value(value).as_slice());
        let fatal = client.receive_bytes(&bytes).unwrap_err();
        assert_eq!(fatal.code, ResetCode::OptionError, "{value}");
    }
}

/// RFC 4340, 6.6.8: the value in force is a wrong choice, too, if no Change of ours ever named it: if we ignored it, we
/// would ask for ever.
#[test]
fn a_value_in_force_that_was_never_offered_is_a_wrong_choice() {
    let mut client = End::new(Role::Client, &Config::default());
    client.send(at(0), PacketType::Request);
    let (ackno, initial) = (Some(client.gss), [35, 9, 3, 0, 0, 0, 0, 0, 100]);
    let confirms = Options::new(&initial);
    let answered = client.receive_options(PacketType::Response, Seq::new(7_000), ackno, confirms);
    assert_eq!(answered.unwrap_err().code, ResetCode::OptionError);
}

/// RFC 4340, 6.6.4 and 6.6.8: each of the last four values offered may be confirmed late, but no value between them.
/// For older values and the value agreed on last, any value within their range may be, because any number of Changes
/// in a row may be lost.
#[test]
fn the_last_values_offered_are_known_one_by_one() {
    let feature = Feature::SequenceWindow;
    let asked = [2_000, 6_000, 4_000, 9_000, 7_000, 20_000];
    let after = |value| {
        let (mut client, _) = open_pair();
        for ours in asked {
            let negotiation = &mut client.negotiation;
            assert!(negotiation.request_change(feature, Location::Local, ours));
            client.send(at(1_000), PacketType::Ack);
        }
        let mut bytes = vec![35, 9, 3];
        bytes.extend(feature.encode_value(value).as_slice());
        client.receive_bytes(&bytes)
    };
    for late in [1_024, 2_000, 6_000, 4_000, 9_000, 7_000] {
        assert_eq!(after(late), Ok(vec![Handled::Ignored]), "{late}");
    }
    for wrong in [100, 1_023, 2_001, 5_000, 8_000, 8_999, 10_000, 20_001] {
        let fatal = after(wrong).unwrap_err();
        assert_eq!(fatal.code, ResetCode::OptionError, "{wrong}");
    }
    let agreed = after(20_000).unwrap();
    assert!(matches!(
        agreed[..],
        [Handled::Agreed { value: 20_000, .. }]
    ));
}

/// RFC 4340, 6.6.6: Changes that cross are each other's answers. Both stay open until the Confirm that follows a
/// crossing, and neither is sent twice.
#[test]
fn crossing_changes_settle_each_other() {
    let (mut client, mut server) = open_pair();
    client
        .negotiation
        .request_change(Feature::SendNdpCount, Location::Local, 1);
    server
        .negotiation
        .request_change(Feature::SendNdpCount, Location::Remote, 1);
    let from_client = client.send(at(1_000), PacketType::Ack);
    let from_server = server.send(at(1_000), PacketType::Ack);
    client.receive(&from_server).unwrap();
    server.receive(&from_client).unwrap();
    assert_eq!(client.current(Feature::SendNdpCount, Location::Local), 1);
    assert_eq!(server.current(Feature::SendNdpCount, Location::Remote), 1);
    let from_client = client.send(at(1_100), PacketType::Ack);
    let from_server = server.send(at(1_100), PacketType::Ack);
    client.receive(&from_server).unwrap();
    server.receive(&from_client).unwrap();
    assert_agreed(&client, &server, "crossed");
    assert_eq!(client.current(Feature::SendNdpCount, Location::Local), 1);
}

/// RFC 4340, 6.6.5 and 6.6.6: a Change that crosses ours does not settle an UNSTABLE feature, because the list to
/// reconcile it with is not the one that was sent. The newest offer settles it.
#[test]
fn a_crossing_change_does_not_settle_what_is_unstable() {
    let (mut client, mut server) = open_pair();
    let ask = |end: &mut End, location, value| {
        let asked = end
            .negotiation
            .request_change(Feature::SendNdpCount, location, value);
        assert!(asked);
    };
    ask(&mut client, Location::Local, 1);
    ask(&mut server, Location::Remote, 1);
    let from_client = client.send(at(1_000), PacketType::Ack);
    let from_server = server.send(at(1_000), PacketType::Ack);
    ask(&mut client, Location::Local, 0);
    let handled = client.receive(&from_server).unwrap();
    assert_eq!(handled, [Handled::Ignored], "UNSTABLE");
    assert_eq!(client.current(Feature::SendNdpCount, Location::Local), 0);
    server.receive(&from_client).unwrap();
    for round in 1..6 {
        let from_client = client.send(at(1_000 + round * 400), PacketType::Ack);
        server.receive(&from_client).unwrap();
        let from_server = server.send(at(1_050 + round * 400), PacketType::Ack);
        client.receive(&from_server).unwrap();
    }
    assert_agreed(&client, &server, "crossed while UNSTABLE");
}

/// An impossible request is rejected locally and not sent.
#[test]
fn impossible_requests_are_refused() {
    let (mut client, _) = open_pair();
    let ask = |client: &mut End, feature, location, value| {
        client.negotiation.request_change(feature, location, value)
    };
    for (value, possible) in [
        (31, false),
        (32, true),
        ((1 << 46) - 1, true),
        (1 << 46, false),
    ] {
        let taken = ask(&mut client, Feature::SequenceWindow, Location::Local, value);
        assert_eq!(taken, possible, "Sequence Window {value}");
    }
    assert!(
        !ask(&mut client, Feature::AckRatio, Location::Remote, 3),
        "it is the peer's"
    );
    assert!(
        !ask(&mut client, Feature::SendRttEstimate, Location::Local, 1),
        "CCID 2 has no such feature"
    );
}

/// A retransmitted Request repeats all options at once, and so does the second Response.
#[test]
fn handshake_packets_repeat_everything() {
    let mut client = End::new(Role::Client, &Config::default());
    let mut server = End::new(Role::Server, &Config::default());
    let first = client.send(at(0), PacketType::Request);
    let second = client.send(at(1), PacketType::Request);
    assert_eq!(options(&first), options(&second));
    server.receive(&first).unwrap();
    let lost = server.send(at(10), PacketType::Response);
    server.receive(&second).unwrap();
    let response = server.send(at(11), PacketType::Response);
    assert_eq!(options(&lost), options(&response));
    client.receive(&response).unwrap();
    assert!(client.negotiation.may_send_data());
}

/// A copy of the Request, made by the network, counts as reordered and changes nothing. A Response sent because of it
/// still repeats all options of the first Response, which may be lost.
#[test]
fn a_copied_request_gets_the_whole_response() {
    let mut client = End::new(Role::Client, &Config::default());
    let mut server = End::new(Role::Server, &Config::default());
    let request = client.send(at(0), PacketType::Request);
    server.receive(&request).unwrap();
    let lost = server.send(at(10), PacketType::Response);
    let handled = server.receive(&request).unwrap();
    assert!(handled.iter().all(|&handled| handled == Handled::Ignored));
    let response = server.send(at(11), PacketType::Response);
    assert_eq!(options(&lost), options(&response));
    client.receive(&response).unwrap();
    assert!(client.negotiation.may_send_data());
    server
        .receive(&client.send(at(20), PacketType::Ack))
        .unwrap();
    server.negotiation.on_open();
    assert_eq!(options(&server.send(at(900), PacketType::Ack)), []);
}
