//! Datagrams with a deadline, a priority or a group, and the queries about the send queue.

use fairwire_kit::{Dice, Fault, Pair, config_of, data, kind_of, ms};
use fairwire_units::Instant;
use fairwire_wire::PacketType;

use fairwire_proto::{
    Config, ConnectionId, DatagramId, Event, Fate, Payload, QueuePolicy, SendError, SendOptions,
    Waiting,
};

/// Settings that report fates, under one CCID.
pub(crate) fn with_fates(ccid: u8) -> Config {
    let mut config = config_of(ccid);
    config.report_fates = true;
    config.check_feedback = false;
    config
}

/// Opens a connection whose sender has its window full: nothing more leaves until the link is mended.
fn stalled(config: Config) -> (Pair, ConnectionId, u64) {
    let mut pair = Pair::new();
    let (client, _) = pair.open(config.clone(), config);
    pair.lose(|wire| wire.from == 1);
    let mut filling = 0;
    while pair.ends[0].stats(client).unwrap().queued_packets == 0 {
        pair.ends[0].send(pair.now, client, data(500)).unwrap();
        pair.drain();
        filling += 1;
        assert!(filling < 100, "a window is limited");
    }
    // The one that waits would be in the way of those that the test sends.
    pair.ends[0].purge(pair.now, client);
    pair.drain();
    (pair, client, filling)
}

pub(crate) fn tagged(tag: u64) -> Payload {
    Payload::synthetic(500, tag)
}

/// Returns the fates with their times, of datagrams from `first` on.
pub(crate) fn fates(pair: &Pair, first: u64) -> Vec<(Instant, u64, Fate)> {
    let events = pair.events[0].iter();
    events
        .filter_map(|(at, _, event)| match event {
            Event::Fate { id, fate } if id.0 >= first => Some((*at, id.0, *fate)),
            _ => None,
        })
        .collect()
}

/// Returns the ids of data that left, in order, from `first` on.
pub(crate) fn left(pair: &Pair, first: u64) -> Vec<u64> {
    let ids = pair.log.iter().filter_map(|wire| wire.transmit.id);
    ids.map(|DatagramId(id)| id)
        .filter(|&id| id >= first)
        .collect()
}

/// A datagram that cannot leave by its deadline is dropped. Its fate is reported at the deadline, by a timer, although
/// nothing is sent or received then, and it never leaves.
#[test]
fn a_deadline_is_kept_and_told_in_time() {
    let (mut pair, client, first) = stalled(with_fates(2));
    let begun = pair.now;
    let mut options = SendOptions::default();
    options.deadline = Some(begun + ms(50));
    pair.ends[0]
        .send_with(begun, client, tagged(0), options)
        .unwrap();
    options.deadline = Some(begun + ms(30));
    pair.ends[0]
        .send_with(begun, client, tagged(1), options)
        .unwrap();
    pair.ends[0].send(begun, client, tagged(2)).unwrap();
    pair.run_for(ms(60));
    let told: Vec<_> = fates(&pair, first);
    let just_after = |after: u64| begun + ms(after) + fairwire_units::Duration::from_nanos(1);
    assert_eq!(
        told,
        [
            (just_after(30), first + 1, Fate::Expired),
            (just_after(50), first, Fate::Expired)
        ]
    );
    pair.rule(|_| None);
    pair.run_for(ms(20_000));
    assert_eq!(left(&pair, first), [first + 2]);
    assert_eq!(pair.ends[0].stats(client).unwrap().expired, 2);
}

/// At its deadline a datagram may still leave; a deadline in the past is refused when it is given.
#[test]
fn a_deadline_includes_its_moment() {
    let mut pair = Pair::new();
    let config = with_fates(2);
    let (client, _) = pair.open(config.clone(), config);
    let mut options = SendOptions::default();
    options.deadline = Some(pair.now);
    let id = pair.ends[0]
        .send_with(pair.now, client, tagged(0), options)
        .unwrap();
    pair.drain();
    assert_eq!(left(&pair, 0), [id.0]);
    let late = pair.now + fairwire_units::Duration::from_nanos(1);
    let refused = pair.ends[0].send_with(late, client, tagged(1), options);
    assert_eq!(refused, Err(SendError::DeadlinePassed));
    let text = SendError::DeadlinePassed.to_string();
    assert!(text.contains("deadline") && text.contains("drop"), "{text}");
}

/// While urgent datagrams wait, no other one leaves; those of one priority leave in order.
#[test]
fn urgent_datagrams_leave_first() {
    let (mut pair, client, first) = stalled(with_fates(2));
    let mut options = SendOptions::default();
    for priority in [0, 2, -1, 2, 1, 0] {
        options.priority = priority;
        pair.ends[0]
            .send_with(pair.now, client, tagged(0), options)
            .unwrap();
    }
    pair.rule(|_| None);
    pair.run_for(ms(20_000));
    let order: Vec<_> = left(&pair, first).iter().map(|id| id - first).collect();
    assert_eq!(order, [1, 3, 4, 0, 5, 2]);
}

/// When one datagram of a video frame expires, the rest of the frame is dropped and refused. Other frames are not
/// affected.
#[test]
fn an_expired_member_breaks_its_group() {
    let (mut pair, client, first) = stalled(with_fates(2));
    let now = pair.now;
    let mut options = SendOptions::default();
    for (group, deadline) in [(7, None), (8, None), (7, Some(now + ms(20))), (7, None)] {
        (options.group, options.deadline) = (Some(group), deadline);
        pair.ends[0]
            .send_with(now, client, tagged(group), options)
            .unwrap();
    }
    pair.run_for(ms(25));
    let told: Vec<_> = fates(&pair, first)
        .iter()
        .map(|t| (t.1 - first, t.2))
        .collect();
    assert_eq!(
        told,
        [
            (2, Fate::Expired),
            (0, Fate::GroupBroken),
            (3, Fate::GroupBroken)
        ]
    );
    let again = pair.ends[0].send_with(pair.now, client, tagged(7), options);
    assert_eq!(again, Err(SendError::GroupBroken { group: 7 }));
    let text = again.unwrap_err().to_string();
    assert!(
        text.contains("group 7") && text.contains("next group"),
        "{text}"
    );
    options.group = Some(8);
    assert!(
        pair.ends[0]
            .send_with(pair.now, client, tagged(8), options)
            .is_ok()
    );
    assert_eq!(pair.ends[0].stats(client).unwrap().group_broken, 2);
}

/// When the peer reports a member lost, those that still wait are dropped, so that no capacity is spent on a frame that
/// cannot be shown.
#[test]
fn a_lost_member_breaks_its_group() {
    let mut pair = Pair::new();
    let config = with_fates(2);
    let (client, _) = pair.open(config.clone(), config);
    let mut options = SendOptions::default();
    options.group = Some(1);
    let lost = pair.ends[0]
        .send_with(pair.now, client, tagged(0), options)
        .unwrap();
    pair.rule(move |wire| (wire.transmit.id == Some(lost)).then_some(Fault::Lose));
    pair.drain();
    // Enough data to fill the window, and behind it the rest of the group.
    for _ in 0..20 {
        pair.ends[0].send(pair.now, client, data(500)).unwrap();
    }
    options.priority = -1;
    let rest = pair.ends[0]
        .send_with(pair.now, client, tagged(0), options)
        .unwrap();
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Nothing)
    );
    pair.run_for(ms(2_000));
    let told: Vec<_> = fates(&pair, 0).iter().map(|t| (t.1, t.2)).collect();
    assert!(told.contains(&(lost.0, Fate::Lost)), "{told:?}");
    assert!(told.contains(&(rest.0, Fate::GroupBroken)), "{told:?}");
    assert!(!left(&pair, 0).contains(&rest.0));
}

/// A frame that is larger than the whole queue is refused as soon as its own first part makes room for it.
#[test]
fn a_group_larger_than_the_queue_breaks() {
    let mut config = with_fates(2);
    config.send_queue.packets = 3;
    config.send_queue.policy = QueuePolicy::DropOldest;
    let (mut pair, client, first) = stalled(config);
    let mut options = SendOptions::default();
    options.group = Some(4);
    let mut sent = Vec::new();
    for _ in 0..5 {
        let id = pair.ends[0].send_with(pair.now, client, tagged(0), options);
        sent.push(id.map(|id| id.0 - first));
    }
    let broken = Err(SendError::GroupBroken { group: 4 });
    assert_eq!(sent, [Ok(0), Ok(1), Ok(2), broken, broken]);
    pair.drain();
    let told: Vec<_> = fates(&pair, first)
        .iter()
        .map(|t| (t.1 - first, t.2))
        .collect();
    let (refused, broken) = (Fate::Refused, Fate::GroupBroken);
    assert_eq!(told, [(0, refused), (1, broken), (2, broken)]);
}

/// Where old datagrams make room for new ones, a new one of a lower priority than all that wait is dropped itself, and
/// the application is told.
#[test]
fn the_newest_is_dropped_if_it_matters_least() {
    let mut config = with_fates(2);
    config.send_queue.packets = 2;
    config.send_queue.policy = QueuePolicy::DropOldest;
    let (mut pair, client, first) = stalled(config);
    let mut options = SendOptions::default();
    options.priority = 1;
    for _ in 0..2 {
        pair.ends[0]
            .send_with(pair.now, client, tagged(0), options)
            .unwrap();
    }
    let low = pair.ends[0].send(pair.now, client, tagged(0)).unwrap();
    pair.drain();
    let told: Vec<_> = fates(&pair, first).iter().map(|t| (t.1, t.2)).collect();
    assert_eq!(told, [(low.0, Fate::Refused)]);
    assert_eq!(pair.ends[0].stats(client).unwrap().queued_packets, 2);
}

/// A queue that refuses does so whatever the priority: what was accepted stays.
#[test]
fn back_pressure_holds_for_every_priority() {
    let mut config = with_fates(2);
    config.send_queue.packets = 1;
    let (mut pair, client, _) = stalled(config);
    pair.ends[0].send(pair.now, client, tagged(0)).unwrap();
    let mut options = SendOptions::default();
    options.priority = 100;
    let refused = pair.ends[0].send_with(pair.now, client, tagged(0), options);
    assert_eq!(refused, Err(SendError::Full));
}

/// A purge drops all that waits, tells the fates, makes room, and refuses the rest of a frame that was cut.
#[test]
fn a_purge_empties_the_queue() {
    let mut config = with_fates(2);
    config.send_queue.packets = 2;
    let (mut pair, client, first) = stalled(config);
    let mut options = SendOptions::default();
    options.group = Some(9);
    pair.ends[0].send(pair.now, client, tagged(0)).unwrap();
    pair.ends[0]
        .send_with(pair.now, client, tagged(0), options)
        .unwrap();
    assert_eq!(
        pair.ends[0].send(pair.now, client, tagged(0)),
        Err(SendError::Full)
    );
    assert_eq!(pair.ends[0].purge(pair.now, client), 2);
    pair.drain();
    let told: Vec<_> = fates(&pair, first)
        .iter()
        .map(|t| (t.1 - first, t.2))
        .collect();
    assert_eq!(told, [(0, Fate::Refused), (1, Fate::Refused)]);
    assert_eq!(pair.told(0).last(), Some(&Event::Writable));
    let again = pair.ends[0].send_with(pair.now, client, tagged(0), options);
    assert_eq!(again, Err(SendError::GroupBroken { group: 9 }));
    assert_eq!(pair.ends[0].purge(pair.now, client), 0);
}

/// The age of the queue is that of its oldest datagram, whatever leaves next.
#[test]
fn the_age_of_the_queue() {
    let (mut pair, client, _) = stalled(with_fates(2));
    assert_eq!(pair.ends[0].queue_age(pair.now, client), None);
    pair.ends[0].send(pair.now, client, tagged(0)).unwrap();
    pair.run_for(ms(7));
    let mut options = SendOptions::default();
    options.priority = 1;
    pair.ends[0]
        .send_with(pair.now, client, tagged(0), options)
        .unwrap();
    pair.run_for(ms(3));
    let age = pair.ends[0].queue_age(pair.now, client);
    assert_eq!(age, Some(ms(10).into()));
}

/// The sender says what it waits for: the handshake, the window, the rate, the peer's host, or nothing.
#[test]
fn what_the_sender_waits_for() {
    let mut pair = Pair::new();
    let config = with_fates(2);
    let client = pair.connect(config.clone(), config);
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Nothing)
    );
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    pair.drain();
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Peer)
    );
    pair.run_for(ms(500));
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Nothing)
    );
    let (mut pair, client, _) = stalled(with_fates(2));
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    pair.drain();
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Window)
    );
    let mut pair = Pair::new();
    let (client, _) = pair.open(with_fates(3), with_fates(3));
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    pair.drain();
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Pacing)
    );
    // RFC 4340, 11.7.2: nothing is sent while the peer reports Drop Code 0.
    let mut pair = Pair::new();
    let (client, _) = pair.open(with_fates(2), with_fates(2));
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    pair.drain();
    let drops = [fairwire_wire::DropBlock::Dropped {
        code: fairwire_wire::DropCode::ProtocolConstraints,
        run: 0,
    }];
    pair.inject(
        1,
        1,
        |ack| kind_of(PacketType::Ack, ack),
        |encoder| encoder.data_dropped(drops).unwrap(),
    );
    pair.ends[0].send(pair.now, client, data(10)).unwrap();
    pair.drain();
    assert_eq!(
        pair.ends[0].waits_for(pair.now, client),
        Some(Waiting::Peer)
    );
}

/// Each datagram has exactly one fate, whatever its options, and none leaves after its deadline.
#[test]
fn one_fate_with_any_options() {
    for (ccid, policy) in [
        (2, QueuePolicy::BackPressure),
        (2, QueuePolicy::DropOldest),
        (3, QueuePolicy::DropOldest),
    ] {
        let mut pair = Pair::new();
        let mut config = with_fates(ccid);
        config.send_queue.packets = 20;
        config.send_queue.policy = policy;
        let (client, _) = pair.open(config.clone(), config);
        pair.bottleneck = Some((ms(3), 10));
        let mut dice = Dice::new(11);
        pair.rule(move |wire| (wire.from == 0 && dice.chance(30)).then_some(Fault::Lose));
        let mut dice = Dice::new(12);
        let (mut given, mut deadlines) = (Vec::new(), Vec::new());
        for frame in 0..300 {
            for _ in 0..dice.next() % 12 {
                let mut options = SendOptions::default();
                options.group = dice.chance(700).then_some(frame);
                options.priority = (dice.next() % 5) as i8 - 2;
                options.deadline = dice.chance(500).then_some(pair.now + ms(dice.next() % 80));
                if let Ok(id) = pair.ends[0].send_with(pair.now, client, tagged(0), options) {
                    given.push(id.0);
                    deadlines.push((id, options.deadline));
                }
            }
            pair.run_for(ms(10));
        }
        pair.ends[0].close(pair.now, client);
        pair.run_for(ms(30_000));
        let told = fates(&pair, 0);
        for wanted in [Fate::Expired, Fate::GroupBroken] {
            let count = told.iter().filter(|told| told.2 == wanted).count();
            assert!(count > 10, "{wanted:?} under CCID {ccid}: {count}");
        }
        let mut ids: Vec<_> = told.iter().map(|told| told.1).collect();
        ids.sort_unstable();
        assert_eq!(ids, given, "CCID {ccid}");
        for wire in pair.log.iter().filter(|wire| wire.from == 0) {
            let deadline = deadlines
                .iter()
                .find(|(id, _)| Some(*id) == wire.transmit.id);
            let late = deadline.is_some_and(|&(_, at)| at.is_some_and(|at| wire.at > at));
            assert!(!late, "{wire:?}");
        }
    }
}
