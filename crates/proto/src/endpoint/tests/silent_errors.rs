//! Silent errors: the connection continues, but a rate, a count or a fate is wrong, or an application waits for ever.

use std::collections::BTreeMap;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::{Ccid, DccpOption, Encoder, HeadBuf, Kind, PacketType, Ports, Seq};

use super::kit::Wire;
use super::kit::{Fault, Pair, data, ms};
use crate::ackvec::{Receiver, Report};
use crate::half::{Arrival, Rx as _};
use crate::packet_options::PacketOptions;
use crate::{Config, ConnectionId, Encapsulation, Event, Payload, SendError};

fn with_ccid(ccid: u8) -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::new(ccid)];
    config.receive_ccids = vec![Ccid::new(ccid)];
    config
}

fn is_data(wire: &Wire) -> bool {
    matches!(wire.packet_type(), PacketType::Data | PacketType::DataAck)
}

/// RFC 4340, 7.5.1: our acknowledgements are checked against the peer's Sequence Window, the peer's against ours.
///
/// Here a receiver that reports once per round trip has a narrow window, and its sender has more packets in flight than
/// that.
#[test]
fn a_flight_wider_than_the_peers_window() {
    let mut pair = Pair::along(Encapsulation::Udp, ms(200));
    pair.record = false;
    let mut config = with_ccid(3);
    config.send_queue.packets = 10_000;
    let client = pair.connect(config, with_ccid(3));
    pair.run_for(ms(1_500));
    let mut peak = 0;
    for _ in 0..40 {
        pair.saturate(0, client, 500, ms(200));
        let stats = pair.ends[0].stats(client).unwrap();
        peak = peak.max(stats.flight_packets);
        assert_eq!((stats.syncs_sent, stats.discarded), (0, 0), "{peak}");
    }
    assert!(peak > 200, "{peak}");
}

/// RFC 4341, 5: on a path where nothing comes back, the retransmission timer doubles up to a minute.
///
/// In five minutes about a dozen packets are sent, not a thousand.
#[test]
fn a_dead_path_gets_few_packets() {
    let mut pair = Pair::new();
    let mut config = with_ccid(2);
    config.idle_timeout = ms(3_600_000).into();
    let (client, _) = pair.open(config.clone(), config);
    pair.saturate(0, client, 500, ms(500));
    pair.lose(|_| true);
    pair.saturate(0, client, 500, ms(1_000));
    let before = pair.ends[0].stats(client).unwrap().data_sent;
    pair.saturate(0, client, 500, ms(300_000));
    let after = pair.ends[0].stats(client).unwrap().data_sent;
    assert!(after - before <= 16, "{}", after - before);
}

/// RFC 4341, 5: no more packets are in flight than the window allows.
#[test]
fn no_more_in_flight_than_the_window() {
    let mut pair = Pair::new();
    let (client, _) = pair.open(with_ccid(2), with_ccid(2));
    for _ in 0..40 {
        pair.saturate(0, client, 500, ms(10));
        let stats = pair.ends[0].stats(client).unwrap();
        let window = stats.gauges.cwnd_packets.unwrap();
        assert!(f64::from(stats.flight_packets) <= window, "{stats:?}");
    }
}

/// RFC 4340, A.3: a packet that arrives after a vector reported it as missing is reported as received.
///
/// It does not matter that the vector was acknowledged meanwhile.
#[test]
fn a_late_packet_is_told() {
    let mut receiver = Receiver::new(Some(Seq::new(1)));
    let tell = |receiver: &mut Receiver, ours: u64, newest: u64| {
        let mut buffer = HeadBuf::new();
        let ports = Ports {
            source: 1,
            destination: 2,
        };
        let ack = Seq::new(newest);
        let kind = Kind::Ack { ack: ack.into() };
        let seq = Seq::new(ours);
        let mut encoder = Encoder::new(&mut buffer, ports, seq.into(), &kind, 0, 0);
        let written = receiver.write_options(Instant::START, seq, ack, &mut encoder);
        assert_eq!(written, Ok(()));
        let head = encoder.finish().as_slice().to_vec();
        let packet = fairwire_wire::Packet::decode(&head).unwrap();
        let options = PacketOptions::read(packet.options);
        let report = Report::of(&options, ack).unwrap();
        report.has_arrived(Seq::new(2))
    };
    for (number, told) in [(1, None), (3, Some(false)), (2, None), (4, Some(true))] {
        let arrival = Arrival {
            seq: Seq::new(number),
            data: Some(100),
            ecn: Ecn::Ect0,
            ccval: 0,
            ndp_count: None,
            has_ndp_counts: false,
            rtt_estimate: None,
        };
        receiver.on_packet(Instant::START, arrival.into());
        if number == 2 {
            // It acknowledges the vector that was sent before packet 2 arrived.
            receiver.acknowledge(103);
        }
        if let Some(told) = told {
            assert_eq!(tell(&mut receiver, 100 + number, number), told, "{number}");
        }
    }
}

/// RFC 5348, 5.2: a loss event lasts one round trip, however dense the losses are.
///
/// With every fourth packet lost, ten seconds with a round trip of 40 ms contain dozens of loss events.
#[test]
fn dense_losses_are_many_events() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(with_ccid(3), with_ccid(3));
    pair.bottleneck = Some((ms(1), 50));
    pair.saturate(0, client, 500, ms(2_000));
    let mut count = 0;
    pair.rule(move |wire| {
        count += u64::from(wire.from == 0);
        (wire.from == 0 && count % 4 == 0).then_some(Fault::Lose)
    });
    let before = pair.ends[1].stats(server).unwrap().loss_events_seen;
    pair.saturate(0, client, 500, ms(10_000));
    let stats = pair.ends[1].stats(server).unwrap();
    let events = stats.loss_events_seen - before;
    assert!(events > 20, "{events}");
}

/// RFC 5348, 4.4: an outage just after a pause ends when the path is back.
///
/// After the idle period the nofeedback timer runs again. When it expires, earlier packets no longer count as in
/// flight.
#[test]
fn an_outage_after_a_pause_ends() {
    let mut pair = Pair::new();
    let mut config = with_ccid(3);
    config.keep_alive = None;
    config.idle_timeout = ms(3_600_000).into();
    let (client, server) = pair.open(config.clone(), config);
    pair.record = false;
    pair.bottleneck = Some((ms(5), 20));
    pair.saturate(0, client, 500, ms(2_000));
    // Until the queue is empty and the timer has stopped.
    pair.run_for(ms(600_000));
    pair.lose(|_| true);
    pair.saturate(0, client, 500, ms(20_000));
    pair.rule(|_| None);
    let before = pair.ends[1].stats(server).unwrap().data_received;
    pair.saturate(0, client, 500, ms(100_000));
    let after = pair.ends[1].stats(server).unwrap().data_received;
    assert!(after > before + 100, "{before} {after}");
}

/// RFC 4340, 6.6.4: a Change that arrives after a newer one is ignored.
#[test]
fn an_overtaken_change_is_ignored() {
    let (mut pair, _) = Pair::opened();
    let ask = |pair: &Pair, ahead, window: u8| {
        let change = move |encoder: &mut Encoder<'_>| {
            let value = &[0, 0, 0, 0, 1, window];
            let change = DccpOption::ChangeL { feature: 3, value };
            encoder.option(&change).unwrap();
        };
        pair.forge(0, ahead, |ack| Kind::Ack { ack }, change, Payload::EMPTY)
    };
    let (older, newer) = (ask(&pair, 1, 1), ask(&pair, 2, 2));
    pair.deliver(1, &newer);
    pair.deliver(1, &older);
    assert_eq!(pair.ends[1].connections[0].subflow().windows().1, 0x102);
}

/// RFC 4340, 6.6.6 and 6.6.7: every copy of a Change is confirmed, since the Confirm may be lost.
#[test]
fn a_lost_confirm_is_sent_again() {
    let (mut pair, _) = Pair::opened();
    for ahead in 1..4 {
        let change = |encoder: &mut Encoder<'_>| {
            let value = &[0, 0, 0, 0, 2, 0];
            let change = DccpOption::ChangeL { feature: 3, value };
            encoder.option(&change).unwrap();
        };
        let wire = pair.forge(0, ahead, |ack| Kind::Ack { ack }, change, Payload::EMPTY);
        pair.deliver(1, &wire);
        let before = pair.log.len();
        pair.run_for(ms(100));
        let confirms = pair.log[before..].iter().filter(|wire| {
            let options = wire.packet().options;
            let mut options = options.iter().filter_map(|raw| raw.decode().ok());
            options.any(|option| matches!(option, DccpOption::ConfirmR { feature: 3, .. }))
        });
        assert_eq!(confirms.count(), 1, "{ahead}");
    }
}

/// A fate goes to the connection that sent the datagram, whatever the endpoint's other connections do.
#[test]
fn fates_go_to_their_own_connection() {
    let mut pair = Pair::new();
    let mut config = with_ccid(2);
    config.report_fates = true;
    let unlucky = pair.connect(config.clone(), config.clone());
    pair.run_for(ms(200));
    let port = pair.last_of(0).1.source;
    let lucky = pair.connect_only(config);
    pair.run_for(ms(200));
    pair.rule(move |wire| {
        let ports = wire.packet().ports;
        (ports.source == port || ports.destination == port).then_some(Fault::Lose)
    });
    for _ in 0..20 {
        for id in [unlucky, lucky] {
            pair.ends[0].send(pair.now, id, data(100)).unwrap();
        }
        pair.run_for(ms(100));
    }
    pair.run_for(ms(500));
    let stats = pair.ends[0].stats(lucky).unwrap();
    assert_eq!((stats.acknowledged, stats.lost), (20, 0));
    let mut fates: BTreeMap<ConnectionId, usize> = BTreeMap::new();
    for (_, id, event) in &pair.events[0] {
        *fates.entry(*id).or_default() += usize::from(matches!(event, Event::Fate { .. }));
    }
    assert_eq!(fates[&lucky], 20);
}

/// An attempt that ends before the application knows of it leaves nothing behind.
#[test]
fn what_nobody_heard_of_leaves_nothing() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.packet_type() != PacketType::Request);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(600_000));
    assert_eq!(pair.ends[1].connections.len(), 0);
    assert_eq!(pair.ends[1].endpoint_stats().memory, 0);
}

/// Idle time allows one burst of Syncs, and not one for each idle second.
///
/// An hour after the handshake, invalid packets get at most two Syncs in a tenth of a second.
#[test]
fn quiet_time_is_not_saved_up() {
    let (mut pair, _) = Pair::opened();
    pair.run_for(ms(3_600_000));
    let mut syncs = 0;
    for _ in 0..100 {
        let answers = pair.inject(0, 1 << 40, |_| Kind::Data, |_| {});
        let is_sync = |wire: &&Wire| wire.packet_type() == PacketType::Sync;
        syncs += answers.iter().filter(is_sync).count();
        pair.now += ms(1);
    }
    assert!((1..=2).contains(&syncs), "{syncs}");
}

/// A refused application is told when expired datagrams have left room, because no other datagram may ever leave.
#[test]
fn room_of_expired_datagrams_is_announced() {
    let mut pair = Pair::new();
    let mut config = with_ccid(2);
    config.send_queue.packets = 2;
    config.send_queue.age = Some(ms(50).into());
    let (client, _) = pair.open(config, with_ccid(2));
    pair.lose(|_| true);
    while pair.ends[0].send(pair.now, client, data(100)).is_ok() {
        pair.drain();
    }
    let refused = pair.ends[0].send(pair.now, client, data(100));
    assert_eq!(refused, Err(SendError::Full));
    pair.events[0].clear();
    pair.run_for(ms(60));
    assert!(pair.told(0).contains(&Event::Writable));
}

/// RFC 4340, 7.7.1: late datagrams do not count as lost; the application gets the true number of missing ones.
#[test]
fn late_datagrams_are_not_counted_as_lost() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(with_ccid(2), with_ccid(2));
    let mut count = 0;
    pair.rule(move |wire| {
        count += u64::from(is_data(wire));
        match count {
            4 if is_data(wire) => Some(Fault::Delay(ms(100))),
            8 if is_data(wire) => Some(Fault::Lose),
            _ => None,
        }
    });
    let (mut got, mut missing) = (0, 0);
    for _ in 0..12 {
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
        pair.run_for(ms(60));
        while let Some(received) = pair.ends[1].recv(server) {
            got += 1;
            missing += received.lost_before;
        }
    }
    pair.run_for(ms(200));
    while let Some(received) = pair.ends[1].recv(server) {
        got += 1;
        missing += received.lost_before;
    }
    assert_eq!(got, 11);
    // Packet 4 counted as missing when 5 arrived; its arrival cancels the loss of packet 8.
    assert_eq!(missing, 1);
}

/// RFC 4340, 7.7: a late Response is not counted as lost data.
///
/// A Response counts as a data packet, so one that a later packet overtakes counts as missing. Its arrival corrects
/// this, and one lost datagram is reported as one in total.
#[test]
fn a_late_response_is_not_counted_as_lost() {
    let mut pair = Pair::new();
    let mut responses = 0;
    pair.rule(move |wire| {
        responses += u64::from(wire.packet_type() == PacketType::Response);
        match responses {
            // So late that the Request is repeated.
            1 if wire.packet_type() == PacketType::Response => Some(Fault::Delay(ms(1_200))),
            2 if wire.packet_type() == PacketType::Response => Some(Fault::Delay(ms(500))),
            _ => None,
        }
    });
    let client = pair.connect(with_ccid(3), with_ccid(3));
    pair.run_for(ms(1_300));
    let server = pair.server.expect("accepted");
    for _ in 0..5 {
        // The answers are consecutive Acks with NDP Counts above zero.
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
        pair.run_for(ms(20));
    }
    let (mut got, mut missing) = (0, 0);
    for count in 0..8 {
        if count == 5 {
            pair.rule(|wire| is_data(wire).then_some(Fault::Lose));
        }
        pair.ends[1].send(pair.now, server, data(100)).unwrap();
        pair.run_for(ms(2_000));
        pair.rule(|_| None);
        while let Some(received) = pair.ends[0].recv(client) {
            got += 1;
            missing += received.lost_before;
        }
    }
    assert_eq!((got, missing), (7, 1));
}

/// RFC 4340, 9.2: a datagram shorter than the configured coverage is covered completely, and arrives.
#[test]
fn short_datagrams_are_covered() {
    let mut pair = Pair::new();
    let mut sending = Config::default();
    sending.checksum_coverage = 5;
    let mut receiving = Config::default();
    receiving.minimum_checksum_coverage = 1;
    let (client, server) = pair.open(sending, receiving);
    for len in [0, 1, 15, 16, 17] {
        let bytes = Payload::from(vec![7; len]);
        pair.ends[0].send(pair.now, client, bytes).unwrap();
        pair.run_for(ms(300));
        assert!(pair.ends[1].recv(server).is_some(), "{len}");
    }
}

/// RFC 4340, 11.3 and A.3: a CCID 2 receiver acknowledges packets that are late by more than a round trip, and more than
/// a few of them. Otherwise a flow with a small window waits for its timeout again and again.
#[test]
fn packets_later_than_a_round_trip_are_acknowledged() {
    let mut pair = Pair::new();
    let mut count = 0;
    pair.rule(move |wire| {
        count += u64::from(wire.from == 0 && is_data(wire));
        (wire.from == 0 && is_data(wire) && count % 2 == 0).then_some(Fault::Delay(ms(150)))
    });
    let (client, server) = pair.open(with_ccid(2), with_ccid(2));
    pair.saturate(0, client, 500, ms(20_000));
    let sent = pair.ends[0].stats(client).unwrap();
    let got = pair.ends[1].stats(server).unwrap();
    assert!(
        sent.gauges.timeouts <= 1,
        "{} timeouts",
        sent.gauges.timeouts
    );
    // At least one packet of each round trip of 0.19 s arrives in time.
    assert!(got.data_received > 200, "{}", got.data_received);
}

/// RFC 4340, 8.1.3 and 11.7: if the Ack that ends the handshake is lost, the first datagram ends it, and the server's
/// application gets it.
#[test]
fn the_datagram_that_completes_a_handshake_is_delivered() {
    let mut pair = Pair::new();
    pair.rule(|wire| {
        let is_ack = wire.from == 0 && wire.packet_type() == PacketType::Ack;
        is_ack.then_some(Fault::Lose)
    });
    let client = pair.connect(with_ccid(2), with_ccid(2));
    pair.run_for(ms(50));
    for _ in 0..3 {
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
    }
    pair.run_for(ms(2_000));
    let server = pair.server.expect("accepted");
    let acknowledged = pair.ends[0].stats(client).unwrap().acknowledged;
    let delivered = std::iter::from_fn(|| pair.ends[1].recv(server)).count();
    assert_eq!((acknowledged, delivered), (3, 3));
}

/// RFC 4340, 8.1.5: an Ack that is lost repeatedly in PARTOPEN is repeated until it arrives.
#[test]
fn a_handshake_survives_three_lost_acks() {
    let mut pair = Pair::new();
    let mut lost = 0;
    pair.rule(move |wire| {
        let is_ack = wire.from == 0 && wire.packet_type() == PacketType::Ack;
        lost += u64::from(is_ack);
        (is_ack && lost <= 3).then_some(Fault::Lose)
    });
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(10_000));
    assert!(pair.server.is_some());
}
