//! Data that arrives and does not reach the application, and receivers that cannot keep up.

use fairwire_kit::{Dice, Fault, PORT, Pair, SERVICE, Wire, config_of, data, ms, reseal};
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, DropBlock, DropCode, EntryState, Kind, PacketType, Seq};

use fairwire_proto::{
    Config, ConnectionId, DatagramId, Event, Fate, ReceiveQueuePolicy, SendError,
};

const SIZE: u32 = 500;

/// A configuration with only this CCID, in both directions.
fn config(ccid: u8) -> Config {
    let mut config = config_of(ccid);
    config.report_fates = true;
    config
}

/// Returns the blocks of the Data Dropped options of a packet.
fn blocks(wire: &Wire) -> Vec<DropBlock> {
    let packet = wire.packet();
    let options = packet.options.iter().filter_map(|raw| match raw.decode() {
        Ok(DccpOption::DataDropped(blocks)) => Some(blocks),
        _ => None,
    });
    options
        .flat_map(fairwire_wire::DropBlocks::iter)
        .collect::<Vec<_>>()
}

/// Returns the numbers that a packet reports as dropped, and their Drop Codes.
fn reported(wire: &Wire) -> Vec<(Seq, DropCode)> {
    let Some(ack) = wire.packet().ack() else {
        return Vec::new();
    };
    let mut at = ack.extend(Seq::ZERO);
    let mut reported = Vec::new();
    for block in blocks(wire) {
        for _ in 0..block.run() {
            if let DropBlock::Dropped { code, .. } = block {
                reported.push((at, code));
            }
            at = at.prev();
        }
    }
    reported
}

fn says_slow(wire: &Wire) -> bool {
    let packet = wire.packet();
    let mut options = packet.options.iter();
    options.any(|raw| matches!(raw.decode(), Ok(DccpOption::SlowReceiver)))
}

/// Runs for `time` while side 0 sends as fast as it may and side 1 reads a datagram every `every`.
///
/// Returns how many datagrams were read.
fn read_slowly(
    pair: &mut Pair,
    (client, server): (ConnectionId, ConnectionId),
    every: Duration,
    time: Duration,
) -> u64 {
    let until = pair.now + time;
    let (mut next_read, mut read) = (pair.now + every, 0);
    while pair.now < until {
        while pair.ends[0].can_send(client, SIZE as usize) {
            let sent = pair.ends[0].send(pair.now, client, data(SIZE));
            assert!(sent.is_ok(), "{sent:?}");
            pair.drain();
        }
        let next = next_read.min(until);
        if pair.next().is_some_and(|at| at <= next) {
            pair.step(next);
            continue;
        }
        pair.now = next;
        if next == next_read {
            read += u64::from(pair.ends[1].recv(server).is_some());
            next_read += every;
        }
    }
    read
}

/// RFC 4340, 11.6, 11.7.2, RFC 4341, 5.2, and RFC 4342, 5.2: a slow application slows the sender.
///
/// It reads 100 packets a second and gets about that many, where the network would carry 1,000. It holds for window and
/// rate controllers, without a lost packet. The remaining drops are the cost of probing for a higher rate.
#[test]
fn a_slow_application_slows_the_sender() {
    for ccid in [2, 3] {
        for policy in [
            ReceiveQueuePolicy::DropNewest,
            ReceiveQueuePolicy::DropOldest,
        ] {
            let mut pair = Pair::new();
            let mut slow = config(ccid);
            slow.receive_queue_packets = 20;
            slow.receive_queue_policy = policy;
            let ids = pair.open(config(ccid), slow);
            pair.bottleneck = Some((ms(1), 200));
            read_slowly(&mut pair, ids, ms(10), ms(20_000));
            let before = pair.ends[0].stats(ids.0).unwrap();
            pair.log.clear();
            let read = read_slowly(&mut pair, ids, ms(10), ms(40_000));
            let sent = pair.ends[0].stats(ids.0).unwrap();
            let here = pair.ends[1].stats(ids.1).unwrap();
            let name = format!("CCID {ccid}, {policy:?}: {sent:?}");
            assert_eq!(sent.lost, 0, "{name}");
            assert_eq!(sent.marked, 0, "{name}");
            let packets = sent.data_sent - before.data_sent;
            // 4,000 are read; a sender that ignores the reports would send 40,000.
            assert!(read >= 3_800, "{read}: {name}");
            assert!((3_800..6_000).contains(&packets), "{packets}: {name}");
            assert!(sent.slow_receivers > 0, "{name}");
            assert!(here.dropped_locally[2] > 0, "{name}");
            assert_eq!(here.dropped_locally[2], here.receive_drops, "{name}");
            // All reports have arrived, except those that are still in flight.
            let (there, here) = (sent.dropped_by_peer[2], here.dropped_locally[2]);
            assert!(there <= here && here - there < 40, "{there} of {here}");
            let told = pair.told(0);
            assert!(told.contains(&Event::SlowReceiver), "{name}");
            let code = DropCode::ReceiveBuffer;
            let fate = |event: &&Event| matches!(event, Event::Fate { fate: Fate::Dropped { code: c }, .. } if *c == code);
            let fates = told.iter().filter(fate).count() as u64;
            // Where the oldest datagram is dropped, it was acknowledged long before.
            let newest = policy == ReceiveQueuePolicy::DropNewest;
            assert_eq!(fates > 0, ccid == 2 && newest, "{name}");
        }
    }
}

/// RFC 4340, 11.7: every acknowledgement carries a report until one of them is acknowledged, then none does.
///
/// The report never contradicts the Ack Vector of the packet, and no Data packet carries one.
#[test]
fn reports_are_repeated_until_acknowledged() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        let mut small = config(ccid);
        small.receive_queue_packets = 5;
        small.slow_receiver_percent = 101;
        let (client, server) = pair.open(config(ccid), small);
        for _ in 0..10 {
            pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
        }
        pair.log.clear();
        pair.run_for(ms(2_000));
        let mut dropped: Vec<_> = pair.log.iter().flat_map(reported).collect();
        dropped.sort_by_key(|&(seq, _)| seq.get());
        dropped.dedup();
        assert_eq!(dropped.len(), 5, "CCID {ccid}: {dropped:?}");
        assert!(
            dropped
                .iter()
                .all(|&(_, code)| code == DropCode::ReceiveBuffer)
        );
        // Now the application reads each packet as it arrives; the sender continues, and acknowledges the reports.
        while pair.ends[1].recv(server).is_some() {}
        pair.log.clear();
        pair.bottleneck = Some((ms(1), 100));
        pair.saturate(0, client, SIZE, ms(2_000));
        let reports = pair.log.iter().filter(|w| w.from == 1).map(blocks);
        let silent = reports.skip_while(|blocks| !blocks.is_empty());
        assert!(silent.clone().count() > 10, "CCID {ccid}");
        assert!(
            silent.into_iter().all(|blocks| blocks.is_empty()),
            "it is done"
        );
        let there = pair.ends[0].stats(client).unwrap().dropped_by_peer;
        assert_eq!(there, [0, 0, 5, 0, 0, 0, 0, 0], "each counts once");
        for wire in &pair.log {
            agrees_with_the_vector(wire);
            let on_data = matches!(wire.packet_type(), PacketType::Data | PacketType::Request);
            assert!(!on_data || blocks(wire).is_empty());
        }
    }
}

/// Returns the packets that an Ack Vector says have not been received.
fn missing(wire: &Wire) -> Vec<Seq> {
    let packet = wire.packet();
    let mut missing = Vec::new();
    let mut at = packet.ack().map_or(Seq::ZERO, |ack| ack.extend(Seq::ZERO));
    for raw in packet.options {
        if let Ok(DccpOption::AckVector { entries, .. }) = raw.decode() {
            for entry in entries.iter() {
                for _ in 0..entry.run() {
                    if entry.state() == EntryState::NotReceived {
                        missing.push(at);
                    }
                    at = at.prev();
                }
            }
        }
    }
    missing
}

/// Asserts that no packet reported as dropped is missing in the Ack Vector.
fn agrees_with_the_vector(wire: &Wire) {
    let missing = missing(wire);
    for (seq, _) in reported(wire) {
        assert!(!missing.contains(&seq), "{seq:?}");
    }
}

/// Data so late that it may be a duplicate does not reach the application, so it is not reported as received either.
#[test]
fn data_too_old_to_tell_is_not_received() {
    let mut pair = Pair::new();
    let mut wide = config(2);
    wide.sequence_window = 8_192;
    let (_, server) = pair.open(wide.clone(), wide);
    // The client would say that it has not sent this.
    pair.lose(|wire| wire.from == 1);
    let before = pair.last_of(0).0;
    // The last one makes the server acknowledge once more.
    for ahead in [1_200, 200, 100, 1_201] {
        let wire = pair.forge(0, ahead, |_| Kind::Data, |_| {}, data(10));
        pair.deliver(1, &wire);
        pair.run_for(ms(500));
    }
    let mut acks = pair.log.iter().filter(|wire| wire.from == 1);
    let vector = missing(acks.next_back().expect("an acknowledgement"));
    let told = [1_201, 1_200, 200, 100].map(|ahead| vector.contains(&before.add(ahead)));
    assert_eq!(told, [false, false, false, true]);
    assert_eq!(pair.ends[1].stats(server).unwrap().data_received, 3);
}

/// Under loss, reordering and a full receive queue, reports agree with the Ack Vectors.
///
/// The sender gets nearly all of them.
#[test]
fn reports_agree_with_ack_vectors_under_loss() {
    let mut pair = Pair::new();
    let mut small = config(2);
    small.receive_queue_packets = 8;
    small.receive_queue_policy = ReceiveQueuePolicy::DropOldest;
    let ids = pair.open(config(2), small);
    let mut dice = Dice::new(4);
    pair.rule(move |_| match dice.next() >> 58 {
        0..2 => Some(Fault::Lose),
        2..4 => Some(Fault::Copy),
        4..6 => Some(Fault::Delay(ms(7))),
        _ => None,
    });
    read_slowly(&mut pair, ids, ms(60), ms(30_000));
    let reports = pair.log.iter().filter(|wire| !reported(wire).is_empty());
    assert!(reports.clone().count() > 50, "{}", reports.count());
    reports.for_each(agrees_with_the_vector);
    let here = pair.ends[1].stats(ids.1).unwrap().dropped_locally[2];
    let there = pair.ends[0].stats(ids.0).unwrap().dropped_by_peer[2];
    assert!(there > 20 && there + 10 >= here, "{there} of {here}");
}

/// RFC 4340, 8.1.3: the Response to a repeated Request reports its data with Drop Code 0.
///
/// The original Request, whose data was taken, is in a Normal Block.
#[test]
fn repeated_request_data_is_reported() {
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 1);
    pair.connect(Config::default(), Config::default());
    pair.run_for(ms(25));
    let kind = |_| Kind::Request { service: SERVICE };
    let first = pair.forge(0, 1, kind, |_| {}, data(7));
    let response = pair.answers_to(&first);
    assert_eq!(blocks(&response[0]), []);
    let again = pair.forge(0, 2, kind, |_| {}, data(7));
    let response = pair.answers_to(&again);
    assert_eq!(response[0].packet_type(), PacketType::Response);
    let refused = DropBlock::Dropped {
        code: DropCode::ProtocolConstraints,
        run: 1,
    };
    let delivered = DropBlock::Delivered { run: 2 };
    assert_eq!(blocks(&response[0]), [refused, delivered]);
}

/// RFC 4340, 11.7.2: after the application stops reading, all data is reported with Drop Code 1.
///
/// This includes data that was queued. The sender stops, and its application learns why. The other direction continues,
/// and the connection closes normally.
#[test]
fn item_21_a_reader_that_has_stopped() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        let (client, server) = pair.open(config(ccid), config(ccid));
        pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
        pair.run_for(ms(300));
        pair.ends[1].stop_reading(pair.now, server);
        assert!(pair.ends[1].recv(server).is_none(), "thrown away");
        pair.log.clear();
        let given: Vec<DatagramId> = (0..200)
            .map(|_| pair.ends[0].send(pair.now, client, data(SIZE)).unwrap())
            .collect();
        pair.run_for(ms(3_000));
        let stats = pair.ends[1].stats(server).unwrap();
        let codes: Vec<_> = pair.log.iter().flat_map(reported).collect();
        assert!(
            codes
                .iter()
                .all(|&(_, code)| code == DropCode::NotListening)
        );
        let sent = pair.ends[0].stats(client).unwrap();
        assert_eq!(stats.dropped_locally, [0, sent.data_sent, 0, 0, 0, 0, 0, 0]);
        assert!(sent.data_sent < 50, "{}", sent.data_sent);
        let told = pair.told(0);
        let of = |wanted: &Event| told.iter().filter(|event| *event == wanted).count();
        assert_eq!(of(&Event::NotListening), 1);
        let refused = given.iter().filter(|&&id| {
            let fate = Fate::Refused;
            told.contains(&Event::Fate { id, fate })
        });
        assert_eq!(refused.count() as u64, 201 - sent.data_sent, "CCID {ccid}");
        let more = pair.ends[0].send(pair.now, client, data(1));
        assert_eq!(more, Err(SendError::NotListening));
        assert!(!pair.ends[0].can_send(client, 1));
        pair.ends[1].send(pair.now, server, data(3)).unwrap();
        pair.run_for(ms(300));
        assert!(pair.ends[0].recv(client).is_some(), "the other way");
        pair.ends[0].close(pair.now, client);
        pair.run_for(ms(300));
        let reason = fairwire_proto::CloseReason::Closed;
        assert!(pair.told(1).contains(&Event::Closed { reason }));
    }
}

/// Adversarial item 21: a full receive queue that nobody reads stays bounded and does not block the connection.
///
/// Acknowledgements, a Sync and the Close are handled as usual. The peer gets Data Dropped with Drop Code 2 and Slow
/// Receiver, and its other direction still carries data.
#[test]
fn item_21_a_reader_that_stalls() {
    for ccid in [2, 3] {
        let mut pair = Pair::new();
        let mut small = config(ccid);
        small.receive_queue_packets = 16;
        let (client, server) = pair.open(config(ccid), small);
        let until = pair.now + ms(5_000);
        while pair.now < until {
            for (side, id) in [(0, client), (1, server)] {
                while pair.ends[side].can_send(id, SIZE as usize) {
                    pair.ends[side].send(pair.now, id, data(SIZE)).unwrap();
                }
            }
            while pair.ends[0].recv(client).is_some() {}
            pair.run_for(ms(10));
        }
        let (sent, here) = (
            pair.ends[0].stats(client).unwrap(),
            pair.ends[1].stats(server).unwrap(),
        );
        assert!(here.receive_drops > 0, "CCID {ccid}");
        assert!(sent.dropped_by_peer[2] > 0, "CCID {ccid}");
        assert!(sent.slow_receivers > 0, "CCID {ccid}");
        // The stalled side's own data still flows, at a far higher rate than its reader.
        assert!(here.data_sent > 1_000, "CCID {ccid}: {}", here.data_sent);
        let answers = pair.inject(0, 1, |ack| Kind::Sync { ack }, |_| {});
        assert_eq!(answers[0].packet_type(), PacketType::SyncAck);
        let queued = std::iter::from_fn(|| pair.ends[1].recv(server)).count();
        assert_eq!(queued, 16);
        pair.ends[0].discard(pair.now, client);
        pair.run_for(ms(1_000));
        let reason = fairwire_proto::CloseReason::Closed;
        assert!(pair.told(1).contains(&Event::Closed { reason }));
    }
}

/// RFC 4340, 11.6: an application may report that it is slow; the peer sees this for one round trip.
#[test]
fn an_application_calls_itself_slow() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(2), config(2));
    for (slow, seen) in [(false, false), (true, true), (false, false)] {
        pair.ends[1].set_slow(pair.now, server, slow);
        pair.log.clear();
        for _ in 0..4 {
            pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
        }
        pair.run_for(ms(50));
        assert_eq!(pair.ends[0].is_receiver_slow(pair.now, client), seen);
        pair.run_for(ms(1_000));
        assert!(!pair.ends[0].is_receiver_slow(pair.now, client));
        let acks = pair.log.iter().filter(|wire| wire.from == 1);
        assert!(acks.clone().count() >= 1, "of four packets");
        assert!(acks.clone().all(|ack| says_slow(ack) == slow));
    }
    // A new event comes only after a round trip (40 ms) without the option.
    pair.events[0].clear();
    let ack = |ack| Kind::Ack { ack };
    for (wait, told) in [(1, 1), (39, 1), (39, 1), (41, 2)] {
        pair.run_for(ms(wait));
        pair.inject(1, 1, ack, |encoder| {
            encoder.option(&DccpOption::SlowReceiver).unwrap();
        });
        let (seq, _) = pair.last_of(1);
        pair.log.push(pair.forge(1, 1, ack, |_| {}, data(0)));
        assert_ne!(pair.last_of(1).0, seq);
        let events = pair.told(0);
        let slow = events.iter().filter(|event| **event == Event::SlowReceiver);
        assert_eq!(slow.count(), told, "{wait}");
    }
}

/// RFC 4340, 11.7: an application may report what it dropped itself.
///
/// It can neither replace a Drop Code nor report packets that never arrived.
#[test]
fn an_application_reports_what_it_dropped() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(2), config(2));
    for _ in 0..4 {
        pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
    }
    pair.run_for(ms(100));
    let received = pair.ends[1].recv(server).unwrap();
    let mut report = |seq, code| pair.ends[1].report_dropped(pair.now, server, seq, code);
    assert!(report(received.seq, DropCode::Corrupt));
    assert!(!report(received.seq, DropCode::ReceiveBuffer));
    assert!(!report(received.seq.add(1_000), DropCode::ReceiveBuffer));
    pair.log.clear();
    pair.saturate(0, client, SIZE, ms(300));
    let told: Vec<_> = pair.log.iter().flat_map(reported).collect();
    assert!(!told.is_empty());
    assert!(told.iter().all(|&t| t == (received.seq, DropCode::Corrupt)));
}

/// RFC 4340, 8.2: data that arrives before its CCID is agreed on cannot be acknowledged, so it is dropped.
///
/// It is counted with Drop Code 0.
#[test]
fn data_before_its_ccid_is_refused() {
    let mut pair = Pair::new();
    // The Changes of the server's CCIDs are never answered: the peer does not implement them.
    pair.lose(|wire| wire.from == 1);
    let id = pair.connect_only(Config::default());
    assert!(pair.ends[0].stats(id).is_some());
    let listening = pair.ends[1].listen(PORT, &[SERVICE], Config::default());
    assert_eq!(listening, Ok(()));
    let (_, ports) = pair.last_of(0);
    let iss = Seq::new(1_000);
    let request = pair.forged(0, ports, iss, &Kind::Request { service: SERVICE });
    let response = pair.answers_to(&request);
    let ack = response[0].packet().seq;
    let mut early = pair.forged(0, ports, iss.next(), &Kind::DataAck { ack });
    early.transmit.payload = data(10);
    let path = pair.path(0);
    reseal(&mut early, &path);
    pair.answers_to(&early);
    let server = pair.server.expect("accepted");
    assert!(pair.ends[1].recv(server).is_none());
    let stats = pair.ends[1].stats(server).unwrap();
    assert_eq!(stats.receive_ccid, None);
    assert_eq!(stats.dropped_locally, [1, 0, 0, 0, 0, 0, 0, 0]);
}

/// Returns a CCID 2 sender with 10 packets in flight, after a report that the newest 4 were dropped.
fn told_of_a_window(code: u8) -> (Pair, ConnectionId) {
    let mut pair = Pair::new();
    let mut sender = config(2);
    sender.ccid2.initial_window = Some(10.0);
    sender.ccid2.initial_ssthresh = Some(1_000.0);
    let (client, _) = pair.open(sender, config(2));
    pair.lose(|wire| wire.from == 1);
    for _ in 0..10 {
        pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
    }
    pair.run_for(ms(30));
    let (newest, _) = pair.last_of(0);
    let kind = |_| Kind::Ack { ack: newest.into() };
    pair.inject(1, 20, kind, |encoder| {
        encoder.raw_option(38, &[9]).unwrap();
        encoder.raw_option(40, &[0x80 | code << 4 | 3]).unwrap();
    });
    (pair, client)
}

/// RFC 4340, 11.7 and 11.7.2, and RFC 4341, 5.2: each Drop Code has its effect on the window.
///
/// Four of ten packets in flight were dropped. With Drop Code 2 the window shrinks by four. With 0 it is not reduced,
/// and grows. With every other code it is halved, as by marks. Each packet has the fate of its code.
#[test]
fn codes_have_their_effect_on_a_window() {
    for code in 0..8 {
        let (pair, client) = told_of_a_window(code);
        let stats = pair.ends[0].stats(client).unwrap();
        let window = match code {
            // Half the Ack Ratio of two for each acknowledgement.
            0 => 11.0,
            2 => 6.0,
            _ => 5.0,
        };
        assert_eq!(stats.gauges.cwnd_packets, Some(window), "code {code}");
        let slow_start = stats.gauges.ssthresh_packets > Some(window);
        assert_eq!(slow_start, code == 0, "code {code}");
        assert_eq!(stats.dropped_by_peer[usize::from(code)], 4);
        assert_eq!((stats.acknowledged, stats.marked), (10, 0));
        let fates: Vec<_> = pair
            .told(0)
            .into_iter()
            .filter_map(|event| match event {
                Event::Fate { fate, .. } => Some(fate),
                _ => None,
            })
            .collect();
        let code = DropCode::from_number(code);
        let mut expected = vec![Fate::Acknowledged; 6];
        expected.extend([Fate::Dropped { code }; 4]);
        assert_eq!(fates, expected);
    }
}

/// RFC 4340, 11.7.2: after Drop Code 0 no data is sent for a round trip (40 ms here); after Drop Code 3 it is.
#[test]
fn refused_data_makes_a_pause() {
    for (code, pauses) in [(0, true), (3, false)] {
        let (mut pair, client) = told_of_a_window(code);
        let sent = |pair: &Pair| pair.ends[0].stats(client).unwrap().data_sent;
        assert_eq!(sent(&pair), 10);
        pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
        pair.run_for(ms(39));
        assert_eq!(sent(&pair) == 10, pauses, "code {code}");
        pair.run_for(ms(2));
        assert_eq!(sent(&pair), 11, "code {code}");
    }
}

/// RFC 4340, 11.7 and 7.5.4: a packet with an invalid number is not received, and its options have no effect.
///
/// Its Timestamp is not echoed, and its drop report is ignored.
#[test]
fn invalid_packets_have_no_options() {
    for (ahead, valid) in [(1, true), (5_000, false)] {
        let mut pair = Pair::new();
        let (client, _) = pair.open(config(2), config(2));
        pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
        pair.run_for(ms(300));
        let ack = |ack| Kind::Ack { ack };
        let before = pair.log.len();
        pair.inject(1, ahead, ack, |encoder| {
            encoder.option(&DccpOption::Timestamp(77)).unwrap();
            encoder.option(&DccpOption::SlowReceiver).unwrap();
            encoder.raw_option(40, &[0xA0]).unwrap();
        });
        let stats = pair.ends[0].stats(client).unwrap();
        assert_eq!(stats.slow_receivers, u64::from(valid));
        assert_eq!(stats.dropped_by_peer[2], u64::from(valid));
        pair.ends[0].send(pair.now, client, data(SIZE)).unwrap();
        pair.drain();
        let echo = |raw: fairwire_wire::RawOption<'_>| {
            matches!(
                raw.decode(),
                Ok(DccpOption::TimestampEcho { timestamp: 77, .. })
            )
        };
        let sent = pair.log[before..].iter().filter(|wire| wire.from == 0);
        let echoed = sent.flat_map(|wire| wire.packet().options).any(echo);
        assert_eq!(echoed, valid);
    }
}

/// A large receive queue that drops the oldest packets slows the sender as one that drops the newest does.
///
/// The queue has the default size or a larger one. The oldest packet is still recent enough to be reported.
#[test]
fn finding_17_a_large_queue_that_drops_the_oldest_slows_the_sender() {
    for (ccid, size) in [(2, 4_096), (2, 20_000), (3, 4_096)] {
        let mut pair = Pair::new();
        let mut slow = config(ccid);
        slow.receive_queue_packets = size;
        slow.receive_queue_bytes = usize::MAX;
        slow.receive_queue_policy = ReceiveQueuePolicy::DropOldest;
        let ids = pair.open(config(ccid), slow);
        pair.record = false;
        pair.bottleneck = Some((ms(1), 200));
        let to_fill = ms(size as u64);
        read_slowly(&mut pair, ids, ms(10), to_fill + ms(20_000));
        let before = pair.ends[0].stats(ids.0).unwrap();
        read_slowly(&mut pair, ids, ms(10), ms(20_000));
        let sent = pair.ends[0].stats(ids.0).unwrap();
        let here = pair.ends[1].stats(ids.1).unwrap();
        let name = format!("CCID {ccid}, {size}");
        assert!(here.receive_drops > 0, "{name}");
        assert_eq!(here.dropped_locally[2], here.receive_drops, "{name}");
        let (there, here) = (sent.dropped_by_peer[2], here.dropped_locally[2]);
        assert!(
            there <= here && here - there < 200,
            "{there} of {here}, {name}"
        );
        // 2,000 are read, where the network would carry 20,000.
        let packets = sent.data_sent - before.data_sent;
        assert!(packets < 4_000, "{packets}: {name}");
    }
}
