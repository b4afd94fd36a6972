//! Negotiation of another CCID in mid-connection (RFC 4340, sections 10 and 10.5).

use super::*;
use crate::ccid::tests::all as all_ccids;
use crate::feature::has_ack_vectors;

const DEFAULTS: [Ccid; 2] = [Ccid::TCP_LIKE, Ccid::TFRC];

/// Returns a configuration with the same CCIDs in both directions.
fn config_of(ccids: &[Ccid]) -> Config {
    Config {
        send_ccids: ccids.to_vec(),
        receive_ccids: ccids.to_vec(),
        ..Config::default()
    }
}

/// Returns two open ends with this CCID in both directions; both ends accept any CCID.
fn open_with(ccid: Ccid) -> (End, End) {
    let mut list = all_ccids();
    list.retain(|&other| other != ccid);
    list.insert(0, ccid);
    let config = config_of(&list);
    let mut client = End::new(Role::Client, &config);
    let mut server = End::new(Role::Server, &config);
    shake_hands(&mut client, &mut server);
    for end in [&client, &server] {
        for location in Location::BOTH {
            assert_eq!(end.negotiation.ccid(location), Some(ccid));
        }
    }
    settle(&mut client, &mut server, 1_000);
    (client, server)
}

/// Exchanges an Ack in each direction, five times.
fn settle(a: &mut End, b: &mut End, from_ms: u64) {
    for round in 0..5 {
        let ack = a.send(at(from_ms + 2_000 * round), PacketType::Ack);
        b.receive(&ack).unwrap();
        let ack = b.send(at(from_ms + 2_000 * round + 1_000), PacketType::Ack);
        a.receive(&ack).unwrap();
    }
}

/// Asserts that both ends hold the same CCIDs and the feature values that follow from them.
fn assert_in_step(a: &End, b: &End, what: &str) {
    for location in Location::BOTH {
        let ccid = a.negotiation.ccid(location).unwrap();
        assert_eq!(b.negotiation.ccid(location.other()), Some(ccid), "{what}");
        let receiver = location.other();
        let vectors = has_ack_vectors(ccid);
        for (feature, location, on) in [
            (Feature::SendAckVector, receiver, vectors),
            (Feature::SendLossEventRate, receiver, !vectors),
        ] {
            let (ours, theirs) = (
                a.current(feature, location),
                b.current(feature, location.other()),
            );
            assert_eq!(ours, theirs, "{what}: {feature}");
            assert!(
                ours == u64::from(on),
                "{what}: {feature} is {ours} with {ccid}"
            );
        }
    }
    assert!(
        a.negotiation.may_send_data() && b.negotiation.may_send_data(),
        "{what}"
    );
}

/// RFC 4340, 10 and 6.6: one exchange changes any CCID to any other, whichever end asks and for either location. The
/// old CCID stays in force until the Confirm arrives, and the features that depend on it follow.
#[test]
fn ccids_change_in_mid_connection() {
    for from in all_ccids() {
        for to in all_ccids().into_iter().filter(|&to| to != from) {
            for location in Location::BOTH {
                for server_asks in [false, true] {
                    let what =
                        format!("{from} to {to} at {location:?}, by the server: {server_asks}");
                    let (mut a, mut b) = open_with(from);
                    if server_asks {
                        (a, b) = (b, a);
                    }
                    a.negotiation.change_ccid(location, &[to]);
                    let change = a.send(at(20_000), PacketType::Ack);
                    assert_eq!(a.negotiation.ccid(location), Some(from), "{what}");
                    assert!(
                        location == Location::Remote || a.negotiation.may_send_data(),
                        "{what}"
                    );
                    b.receive(&change).unwrap();
                    assert_eq!(b.negotiation.ccid(location.other()), Some(to), "{what}");
                    let confirm = b.send(at(20_100), PacketType::Ack);
                    a.receive(&confirm).unwrap();
                    assert_eq!(a.negotiation.ccid(location), Some(to), "{what}");
                    settle(&mut a, &mut b, 21_000);
                    assert_in_step(&a, &b, &what);
                    // And back.
                    a.negotiation.change_ccid(location, &[from]);
                    settle(&mut a, &mut b, 40_000);
                    assert_eq!(a.negotiation.ccid(location), Some(from), "{what}");
                    assert_in_step(&a, &b, &what);
                }
            }
        }
    }
}

/// RFC 4340, 6.6.1: data of the new CCID waits until its Confirm was sent.
#[test]
fn data_follows_the_confirm() {
    let (_, mut server) = open_with(Ccid::TCP_LIKE);
    server.receive_bytes(&[34, 4, 1, 3]).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Local), Some(Ccid::TFRC));
    assert!(!server.negotiation.may_send_data());
    server.send(at(20_000), PacketType::Ack);
    assert!(server.negotiation.may_send_data());
}

/// If the peer does not accept the CCID asked for, the old one and the features it needs stay, and the connection
/// continues.
#[test]
fn a_refusal_changes_nothing() {
    for from in all_ccids() {
        for to in all_ccids().into_iter().filter(|&to| to != from) {
            let mut client = End::new(Role::Client, &config_of(&all_ccids()));
            let mut server = End::new(Role::Server, &config_of(&[from]));
            shake_hands(&mut client, &mut server);
            settle(&mut client, &mut server, 1_000);
            for location in Location::BOTH {
                client.negotiation.change_ccid(location, &[to]);
            }
            settle(&mut client, &mut server, 20_000);
            let what = format!("{from} instead of {to}");
            assert_eq!(
                client.negotiation.ccid(Location::Local),
                Some(from),
                "{what}"
            );
            assert_in_step(&client, &server, &what);
        }
    }
}

/// RFC 4340, 10.5: a CCID that must not change now is confirmed as the only acceptable one, and a Mandatory Change of
/// it is Reset 6. If it may change, the configured list decides.
#[test]
fn a_locked_ccid_stays() {
    let change = [34, 4, 1, 3];
    let (_, mut server) = open_pair();
    server.negotiation.lock_ccid(Location::Local, true);
    server.receive_bytes(&change).unwrap();
    assert_eq!(
        server.negotiation.ccid(Location::Local),
        Some(Ccid::TCP_LIKE)
    );
    let (feature, value) = (1, &[2, 2][..]);
    let confirm = DccpOption::ConfirmL { feature, value };
    assert_eq!(options(&server.send(at(1_000), PacketType::Ack)), [confirm]);
    let mandatory = [&[1], &change[..]].concat();
    let fatal = server.receive_bytes(&mandatory).unwrap_err();
    let reset = (fatal.code, fatal.data);
    assert_eq!(reset, (ResetCode::MandatoryError, [34, 1, 3]));
    let (_, mut server) = open_pair();
    server.receive_bytes(&mandatory).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Local), Some(Ccid::TFRC));
}

/// RFC 4340, 6.6.6: both ends ask for different CCIDs for the same data, and their Changes cross. For every pattern of
/// lost packets, they agree in the end.
#[test]
fn crossing_changes_end_in_step() {
    for lost in 0..16u32 {
        for (ours, theirs) in [
            (&[Ccid::TFRC][..], &[Ccid::TCP_LIKE][..]),
            (&DEFAULTS, &[Ccid::TFRC, Ccid::TCP_LIKE]),
            (&[Ccid::TFRC, Ccid::TCP_LIKE], &DEFAULTS),
            (&[Ccid::TFRC], &[Ccid::TFRC]),
        ] {
            let (mut client, mut server) = open_with(Ccid::TCP_LIKE);
            client.negotiation.change_ccid(Location::Local, ours);
            server.negotiation.change_ccid(Location::Remote, theirs);
            for round in 0..2 {
                let now = 20_000 + 1_000 * round;
                let there = client.send(at(now), PacketType::Ack);
                let back = server.send(at(now), PacketType::Ack);
                if lost >> (2 * round) & 1 == 0 {
                    server.receive(&there).unwrap();
                }
                if lost >> (2 * round + 1) & 1 == 0 {
                    client.receive(&back).unwrap();
                }
            }
            settle(&mut client, &mut server, 30_000);
            assert_in_step(
                &client,
                &server,
                &format!("{ours:?} and {theirs:?}, lost {lost:b}"),
            );
        }
    }
}

/// RFC 4340, 6.6.6: a copy of a Change that was answered long ago looks like one that crosses ours. Its sender has not
/// received our Change and accepts the earlier answer, so we keep asking.
#[test]
fn a_copy_of_an_answered_change_is_not_the_answer_to_ours() {
    let (mut client, mut server) = open_with(Ccid::TCP_LIKE);
    client
        .negotiation
        .change_ccid(Location::Local, &[Ccid::TFRC, Ccid::TFRC_SP]);
    let change = client.send(at(20_000), PacketType::Ack);
    server.receive(&change).unwrap();
    let confirm = server.send(at(20_100), PacketType::Ack);
    let again = client.send(at(20_500), PacketType::Ack);
    client.receive(&confirm).unwrap();
    assert_eq!(client.negotiation.ccid(Location::Local), Some(Ccid::TFRC));
    server
        .negotiation
        .change_ccid(Location::Remote, &[Ccid::TFRC_SP]);
    server.send(at(20_600), PacketType::Ack);
    server.receive(&again).unwrap();
    assert_eq!(
        server.negotiation.ccid(Location::Remote),
        Some(Ccid::TFRC_SP)
    );
    server.send(at(20_700), PacketType::Ack);
    settle(&mut client, &mut server, 30_000);
    assert_in_step(&client, &server, "after a late copy");
    assert_eq!(
        client.negotiation.ccid(Location::Local),
        Some(Ccid::TFRC_SP)
    );
}

/// RFC 4340, 6.3.1: two ends differ because a Confirm was lost, and their Changes cross with nothing in common. They do
/// not swap their values.
#[test]
fn ends_that_differ_do_not_swap() {
    let (mut client, mut server) = open_with(Ccid::TFRC);
    server
        .negotiation
        .change_ccid(Location::Local, &[Ccid::TCP_LIKE]);
    let change = server.send(at(20_000), PacketType::Ack);
    client.receive(&change).unwrap();
    client.send(at(20_100), PacketType::Ack);
    assert_eq!(
        client.negotiation.ccid(Location::Remote),
        Some(Ccid::TCP_LIKE)
    );
    client
        .negotiation
        .change_ccid(Location::Remote, &[Ccid::TFRC]);
    let there = client.send(at(20_500), PacketType::Ack);
    let back = server.send(at(20_500), PacketType::Ack);
    server.receive(&there).unwrap();
    client.receive(&back).unwrap();
    settle(&mut client, &mut server, 30_000);
    assert_in_step(&client, &server, "after a crossing with nothing in common");
}

/// RFC 4340, 6.3.1 and 6.6.8: an end changed with a Confirm that was lost, and then asks for the value that the other
/// end still has. It accepts the other's value instead of resetting.
#[test]
fn a_lost_confirm_is_no_wrong_choice() {
    let (mut client, mut server) = open_with(Ccid::TCP_LIKE);
    client
        .negotiation
        .change_ccid(Location::Local, &[Ccid::TFRC]);
    let change = client.send(at(20_000), PacketType::Ack);
    server.receive(&change).unwrap();
    server.send(at(20_100), PacketType::Ack);
    server
        .negotiation
        .change_ccid(Location::Remote, &[Ccid::TCP_LIKE]);
    let change = server.send(at(20_300), PacketType::Ack);
    client.receive(&change).unwrap();
    let confirm = client.send(at(20_400), PacketType::Ack);
    server.receive(&confirm).unwrap();
    assert_eq!(
        server.negotiation.ccid(Location::Remote),
        Some(Ccid::TCP_LIKE)
    );
    settle(&mut client, &mut server, 30_000);
    assert_in_step(&client, &server, "after a lost Confirm");
}

/// RFC 4340, 10.3: in mid-connection, options of a CCID that was asked for but is not in force are unknown: they get an
/// empty Confirm, or Reset 6 with Mandatory. Once the CCID is in force, they are known.
#[test]
fn features_of_a_ccid_follow_its_confirm() {
    let loss_event_rate = [34, 4, 192, 1];
    let (_, mut server) = open_with(Ccid::TCP_LIKE);
    server
        .negotiation
        .change_ccid(Location::Remote, &[Ccid::TFRC]);
    let changes = server.send(at(20_000), PacketType::Ack);
    let asked = |head: &[u8], number| {
        options(head).iter().any(|option| matches!(option,
            DccpOption::ChangeL { feature, .. } | DccpOption::ChangeR { feature, .. } if *feature == number))
    };
    assert!(asked(&changes, 1) && !asked(&changes, 192));
    server.receive_bytes(&loss_event_rate).unwrap();
    let (feature, value) = (192, &[][..]);
    let empty = DccpOption::ConfirmL { feature, value };
    assert_eq!(options(&server.send(at(20_100), PacketType::Ack)), [empty]);
    let mandatory = [&[1], &loss_event_rate[..]].concat();
    let fatal = server.clone().receive_bytes(&mandatory).unwrap_err();
    assert_eq!(fatal.code, ResetCode::MandatoryError);
    let confirm = [33, 5, 1, 3, 3];
    server.receive_bytes(&confirm).unwrap();
    assert_eq!(server.negotiation.ccid(Location::Remote), Some(Ccid::TFRC));
    server.receive_bytes(&mandatory).unwrap();
    assert_eq!(
        server.current(Feature::SendLossEventRate, Location::Local),
        1
    );
}

/// RFC 4340, 6.6.4: both ends ask for another CCID while a packet is always on its way in each direction. Each received
/// copy makes the end ask again for the features that depend on the CCID. The Confirm of the CCID does not acknowledge
/// these newer Changes, but still counts.
#[test]
fn changes_end_with_packets_always_under_way() {
    let (mut client, mut server) = open_with(Ccid::TFRC);
    client
        .negotiation
        .change_ccid(Location::Remote, &[Ccid::TCP_LIKE]);
    server
        .negotiation
        .change_ccid(Location::Remote, &[Ccid::TCP_LIKE, Ccid::TFRC]);
    let mut under_way = None;
    for step in 0..40 {
        let now = at(20_000 + 500 * step);
        let sent = (
            client.send(now, PacketType::Ack),
            server.send(now, PacketType::Ack),
        );
        if let Some((there, back)) = under_way.replace(sent) {
            server.receive(&there).unwrap();
            client.receive(&back).unwrap();
        }
    }
    assert_in_step(&client, &server, "with packets always under way");
    for location in Location::BOTH {
        assert_eq!(client.negotiation.ccid(location), Some(Ccid::TCP_LIKE));
    }
}

/// RFC 4340, 6.6.4 and 7.4: an Ack names the greatest number received, which may be after a Change that is still on its
/// way. The refusal of an earlier Change is then taken for the answer to the latest. If the latest is granted after
/// all, both ends hold the same value in the end.
#[test]
fn a_confirm_that_passes_for_a_later_one_is_set_right() {
    let (mut a, mut b) = open_with(Ccid::TCP_LIKE);
    a.negotiation.change_ccid(Location::Local, &[Ccid::TFRC]);
    let change = a.send(at(20_000), PacketType::Ack);
    b.receive(&change).unwrap();
    // With CCID 3 goes a Change for no Ack Vectors. The Confirm is lost, and that Change is repeated without it.
    b.send(at(20_100), PacketType::Ack);
    let early = b.send(at(21_000), PacketType::Ack);
    let change = a.send(at(22_000), PacketType::Ack);
    b.receive(&change).unwrap();
    let late = b.send(at(22_100), PacketType::Ack);
    // A packet that was sent after both overtakes them.
    let sync_ack = b.send(at(22_100), PacketType::SyncAck);
    a.receive(&sync_ack).unwrap();
    a.receive(&early).unwrap();
    let refusal = a.send(at(22_200), PacketType::Ack);
    a.receive(&late).unwrap();
    b.receive(&refusal).unwrap();
    settle(&mut a, &mut b, 30_000);
    assert_in_step(&a, &b, "overtaken");
}
