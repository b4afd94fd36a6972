//! Datagrams that are sent again: each arrives once, as long as it is of use, and has one fate.

mod hostile;

use std::collections::BTreeMap;

use fairwire_kit::{Dice, Fault, Pair, Wire, data, ms};
use fairwire_units::Instant;
use fairwire_wire::{Ccid, DccpOption, PacketType, Seq, option_type};

use super::deadlines::{fates, left, tagged, with_fates};
use fairwire_proto::{
    CloseReason, Config, ConnectionId, DatagramId, Direction, Event, Fate, QueuePolicy, Received,
    Resend, SendError, SendOptions,
};

/// Settings with which both ends send datagrams again.
fn resending() -> Config {
    let mut config = with_fates(2);
    config.resend = true;
    config
}

fn until(at: Instant) -> SendOptions {
    let mut options = SendOptions::default();
    options.resend = Resend::Until(at);
    options
}

/// Two open ends, and how the packets of the client's datagrams are lost: `losses` times each of `ids`.
struct Link {
    pair: Pair,
    client: ConnectionId,
    server: ConnectionId,
}

impl Link {
    fn new(config: Config) -> Self {
        let mut pair = Pair::new();
        let (client, server) = pair.open(config.clone(), config);
        Self {
            pair,
            client,
            server,
        }
    }

    fn lose(&mut self, id: u64, losses: u32) {
        let mut left = losses;
        self.pair.rule(move |wire| {
            let hit = wire.transmit.id == Some(DatagramId(id)) && left > 0;
            left -= u32::from(hit);
            hit.then_some(Fault::Lose)
        });
    }

    fn send(&mut self, tag: u64, options: SendOptions) -> u64 {
        let now = self.pair.now;
        let sent = self.pair.ends[0].send_with(now, self.client, tagged(tag), options);
        self.pair.drain();
        sent.unwrap().0
    }

    /// Sends a datagram every five milliseconds, so that losses show.
    fn stream(&mut self, datagrams: u64) {
        for tag in 1..=datagrams {
            let (now, payload) = (self.pair.now, tagged(1_000 + tag));
            // The queue may be full.
            let _ = self.pair.ends[0].send(now, self.client, payload);
            self.pair.drain();
            self.pair.run_for(ms(5));
        }
    }

    fn read(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.pair.ends[1].recv(self.server)).collect()
    }

    fn told(&self, id: u64) -> Vec<Fate> {
        let told = fates(&self.pair, 0).into_iter();
        told.filter(|told| told.1 == id)
            .map(|told| told.2)
            .collect()
    }

    /// Returns how many packets carried a datagram.
    fn copies(&self, id: u64) -> usize {
        left(&self.pair, 0)
            .iter()
            .filter(|&&left| left == id)
            .count()
    }
}

fn tags(read: &[Received]) -> Vec<u64> {
    read.iter().filter_map(|read| read.payload.tag()).collect()
}

/// Returns the packet that a packet says it is a copy of.
fn copy_of(wire: &Wire) -> Option<Seq> {
    let packet = wire.packet();
    let mut options = packet.options.iter();
    options.find_map(|raw| match raw.decode() {
        Ok(DccpOption::CopyOf(seq)) => Some(seq),
        _ => None,
    })
}

/// Returns whether a packet negotiates the feature.
fn negotiates(wire: &Wire) -> bool {
    let packet = wire.packet();
    let mut options = packet.options.iter();
    let is_ours = |raw: fairwire_wire::RawOption<'_>| {
        (option_type::CHANGE_L..=option_type::CONFIRM_R).contains(&raw.option_type)
            && raw.data.first() == Some(&120)
    };
    options.any(is_ours)
}

/// A datagram whose first packet is lost arrives once, out of order, with one fate. It names the first packet. The
/// application does not count it as missing.
#[test]
fn a_lost_datagram_arrives() {
    for losses in [1, 2, 3] {
        let mut link = Link::new(resending());
        let id = DatagramId(0).0;
        link.lose(id, losses);
        let options = until(link.pair.now + ms(2_000));
        assert_eq!(link.send(7, options), id);
        link.stream(200);
        link.pair.run_for(ms(3_000));
        assert_eq!(link.told(id), [Fate::Acknowledged]);
        let read = link.read();
        assert_eq!(read.len(), 201);
        let place = tags(&read).iter().position(|&tag| tag == 7).unwrap();
        assert!(place > 0 && read[place].resent);
        assert_eq!(read.iter().filter(|read| read.resent).count(), 1);
        let missing: u64 = read.iter().map(|read| read.lost_before).sum();
        // The datagram counts as missing until it comes, and each lost copy counts.
        assert!(missing <= u64::from(losses), "{missing}");
        let packets = link.pair.log.iter();
        let of_it: Vec<_> = packets
            .filter(|wire| wire.transmit.id == Some(DatagramId(id)))
            .collect();
        let first = of_it[0].packet().seq.long();
        let named: Vec<_> = of_it.iter().map(|wire| copy_of(wire)).collect();
        let mut expected = vec![first; losses as usize + 1];
        expected[0] = None;
        assert_eq!(named, expected);
        let stats = link.pair.ends[0].stats(link.client).unwrap();
        assert_eq!((stats.resent, stats.lost), (losses.into(), losses.into()));
        let stats = link.pair.ends[1].stats(link.server).unwrap();
        assert_eq!((stats.recovered, stats.resent_duplicates), (1, 0));
    }
}

/// A datagram that was only delayed is sent again, arrives twice, and is delivered once, whichever comes first. None
/// counts as missing in the end.
#[test]
fn a_late_datagram_is_delivered_once() {
    for delay in [60, 5_000] {
        let mut link = Link::new(resending());
        link.pair.rule(move |wire| {
            let is_first = wire.transmit.id == Some(DatagramId(0)) && copy_of(wire).is_none();
            is_first.then_some(Fault::Delay(ms(delay)))
        });
        let options = until(link.pair.now + ms(2_000));
        link.send(7, options);
        link.stream(40);
        link.pair.run_for(ms(6_000));
        assert_eq!(link.copies(0), 2, "{delay}");
        assert_eq!(link.told(0), [Fate::Acknowledged]);
        let mut read = link.read();
        let count = tags(&read).iter().filter(|&&tag| tag == 7).count();
        assert_eq!(count, 1, "{delay}");
        let stats = link.pair.ends[1].stats(link.server).unwrap();
        assert_eq!(stats.resent_duplicates, 1);
        let copy_came_first = delay == 5_000;
        assert_eq!(stats.recovered, u64::from(copy_came_first));
        link.pair.rule(|_| None);
        link.stream(1);
        link.pair.run_for(ms(1_000));
        read.extend(link.read());
        let missing: u64 = read.iter().map(|read| read.lost_before).sum();
        // It was missing when it was reported, and the next gap would be smaller by one.
        assert!(missing <= 1, "{missing}");
    }
}

/// A datagram that is lost until it is of no use has the fate Lost, once. No copy leaves after its time or after its
/// deadline.
#[test]
fn too_late_is_lost() {
    for (deadline, last) in [(None, 150), (Some(100), 100), (Some(10), 10)] {
        let mut link = Link::new(resending());
        link.lose(0, u32::MAX);
        let begun = link.pair.now;
        let mut options = until(begun + ms(150));
        options.deadline = deadline.map(|deadline| begun + ms(deadline));
        link.send(7, options);
        link.stream(60);
        link.pair.run_for(ms(5_000));
        assert_eq!(link.told(0), [Fate::Lost]);
        assert!(!tags(&link.read()).contains(&7));
        let packets = link.pair.log.iter();
        let mut of_it = packets.filter(|wire| wire.transmit.id == Some(DatagramId(0)));
        assert!(of_it.all(|wire| wire.at <= begun + ms(last)), "{last}");
        assert_eq!(link.copies(0) > 1, last > 40, "{last}");
    }
}

/// A copy that waits behind a full window until its time is over gets the fate Lost, at that time.
#[test]
fn a_waiting_copy_expires_as_lost() {
    let mut link = Link::new(resending());
    let begun = link.pair.now;
    let end = begun + ms(400);
    link.send(7, until(end));
    link.stream(1);
    // Nothing arrives from now on: the timer calls everything lost, and the window is closed but for one packet.
    link.pair
        .rule(|wire| (wire.from == 0).then_some(Fault::Lose));
    let ids: Vec<_> = (0..4).map(|tag| link.send(tag, until(end))).collect();
    link.pair.run_for(ms(5_000));
    for id in ids {
        assert_eq!(link.told(id), [Fate::Lost], "{id}");
        let at = fates(&link.pair, id)[0].0;
        assert!(at >= end, "{at}");
    }
    let mut packets = link.pair.log.iter();
    assert!(packets.all(|wire| wire.transmit.id.is_none() || wire.at <= end));
    assert_eq!(
        link.pair.ends[0].stats(link.client).unwrap().queued_resends,
        0
    );
}

/// Unless both ends are willing, nothing about it is on the wire, and datagrams that are to be sent again are refused
/// with an error that says what to do.
#[test]
fn without_agreement_it_is_refused() {
    for (client, server) in [(false, false), (true, false), (false, true)] {
        let mut configs = [resending(), resending()];
        (configs[0].resend, configs[1].resend) = (client, server);
        let [a, b] = configs;
        let mut pair = Pair::new();
        let (id, peer) = pair.open(a, b);
        let (now, options) = (pair.now, until(pair.now + ms(100)));
        for (side, id) in [(0, id), (1, peer)] {
            assert_eq!(
                pair.ends[side].can_resend(id),
                Err(SendError::ResendNotAgreed)
            );
            let refused = pair.ends[side].send_with(now, id, tagged(0), options);
            assert_eq!(refused, Err(SendError::ResendNotAgreed));
        }
        let text = SendError::ResendNotAgreed.to_string();
        assert!(
            text.contains("`resend`") && text.contains("both ends"),
            "{text}"
        );
        pair.saturate(0, id, 500, ms(300));
        let asks = client || server;
        assert_eq!(pair.log.iter().any(negotiates), asks, "{client} {server}");
        assert!(pair.log.iter().all(|wire| copy_of(wire).is_none()));
    }
}

/// The feature is agreed on in the handshake: a client may send such datagrams once it is connected, and not before.
#[test]
fn it_is_agreed_on_in_the_handshake() {
    let mut pair = Pair::new();
    let client = pair.connect(resending(), resending());
    let options = until(pair.now + ms(100));
    let early = pair.ends[0].send_with(pair.now, client, tagged(0), options);
    assert_eq!(early, Err(SendError::ResendNotAgreed));
    while !pair.told(0).contains(&Event::Connected) {
        assert!(pair.step(Instant::MAX));
    }
    assert_eq!(pair.ends[0].can_resend(client), Ok(()));
    pair.run_for(ms(200));
    let server = pair.server.unwrap();
    assert_eq!(pair.ends[1].can_resend(server), Ok(()));
}

/// CCIDs 3 and 4 report no single losses, so nothing can be sent again under them.
#[test]
fn without_single_losses_it_is_refused() {
    for ccid in [3, 4] {
        let mut config = with_fates(ccid);
        config.resend = true;
        let mut link = Link::new(config);
        let options = until(link.pair.now + ms(100));
        let now = link.pair.now;
        let refused = link.pair.ends[0].send_with(now, link.client, tagged(0), options);
        let ccid = Ccid::new(ccid);
        assert_eq!(refused, Err(SendError::ResendWithoutLosses { ccid }));
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("CCID 2"), "{text}");
    }
}

/// A change to CCID 3 in mid-connection gives what is in flight or waits its fate, once.
#[test]
fn a_change_of_ccid_gives_one_fate() {
    let mut config = resending();
    config.send_ccids.push(Ccid::TFRC);
    config.receive_ccids.push(Ccid::TFRC);
    let mut link = Link::new(config);
    link.lose(0, 1);
    let end = link.pair.now + ms(3_000);
    let ids: Vec<_> = (0..8).map(|tag| link.send(tag, until(end))).collect();
    let (now, client) = (link.pair.now, link.client);
    let asked = link.pair.ends[0].change_ccid(now, client, Direction::Send, &[Ccid::TFRC]);
    assert_eq!(asked, Ok(()));
    link.pair.run_for(ms(4_000));
    for id in ids {
        assert_eq!(link.told(id).len(), 1, "{id}");
    }
    let stats = link.pair.ends[0].stats(client).unwrap();
    assert_eq!(stats.send_ccid, Some(Ccid::TFRC));
}

/// A group breaks only when one of its members is finally lost.
#[test]
fn a_group_waits_for_its_copies() {
    for (losses, breaks) in [(1, false), (u32::MAX, true)] {
        let mut link = Link::new(resending());
        link.lose(0, losses);
        let mut options = until(link.pair.now + ms(300));
        options.group = Some(5);
        link.send(7, options);
        link.stream(20);
        // The loss is known.
        assert!(link.copies(0) > 1);
        let (now, client) = (link.pair.now, link.client);
        let more = link.pair.ends[0].send_with(now, client, tagged(8), options);
        assert!(more.is_ok(), "{more:?}");
        link.stream(80);
        let (now, last) = (
            link.pair.now,
            if breaks {
                Fate::Lost
            } else {
                Fate::Acknowledged
            },
        );
        assert_eq!(link.told(0), [last]);
        let more = link.pair.ends[0].send_with(now, client, tagged(9), options);
        assert_eq!(more == Err(SendError::GroupBroken { group: 5 }), breaks);
    }
}

/// Data that the peer's full receive queue dropped is sent again, and the application gets it.
#[test]
fn dropped_data_is_sent_again() {
    let mut config = resending();
    config.receive_queue_packets = 2;
    let mut link = Link::new(config);
    let end = link.pair.now + ms(5_000);
    for tag in 0..3 {
        link.send(tag, until(end));
    }
    link.pair.run_for(ms(30));
    let mut read = tags(&link.read());
    assert_eq!(read, [0, 1]);
    link.pair.run_for(ms(2_000));
    read.extend(tags(&link.read()));
    assert_eq!(read, [0, 1, 2]);
    for id in 0..3 {
        assert_eq!(link.told(id), [Fate::Acknowledged]);
    }
    let stats = link.pair.ends[1].stats(link.server).unwrap();
    assert_eq!((stats.recovered, stats.receive_drops), (1, 1));
}

/// An application that has stopped reading gets nothing again.
#[test]
fn nothing_is_sent_again_to_an_application_that_stopped() {
    let mut link = Link::new(resending());
    let end = link.pair.now + ms(5_000);
    link.pair.ends[1].stop_reading(link.pair.now, link.server);
    for tag in 0..3 {
        link.send(tag, until(end));
    }
    link.pair.run_for(ms(3_000));
    for id in 0..3 {
        assert_eq!(link.copies(id), 1);
        assert_eq!(link.told(id).len(), 1);
    }
}

/// Without memory for its data a datagram is sent once, and lost if its packet is.
#[test]
fn without_room_it_is_sent_once() {
    let mut config = resending();
    config.send_queue.bytes = 1_500;
    let mut link = Link::new(config);
    link.pair.rule(|wire| {
        let is_early = wire.transmit.id.is_some_and(|id| id.0 < 2);
        (is_early && copy_of(wire).is_none()).then_some(Fault::Lose)
    });
    let end = link.pair.now + ms(5_000);
    for tag in 0..2 {
        link.send(tag, until(end));
    }
    link.stream(60);
    link.pair.run_for(ms(3_000));
    assert_eq!(link.told(0), [Fate::Acknowledged]);
    assert_eq!(link.told(1), [Fate::Lost]);
    assert_eq!((link.copies(0), link.copies(1)), (2, 1));
}

/// An orderly end waits for copies as long as they are of use; it does not wait for the peer's silence.
#[test]
fn closing_waits_for_copies() {
    let mut link = Link::new(resending());
    link.lose(0, 1);
    let end = link.pair.now + ms(1_500);
    link.send(7, until(end));
    link.pair.ends[0].close(link.pair.now, link.client);
    link.pair.run_for(ms(6_000));
    assert_eq!(link.told(0), [Fate::Acknowledged]);
    assert_eq!(tags(&link.read()), [7]);
    let closed = Event::Closed {
        reason: CloseReason::Closed,
    };
    assert!(link.pair.told(0).contains(&closed));
    // Nothing arrives any more: the Close leaves once the copy is of no use.
    let mut link = Link::new(resending());
    link.pair
        .rule(|wire| (wire.from == 0).then_some(Fault::Lose));
    let end = link.pair.now + ms(1_500);
    link.send(7, until(end));
    link.pair.ends[0].close(link.pair.now, link.client);
    link.pair.run_for(ms(4_000));
    assert_eq!(link.told(0), [Fate::Lost]);
    let closes = link.pair.log.iter().filter(|wire| wire.from == 0);
    let first = closes
        .filter(|wire| wire.packet_type() == PacketType::Close)
        .map(|wire| wire.at)
        .next()
        .unwrap();
    assert!(first >= end && first <= end + ms(1), "{first} {end}");
}

/// A purge, an abort and a smaller path MTU give a datagram that waits to be sent again one fate: it was lost.
#[test]
fn a_dropped_copy_is_lost() {
    for way in ["purge", "abort", "mtu", "full"] {
        let mut config = resending();
        if way == "full" {
            config.send_queue.packets = 1;
            config.send_queue.policy = QueuePolicy::DropOldest;
        }
        let mut link = Link::new(config);
        let mut size = 500;
        if way == "mtu" {
            size = 1_300;
        }
        link.pair
            .rule(|wire| (wire.from == 0).then_some(Fault::Lose));
        let end = link.pair.now + ms(30_000);
        let mut ids = Vec::new();
        for _ in 0..2 {
            let now = link.pair.now;
            let sent = link.pair.ends[0].send_with(now, link.client, data(size), until(end));
            ids.push(sent.unwrap().0);
            link.pair.drain();
        }
        // After a timeout one copy leaves, and the other waits.
        while link.pair.ends[0].stats(link.client).unwrap().queued_resends != 1 {
            assert!(link.pair.step(end), "{way}");
        }
        let (now, client) = (link.pair.now, link.client);
        match way {
            "purge" => assert_eq!(link.pair.ends[0].purge(now, client), 1),
            "abort" => link.pair.ends[0].abort(now, client),
            "mtu" => link.pair.ends[0].limit_path_mtu(now, client, 600),
            _ => {
                link.send(9, SendOptions::default());
            }
        }
        link.pair.drain();
        let told: Vec<_> = ids.iter().map(|&id| link.told(id)).collect();
        let lost: Vec<_> = told.iter().filter(|told| **told == [Fate::Lost]).collect();
        assert_eq!(lost.len(), 1, "{way}: {told:?}");
        let now = link.pair.now;
        link.pair.ends[0].abort(now, client);
        link.pair.drain();
        for id in ids {
            assert_eq!(link.told(id).len(), 1, "{way}");
        }
        let stats = link.pair.ends[0].stats(client).unwrap();
        assert_eq!((stats.expired, stats.queued_resends), (0, 0));
    }
}

/// Under random loss, reordering and duplication, and with all options, each datagram has one fate and is delivered at
/// most once; one that is acknowledged was delivered. No packet leaves too late.
#[test]
fn one_fate_and_one_delivery() {
    for (seed, policy) in [
        (1, QueuePolicy::BackPressure),
        (2, QueuePolicy::DropOldest),
        (3, QueuePolicy::BackPressure),
    ] {
        let mut config = resending();
        config.send_queue.packets = 20;
        config.send_queue.policy = policy;
        let mut link = Link::new(config);
        link.pair.bottleneck = Some((ms(2), 20));
        let mut dice = Dice::new(seed);
        link.pair.rule(move |wire| match dice.next() >> 20 & 127 {
            0..4 => Some(Fault::Lose),
            4..7 => Some(Fault::Delay(ms(70))),
            7..9 => Some(Fault::CopyLate(ms(90))),
            _ if wire.from == 0 && dice.chance(2) => Some(Fault::Delay(ms(400))),
            _ => None,
        });
        let mut dice = Dice::new(seed + 100);
        let (mut given, mut read) = (BTreeMap::new(), Vec::new());
        for frame in 0..1_500 {
            for _ in 0..dice.next() % 4 {
                let mut options = SendOptions::default();
                let now = link.pair.now;
                options.group = dice.chance(200).then_some(frame);
                options.priority = (dice.next() % 5) as i8 - 2;
                options.deadline = dice.chance(100).then_some(now + ms(dice.next() % 300));
                if dice.chance(700) {
                    options.resend = Resend::Until(now + ms(dice.next() % 1_500));
                }
                let tag = given.len() as u64;
                let sent = link.pair.ends[0].send_with(now, link.client, tagged(tag), options);
                if let Ok(id) = sent {
                    given.insert(id.0, (tag, options));
                }
            }
            link.pair.run_for(ms(10));
            if dice.chance(10) {
                link.pair.ends[0].purge(link.pair.now, link.client);
            }
            read.extend(link.read());
        }
        link.pair.ends[0].close(link.pair.now, link.client);
        link.pair.run_for(ms(30_000));
        read.extend(link.read());
        let told = fates(&link.pair, 0);
        let mut ids: Vec<_> = told.iter().map(|told| told.1).collect();
        ids.sort_unstable();
        assert!(ids.iter().eq(given.keys()), "seed {seed}");
        let mut delivered = tags(&read);
        delivered.sort_unstable();
        let all = delivered.len();
        delivered.dedup();
        assert_eq!(delivered.len(), all, "seed {seed}: delivered twice");
        for (_, id, fate) in &told {
            let arrived = matches!(fate, Fate::Acknowledged | Fate::Marked);
            let tag = given[id].0;
            assert!(!arrived || delivered.contains(&tag), "{id} {fate:?}");
        }
        let sent = link.pair.log.iter().filter(|wire| wire.from == 0);
        for wire in sent {
            let Some(DatagramId(id)) = wire.transmit.id else {
                continue;
            };
            let options = given[&id].1;
            let late = |at: Option<Instant>| at.is_some_and(|at| wire.at > at);
            let is_copy = copy_of(wire).is_some();
            assert!(!late(options.deadline), "{wire:?}");
            assert!(!is_copy || !late(options.resend_until()), "{wire:?}");
        }
        let stats = link.pair.ends[0].stats(link.client).unwrap();
        assert!(stats.resent > 20, "{}", stats.resent);
        let got = link.pair.ends[1].stats(link.server).unwrap();
        assert!(got.recovered > 10 && got.resent_duplicates > 0, "{got:?}");
    }
}
