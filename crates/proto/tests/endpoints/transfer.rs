//! Data in one direction and in both.

use fairwire_kit::{Dice, Fault, Pair, Wire, data, ms};
use fairwire_units::Ecn;
use fairwire_wire::{Ccid, PacketType};

use fairwire_proto::{Config, Encapsulation, Event, Fate};

/// Configurations of both ends with only these CCIDs.
fn ccids(send: u8, receive: u8) -> (Config, Config) {
    let config = |send, receive| {
        let mut config = Config::default();
        config.send_ccids = vec![Ccid::new(send)];
        config.receive_ccids = vec![Ccid::new(receive)];
        config
    };
    (config(send, receive), config(receive, send))
}

/// Datagrams arrive in order, the empty one too (RFC 4340, 5.4).
#[test]
fn datagrams_arrive() {
    let (mut pair, [client, server]) = Pair::opened();
    for len in [0, 1, 1_000] {
        pair.ends[0].send(pair.now, client, data(len)).unwrap();
    }
    pair.run_for(ms(200));
    let got: Vec<_> = std::iter::from_fn(|| pair.ends[1].recv(server))
        .map(|r| (r.payload.len(), r.lost_before, r.ecn))
        .collect();
    let (ecn, none) = (Ecn::Ect0, 0);
    assert_eq!(got, [(0, none, ecn), (1, none, ecn), (1_000, none, ecn)]);
}

/// RFC 4340, 7: packets that the network copies are delivered once, and delayed ones are not lost.
#[test]
fn copies_are_passed_on_once() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    // Skipped numbers would count as lost.
    config.check_feedback = false;
    let (client, server) = pair.open(config.clone(), config);
    let mut dice = Dice::new(21);
    pair.rule(move |_| match dice.next() % 3 {
        0 => Some(Fault::Copy),
        1 => Some(Fault::Delay(ms(5))),
        _ => None,
    });
    for _ in 0..500 {
        pair.ends[0].send(pair.now, client, data(10)).unwrap();
        pair.run_for(ms(4));
    }
    pair.run_for(ms(1_000));
    let got: Vec<_> = std::iter::from_fn(|| pair.ends[1].recv(server)).collect();
    assert_eq!(got.len(), 500);
    let stats = pair.ends[1].stats(server).unwrap();
    assert!(stats.duplicates > 100, "{stats:?}");
    let lost: u64 = got.iter().map(|r| r.lost_before).sum();
    // An overtaken packet counts as lost until it arrives, and is then subtracted from the next gap. What remains is
    // the number of packets overtaken at one time, two datagrams with their Acks, not hundreds.
    assert!(lost <= 5, "{lost}");
}

/// A sender recovers after an outage that lost a full window of packets and its feedback.
///
/// RFC 4340, 7.5.2 limits the packets in flight to half of the Sequence Window. The sender continues when its timer
/// expires.
#[test]
fn an_outage_with_the_window_full_does_not_stall() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        pair.record = false;
        let (mut client, server) = ccids(ccid, ccid);
        client.max_sequence_window = client.sequence_window;
        let (client, server) = pair.open(client, server);
        pair.bottleneck = Some((fairwire_units::Duration::from_micros(100), 1_000));
        pair.saturate(0, client, 500, ms(4_000));
        pair.lose(|_| true);
        pair.saturate(0, client, 500, ms(1_000));
        pair.rule(|_| None);
        let before = pair.ends[1].stats(server).unwrap().data_received;
        pair.saturate(0, client, 500, ms(5_000));
        let after = pair.ends[1].stats(server).unwrap().data_received;
        // Hundreds of round trips are left for the recovery; a thousand packets take a tenth of a second.
        assert!(after > before + 1_000, "CCID {ccid}: {before} to {after}");
    }
}

/// Each pair of CCIDs carries data both ways under 1 % loss, and no Sync but probes is needed.
#[test]
fn every_pair_of_ccids_carries_data() {
    for (send, receive) in [2, 3, 4]
        .into_iter()
        .flat_map(|a| [2, 3, 4].map(|b| (a, b)))
    {
        let mut pair = Pair::new();
        pair.record = false;
        let (client, server) = ccids(send, receive);
        let (client, server) = pair.open(client, server);
        let mut dice = Dice::new(7);
        pair.rule(move |_| dice.chance(10).then_some(Fault::Lose));
        pair.bottleneck = Some((ms(2), 30));
        pair.saturate_both([client, server], 500, ms(20_000));
        for (side, id, ccid) in [(0, client, receive), (1, server, send)] {
            let stats = pair.ends[side].stats(id).unwrap();
            let name = format!("{send}/{receive} side {side}: {stats:?}");
            // The square-root law gives about 12 packets per round trip at 1 % loss, so 300 a second at 40 ms. Half of
            // that allows for queueing delay and a TFRC start. CCID 4 sends at most 100 packets a second (RFC 5622, 5),
            // and its start takes no more than a quarter of the time.
            let expected = if ccid == 4 {
                1_500..=2_001
            } else {
                3_001..=u64::MAX
            };
            assert!(expected.contains(&stats.data_received), "{name}");
            assert_eq!(stats.syncs_sent, stats.mtu_probes_sent, "{name}");
            assert_eq!(stats.discarded, 0, "{name}");
            assert!(stats.ack_vector_state < 8_192, "{name}");
        }
    }
}

/// RFC 4340, 7.5.2: the Sequence Window follows the number of packets in flight.
///
/// So no Sync is needed for 100,000 packets with 2,000 in flight.
#[test]
fn a_wide_flight_stays_in_step() {
    let mut pair = Pair::along(Encapsulation::Udp, ms(500));
    pair.record = false;
    let mut config = Config::default();
    config.send_queue.packets = 100_000;
    config.send_queue.bytes = 1 << 30;
    config.ccid2.initial_ssthresh = Some(2_000.0);
    let client = pair.connect(config.clone(), config);
    pair.run_for(ms(3_000));
    let server = pair.server.unwrap();
    let mut peak = 0;
    for _ in 0..400 {
        pair.saturate(0, client, 500, ms(250));
        let stats = pair.ends[0].stats(client).unwrap();
        peak = peak.max(stats.flight_packets);
        if stats.data_sent > 100_000 {
            break;
        }
    }
    let stats = pair.ends[0].stats(client).unwrap();
    assert!(peak >= 2_000, "{peak}");
    assert!(stats.data_sent > 100_000);
    for (side, id) in [(0, client), (1, server)] {
        let stats = pair.ends[side].stats(id).unwrap();
        assert_eq!((stats.syncs_sent, stats.discarded), (0, 0), "side {side}");
    }
}

/// In one-way bulk transfer all Data packets have headers of one length; other options are sent on Acks.
#[test]
fn one_way_bulk_has_heads_of_one_length() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        let (client, server) = ccids(ccid, ccid);
        let (client, _) = pair.open(client, server);
        pair.bottleneck = Some((ms(1), 50));
        pair.saturate(0, client, 1_000, ms(5_000));
        let data = |wire: &&Wire| wire.packet_type() == PacketType::Data;
        let heads: Vec<_> = pair.log.iter().filter(data).map(|w| w.head.len()).collect();
        assert!(heads.len() > 500, "{}", heads.len());
        assert!(heads.iter().all(|&len| len == heads[0]), "CCID {ccid}");
        let piggybacked = pair
            .types(0)
            .iter()
            .filter(|&&t| t == PacketType::DataAck)
            .count();
        assert!(piggybacked < 10, "{piggybacked} outside of PARTOPEN");
    }
}

/// Each datagram gets exactly one fate.
#[test]
fn each_datagram_has_one_fate() {
    for ccid in [2, 3, 4] {
        let mut pair = Pair::new();
        let (mut client, server) = ccids(ccid, ccid);
        client.report_fates = true;
        client.send_queue.age = Some(ms(30).into());
        client.send_queue.policy = fairwire_proto::QueuePolicy::DropOldest;
        client.send_queue.packets = 20;
        let (client, _) = pair.open(client, server);
        let mut dice = Dice::new(3);
        pair.rule(move |_| match dice.next() >> 58 {
            0..4 => Some(Fault::Lose),
            4..6 => Some(Fault::Mark),
            6..8 => Some(Fault::Copy),
            8..10 => Some(Fault::Delay(ms(15))),
            _ => None,
        });
        let mut given = Vec::new();
        for round in 0..300 {
            for _ in 0..round % 40 {
                given.push(pair.ends[0].send(pair.now, client, data(300)).unwrap());
            }
            pair.run_for(ms(7));
        }
        pair.ends[0].close(pair.now, client);
        pair.run_for(ms(30_000));
        let mut fates: Vec<_> = pair
            .told(0)
            .into_iter()
            .filter_map(|event| match event {
                Event::Fate { id, fate } => Some((id, fate)),
                _ => None,
            })
            .collect();
        let count = |wanted| fates.iter().filter(|&&(_, fate)| fate == wanted).count();
        assert!(count(Fate::Expired) > 0, "CCID {ccid}");
        assert!(count(Fate::Refused) > 0, "CCID {ccid}");
        let arrived = if ccid == 2 {
            Fate::Acknowledged
        } else {
            Fate::Sent
        };
        assert!(count(arrived) > 0, "CCID {ccid}");
        assert_eq!(count(Fate::Lost) > 0, ccid == 2);
        fates.sort_by_key(|&(id, _)| id);
        let ids: Vec<_> = fates.iter().map(|&(id, _)| id).collect();
        assert_eq!(ids, given, "CCID {ccid}");
    }
}
