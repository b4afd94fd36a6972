//! CCIDs that change during a connection, and paths that change below it (RFC 4340, 10, 10.3 and 10.5).

use fairwire_units::Duration;
use fairwire_wire::{
    AckEntry, Ccid, DccpOption, EntryState, Kind, RawOption, ResetCode, option_type,
};
use proptest::prelude::*;

use super::kit::{Dice, Fault, Pair, Wire, data, ms};
use crate::ccid::tests::all as all_ccids;
use crate::ccid::{CcidProfile, ccid_profile};
use crate::{ChangeCcidError, Config, ConnectionId, Direction, Event, Fate};

/// A configuration that prefers this CCID, accepts all others, and allows changes at any time.
fn config(ccid: Ccid) -> Config {
    let mut list = all_ccids();
    list.retain(|&other| other != ccid);
    list.insert(0, ccid);
    let mut config = Config::default();
    config.send_ccids = list.clone();
    config.receive_ccids = list;
    config.ccid_change_interval = Duration::ZERO.into();
    config.report_fates = true;
    config
}

const BOTH: [Direction; 2] = [Direction::Send, Direction::Receive];

/// Returns the CCIDs for the data that one side sends and for the data that it receives.
fn ccids(pair: &Pair, side: usize, id: ConnectionId) -> (Option<Ccid>, Option<Ccid>) {
    let stats = pair.ends[side].stats(id).unwrap();
    (stats.send_ccid, stats.receive_ccid)
}

fn told_of(pair: &Pair, side: usize) -> Vec<(Direction, Ccid)> {
    let events = pair.told(side).into_iter();
    let told = events.filter_map(|event| match event {
        Event::Ccid { direction, ccid } => Some((direction, ccid)),
        _ => None,
    });
    told.collect()
}

/// Asserts that each of the `given` datagrams of a side has exactly one fate.
fn assert_fates(pair: &Pair, side: usize, given: usize, what: &str) {
    let events = pair.told(side).into_iter();
    let mut ids: Vec<_> = events
        .filter_map(|event| match event {
            Event::Fate { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), given, "{what}: side {side}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), given, "{what}: side {side}, each once");
}

/// RFC 4340, 10: a connection can change from each CCID to each other one under load.
///
/// The sender or the receiver, client or server, asks for it, with 2 % loss and data both ways. The change completes
/// and both ends get the event. Data continues at a fair rate, no Sync is needed, and each datagram has one fate.
#[test]
fn every_change_goes_through_under_load() {
    for from in all_ccids() {
        for to in all_ccids().into_iter().filter(|&to| to != from) {
            for (side, direction) in [(0, BOTH[0]), (0, BOTH[1]), (1, BOTH[0]), (1, BOTH[1])] {
                let what = format!("{from} to {to}, side {side}, {direction:?}");
                let mut pair = Pair::new();
                pair.record = false;
                let (client, server) = pair.open(config(from), config(from));
                let ids = [client, server];
                let mut dice = Dice::new(u64::from(from.number()) * 40 + u64::from(to.number()));
                pair.rule(move |_| dice.chance(20).then_some(Fault::Lose));
                pair.bottleneck = Some((ms(2), 30));
                pair.saturate_both(ids, 500, ms(3_000));
                let asked = pair.ends[side].change_ccid(pair.now, ids[side], direction, &[to]);
                assert_eq!(asked, Ok(()), "{what}");
                let again = pair.ends[side].change_ccid(pair.now, ids[side], direction, &[to]);
                assert_eq!(again, Err(ChangeCcidError::InProgress), "{what}");
                pair.saturate_both(ids, 500, ms(2_000));
                let sender = if direction == Direction::Send {
                    side
                } else {
                    1 - side
                };
                for (end, id) in [(sender, ids[sender]), (1 - sender, ids[1 - sender])] {
                    let expected = if end == sender {
                        (Some(to), Some(from))
                    } else {
                        (Some(from), Some(to))
                    };
                    assert_eq!(ccids(&pair, end, id), expected, "{what}: side {end}");
                    let direction = if end == sender {
                        Direction::Send
                    } else {
                        Direction::Receive
                    };
                    assert_eq!(told_of(&pair, end), [(direction, to)], "{what}: side {end}");
                }
                let before = pair.ends[1 - sender].stats(ids[1 - sender]).unwrap();
                pair.saturate_both(ids, 500, ms(10_000));
                for (end, id) in ids.into_iter().enumerate() {
                    let stats = pair.ends[end].stats(id).unwrap();
                    assert_eq!(
                        (stats.syncs_sent, stats.discarded),
                        (0, 0),
                        "{what}: {stats:?}"
                    );
                    if end != sender {
                        // With 2 % loss at least eight packets leave per round trip of some 60 ms. A quarter of that
                        // shows that the new half is not stuck.
                        let got = stats.data_received - before.data_received;
                        assert!(got > 300, "{what}: {got}");
                    }
                }
                pair.ends[0].close(pair.now, client);
                pair.run_for(ms(60_000));
                for (end, id) in ids.into_iter().enumerate() {
                    let stats = pair.ends[end].stats(id).unwrap();
                    let given = stats.data_sent + stats.refused + stats.expired;
                    assert_fates(&pair, end, given as usize, &what);
                }
            }
        }
    }
}

/// When a sender changes its CCID, packets in flight get the fate `Sent`, each once; late feedback is ignored.
#[test]
fn what_is_in_flight_is_settled_once() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(Ccid::TCP_LIKE), config(Ccid::TCP_LIKE));
    for _ in 0..3 {
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
    }
    pair.drain();
    // The server's Change is on its way to the client while the data is on its way to the server.
    let (now, direction) = (pair.now, Direction::Receive);
    let asked = pair.ends[1].change_ccid(now, server, direction, &[Ccid::TFRC]);
    assert_eq!(asked, Ok(()));
    pair.run_for(ms(30));
    let fates: Vec<_> = pair
        .told(0)
        .into_iter()
        .filter(|e| matches!(e, Event::Fate { .. }))
        .collect();
    assert_eq!(fates.len(), 3);
    assert!(fates.iter().all(|e| matches!(
        e,
        Event::Fate {
            fate: Fate::Sent,
            ..
        }
    )));
    let stats = pair.ends[0].stats(client).unwrap();
    assert_eq!(
        (stats.send_ccid, stats.flight_packets),
        (Some(Ccid::TFRC), 0)
    );
    pair.run_for(ms(500));
    let stats = pair.ends[0].stats(client).unwrap();
    assert_eq!(
        (stats.acknowledged, stats.lost),
        (0, 0),
        "Ack Vectors that were under way"
    );
    assert_fates(&pair, 0, 3, "late feedback");
    assert_eq!(std::iter::from_fn(|| pair.ends[1].recv(server)).count(), 3);
}

/// RFC 4340, 10.5: frequent changes of the CCID do not evade congestion control.
///
/// All data is lost. The sender sends no more than a new connection could each time: an initial window of four packets,
/// or four packets per round trip where the CCID has a rate.
#[test]
fn changing_often_is_no_way_round_congestion_control() {
    let mut pair = Pair::new();
    pair.record = false;
    let mut quick = config(Ccid::TCP_LIKE);
    quick.idle_timeout = Duration::from_secs(600).into();
    let (client, server) = pair.open(quick.clone(), quick);
    pair.saturate(0, client, 500, ms(20));
    pair.lose(|wire| wire.from == 0 && !wire.transmit.payload.is_empty());
    let before = pair.ends[0].stats(client).unwrap().data_sent;
    let (mut changes, mut round_trips) = (0, 0);
    for round in 0..100 {
        let to = if round % 2 == 0 {
            Ccid::TFRC
        } else {
            Ccid::TCP_LIKE
        };
        let (now, direction) = (pair.now, Direction::Send);
        if pair.ends[0]
            .change_ccid(now, client, direction, &[to])
            .is_ok()
        {
            changes += 1;
        }
        pair.saturate(0, client, 500, ms(80));
        round_trips += 2;
    }
    let after = pair.ends[0].stats(client).unwrap().data_sent;
    assert!(changes > 20, "{changes}");
    assert_eq!(ccids(&pair, 0, client).0, ccids(&pair, 1, server).1);
    // With 500 bytes the initial window is four packets (RFC 3390).
    let bound = 4 * (changes + round_trips);
    assert!(after - before <= bound, "{} beyond {bound}", after - before);
}

/// RFC 4340, 10.5: a changed CCID stays for the configured time, whichever end asks, and may change after that.
#[test]
fn a_changed_ccid_stays_for_a_while() {
    let mut slow = config(Ccid::TCP_LIKE);
    slow.ccid_change_interval = Duration::from_secs(60).into();
    let mut pair = Pair::new();
    let (client, server) = pair.open(slow, config(Ccid::TCP_LIKE));
    let change = |pair: &mut Pair, side: usize, direction, to| {
        let id = [client, server][side];
        pair.ends[side].change_ccid(pair.now, id, direction, &[to])
    };
    assert_eq!(change(&mut pair, 0, Direction::Send, Ccid::TFRC), Ok(()));
    pair.run_for(ms(1_000));
    assert_eq!(
        ccids(&pair, 0, client),
        (Some(Ccid::TFRC), Some(Ccid::TCP_LIKE))
    );
    let refused = change(&mut pair, 0, Direction::Send, Ccid::TCP_LIKE);
    assert!(
        matches!(refused, Err(ChangeCcidError::TooSoon { .. })),
        "{refused:?}"
    );
    // The server allows the change, but the client does not.
    assert_eq!(
        change(&mut pair, 1, Direction::Receive, Ccid::TCP_LIKE),
        Ok(())
    );
    pair.run_for(ms(1_000));
    assert_eq!(
        ccids(&pair, 0, client),
        (Some(Ccid::TFRC), Some(Ccid::TCP_LIKE))
    );
    assert_eq!(
        told_of(&pair, 1),
        [
            (Direction::Receive, Ccid::TFRC),
            (Direction::Receive, Ccid::TFRC)
        ]
    );
    pair.run_for(Duration::from_secs(60));
    assert_eq!(
        change(&mut pair, 0, Direction::Send, Ccid::TCP_LIKE),
        Ok(())
    );
    pair.run_for(ms(1_000));
    assert_eq!(
        ccids(&pair, 0, client),
        (Some(Ccid::TCP_LIKE), Some(Ccid::TCP_LIKE))
    );
    assert_eq!(
        ccids(&pair, 1, server),
        (Some(Ccid::TCP_LIKE), Some(Ccid::TCP_LIKE))
    );
}

/// A change that is impossible is refused by the call that asks for it.
#[test]
fn impossible_changes_are_refused() {
    let mut pair = Pair::new();
    let client = pair.connect(config(Ccid::TCP_LIKE), config(Ccid::TCP_LIKE));
    let ask = |pair: &mut Pair, list: &[Ccid]| {
        pair.ends[0].change_ccid(pair.now, client, Direction::Send, list)
    };
    assert_eq!(ask(&mut pair, &[Ccid::TFRC]), Err(ChangeCcidError::NotOpen));
    pair.run_for(ms(500));
    assert_eq!(ask(&mut pair, &[]), Err(ChangeCcidError::NoCcid));
    let ccid = Ccid::new(247);
    let known = crate::ccid::list_ccids("or", |_| true);
    let unknown = Err(ChangeCcidError::UnknownCcid { ccid, known });
    assert_eq!(ask(&mut pair, &[Ccid::TFRC, ccid]), unknown);
    assert_eq!(
        ask(&mut pair, &[Ccid::TCP_LIKE]),
        Ok(()),
        "in force already: nothing to do"
    );
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(500));
    assert_eq!(ask(&mut pair, &[Ccid::TFRC]), Err(ChangeCcidError::NotOpen));
}

/// Adversarial item 23; RFC 4340, 10.3: options of a CCID that is not in force are ignored.
///
/// While a change is negotiated, these are the options of the new CCID; after Mandatory they cause Reset 6. Once it is
/// in force, options of the old CCID are ignored even after Mandatory.
#[test]
fn item_23_options_of_a_ccid_that_is_not_in_force() {
    let receive_rate = DccpOption::ReceiveRate(0);
    for (changed, fatal) in [(false, true), (true, false)] {
        let mut pair = Pair::new();
        let (client, _) = pair.open(config(Ccid::TCP_LIKE), config(Ccid::TCP_LIKE));
        if !changed {
            pair.lose(|wire| wire.from == 0);
        }
        pair.ends[0]
            .change_ccid(pair.now, client, Direction::Send, &[Ccid::TFRC])
            .unwrap();
        pair.run_for(ms(300));
        assert_eq!(
            ccids(&pair, 0, client).0,
            Some(if changed { Ccid::TFRC } else { Ccid::TCP_LIKE })
        );
        let ignored = pair.inject(
            1,
            1,
            |ack| Kind::Ack { ack },
            |encoder| {
                encoder.option(&receive_rate).unwrap();
            },
        );
        assert!(ignored.iter().all(|wire| wire.reset().is_none()));
        let answers = pair.inject(
            1,
            2,
            |ack| Kind::Ack { ack },
            |encoder| {
                encoder.option(&DccpOption::Mandatory).unwrap();
                encoder.option(&receive_rate).unwrap();
            },
        );
        let reset = answers.iter().find_map(Wire::reset);
        let expected = (ResetCode::MandatoryError, [194, 0, 0]);
        assert_eq!(reset, fatal.then_some(expected), "changed: {changed}");
    }
}

/// Adversarial item 23: the longest possible list of CCIDs is searched with bounded work.
#[test]
fn item_23_the_longest_list_of_ccids() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(Ccid::TCP_LIKE), config(Ccid::TCP_LIKE));
    let mut list: Vec<u8> = (5..=255).collect();
    list.push(3);
    let answers = pair.inject(
        0,
        1,
        |ack| Kind::Ack { ack },
        |encoder| {
            encoder
                .option(&DccpOption::ChangeR {
                    feature: 1,
                    value: &list,
                })
                .unwrap();
        },
    );
    assert_eq!(ccids(&pair, 1, server).0, Some(Ccid::TFRC));
    assert!(answers.iter().all(|wire| wire.head.len() < 64));
    assert_eq!(
        ccids(&pair, 0, client).1,
        Some(Ccid::TCP_LIKE),
        "that end has not asked"
    );
}

/// RFC 4340, 11.4: a new receiving half that begins with a late packet reports nothing as missing.
///
/// Its Ack Vector does not cover the packets that the previous half has already received.
#[test]
fn a_ccid_that_changes_with_a_late_packet_reports_nothing_missing() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(Ccid::TFRC), config(Ccid::TFRC));
    pair.bottleneck = Some((ms(5), 30));
    pair.saturate(0, client, 500, ms(1_000));
    // From the answer to the server's Change on, the test delivers the client's packets itself.
    let is_answer = |wire: &Wire| {
        let of_ccid =
            |raw: RawOption<'_>| raw.option_type == option_type::CONFIRM_L && raw.data[0] == 1;
        wire.from == 0 && wire.packet().options.iter().any(of_ccid)
    };
    let mut answered = false;
    pair.rule(move |wire| {
        answered |= is_answer(wire);
        (answered && wire.from == 0).then_some(Fault::Lose)
    });
    let asked = pair.ends[1].change_ccid(pair.now, server, Direction::Receive, &[Ccid::TCP_LIKE]);
    assert_eq!(asked, Ok(()));
    pair.saturate(0, client, 500, ms(150));
    let answer = pair.log.iter().position(is_answer).unwrap();
    let held = pair.log[answer..].iter().filter(|wire| wire.from == 0);
    let held: Vec<Wire> = held.cloned().collect();
    let begun = pair.log.len();
    for late in [1, 2, 0, 3] {
        pair.deliver(1, &held[late]);
    }
    assert_eq!(ccids(&pair, 1, server).1, Some(Ccid::TCP_LIKE));
    pair.run_for(ms(250));
    let told = pair.log[begun..].iter().filter(|wire| wire.from == 1);
    let mut told = told.flat_map(|wire| wire.packet().options.iter());
    let entries = told.find_map(|raw| match DccpOption::decode(raw) {
        Ok(DccpOption::AckVector { entries, .. }) => Some(entries.iter().collect::<Vec<_>>()),
        _ => None,
    });
    // The entry is for the last delivered packet, the only one after the change.
    assert_eq!(entries, Some(vec![AckEntry::new(EntryState::Received, 1)]));
}

/// RFC 4340, 10.5: when the path changes, congestion control starts again in both halves of an end.
///
/// The window is the initial one, the loss history is empty, and the round-trip time is unknown. Data continues.
#[test]
fn a_new_path_begins_congestion_control_again() {
    for ccid in all_ccids() {
        let mut pair = Pair::new();
        pair.record = false;
        let (client, server) = pair.open(config(ccid), config(ccid));
        let mut dice = Dice::new(77);
        pair.rule(move |_| dice.chance(5).then_some(Fault::Lose));
        pair.bottleneck = Some((ms(1), 50));
        pair.saturate_both([client, server], 500, ms(5_000));
        let before = pair.ends[0].stats(client).unwrap();
        pair.ends[0].path_changed(pair.now, client);
        let after = pair.ends[0].stats(client).unwrap();
        assert!(before.allowed_rate > after.allowed_rate, "{ccid}");
        assert_eq!((after.flight_packets, after.srtt), (0, None), "{ccid}");
        if ccid == Ccid::TCP_LIKE {
            assert_eq!(
                after.gauges.cwnd_packets,
                Some(3.0),
                "RFC 3390 for packets of 1,436 bytes"
            );
        } else if !ccid_profile(ccid).is_some_and(CcidProfile::acknowledges_packets) {
            assert!(before.loss_events_seen > 0, "{ccid}");
            assert_eq!(after.loss_events_seen, 0, "{ccid}");
        }
        pair.rule(|_| None);
        let received = [pair.ends[0].stats(client), pair.ends[1].stats(server)];
        pair.saturate_both([client, server], 500, ms(5_000));
        for (side, id) in [(0, client), (1, server)] {
            let stats = pair.ends[side].stats(id).unwrap();
            let got = stats.data_received - received[side].unwrap().data_received;
            // In five seconds the path carries 5,000 packets, and CCID 4 sends 500, one per 10 ms at most (RFC 5622,
            // 5). A restart costs at most half of that time.
            let enough = if ccid == Ccid::TFRC_SP { 250 } else { 1_000 };
            assert!(got > enough, "{ccid} side {side}: {got}");
            assert_eq!(stats.discarded, 0, "{ccid} side {side}");
        }
        pair.ends[0].close(pair.now, client);
        pair.run_for(ms(60_000));
        let stats = pair.ends[0].stats(client).unwrap();
        assert_fates(&pair, 0, (stats.data_sent + stats.refused) as usize, "path");
        assert_eq!(before.send_ccid, after.send_ccid);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any changes of CCIDs, by both ends and at any time, end with both ends in agreement.
    ///
    /// Packets are lost, copied and delayed meanwhile. After that nobody was reset, data flows both ways, and each
    /// datagram has had one fate.
    #[test]
    fn changes_at_any_time_end_in_step(
        seed in any::<u64>(),
        lossy in 0u64..300,
        first in 0usize..8,
        wishes in proptest::collection::vec(
            (0usize..2, any::<bool>(), proptest::collection::vec(0usize..8, 1..3), 0u64..400),
            1..24,
        ),
    ) {
        let numbers = all_ccids();
        let pick = |index: usize| numbers[index % numbers.len()];
        let mut pair = Pair::new();
        pair.record = false;
        let mut patient = config(pick(first));
        patient.idle_timeout = Duration::from_secs(600).into();
        let (client, server) = pair.open(patient.clone(), patient);
        let ids = [client, server];
        let mut dice = Dice::new(seed);
        pair.rule(move |_| {
            if dice.chance(lossy) {
                return Some(Fault::Lose);
            }
            match dice.next() >> 60 {
                0 => Some(Fault::Copy),
                1 => Some(Fault::Delay(ms(30))),
                2 => Some(Fault::Mark),
                _ => None,
            }
        });
        for (side, sends, list, wait) in wishes {
            let direction = BOTH[usize::from(sends)];
            let list: Vec<Ccid> = list.into_iter().map(pick).collect();
            let asked = pair.ends[side].change_ccid(pair.now, ids[side], direction, &list);
            prop_assert!(matches!(asked, Ok(()) | Err(ChangeCcidError::InProgress)), "{:?}", asked);
            pair.bottleneck = Some((ms(3), 20));
            pair.saturate_both(ids, 300, ms(wait));
        }
        pair.rule(|_| None);
        pair.saturate_both(ids, 300, Duration::from_secs(200));
        for side in 0..2 {
            let closed = pair.told(side).into_iter().find(|e| matches!(e, Event::Closed { .. }));
            prop_assert_eq!(closed, None, "side {}", side);
        }
        let (there, back) = (ccids(&pair, 0, client), ccids(&pair, 1, server));
        prop_assert_eq!(there, (back.1, back.0));
        let received = [0, 1].map(|side| pair.ends[side].stats(ids[side]).unwrap().data_received);
        pair.saturate_both(ids, 300, Duration::from_secs(10));
        for (side, id) in ids.into_iter().enumerate() {
            let stats = pair.ends[side].stats(id).unwrap();
            prop_assert!(stats.data_received > received[side] + 100, "{} {:?}", side, stats);
        }
        pair.ends[0].close(pair.now, client);
        pair.run_for(Duration::from_secs(100));
        for (side, id) in ids.into_iter().enumerate() {
            let stats = pair.ends[side].stats(id).unwrap();
            let given = stats.data_sent + stats.refused + stats.expired;
            assert_fates(&pair, side, given as usize, "any time");
        }
    }
}
