//! Peers that vanish: no state is kept for them for ever, whatever state they leave us in.

use fairwire_kit::{Fault, PORT, Pair, SERVICE, Wire, config_of, data, ms, reseal};
use fairwire_units::Duration;
use fairwire_wire::{Ccid, HeadBuf, Kind, PacketType, Ports, ResetCode, Seq};

use fairwire_proto::{Config, ConnectionId, Event, Meta, QueuePolicy, ReceiveQueuePolicy};

const TEN_DAYS: Duration = Duration::from_secs(10 * 24 * 3_600);

/// Runs for `time` and returns the number of moments at which something happened.
fn wake_ups(pair: &mut Pair, time: Duration) -> u32 {
    let until = pair.now + time;
    let mut count = 0;
    while pair.step(until) {
        count += 1;
    }
    pair.now = until;
    count
}

/// Returns the numbers of live, half-open and TIMEWAIT connections of an endpoint.
fn held(pair: &Pair, side: usize) -> (usize, usize, usize) {
    let stats = pair.ends[side].endpoint_stats();
    (stats.connections, stats.half_open, stats.time_wait)
}

/// Returns the configurations of the open connections that are left alone.
fn configs() -> Vec<Config> {
    let mut all = Vec::new();
    for ccid in [2, 3, 4] {
        for (policy, sends) in [
            (ReceiveQueuePolicy::DropNewest, QueuePolicy::BackPressure),
            (ReceiveQueuePolicy::DropOldest, QueuePolicy::DropOldest),
        ] {
            let mut config = Config::default();
            config.send_ccids = vec![Ccid::new(ccid)];
            config.receive_ccids = vec![Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP];
            config.receive_queue_packets = 3;
            config.receive_queue_policy = policy;
            config.send_queue.policy = sends;
            config.report_fates = policy == ReceiveQueuePolicy::DropOldest;
            all.push(config);
        }
    }
    all
}

/// Opens a connection and returns its ids at both ends.
fn open(pair: &mut Pair, config: &Config) -> (ConnectionId, ConnectionId) {
    pair.server = None;
    let client = pair.connect_only(config.clone());
    pair.run_for(ms(300));
    (client, pair.server.expect("accepted"))
}

/// Opens one connection for each configuration and each activity of the ends. Returns their number.
fn leave_in_every_way(pair: &mut Pair) -> u32 {
    let mut count = 0;
    for config in &configs() {
        for way in 0..9 {
            let (client, server) = open(pair, config);
            count += 1;
            let ids = [client, server];
            let mut send = |side: usize, packets: u32| {
                for _ in 0..packets {
                    let _ = pair.ends[side].send(pair.now, ids[side], data(900));
                }
            };
            match way {
                0 => {}
                1 => send(0, 20),
                2 => send(1, 20),
                3 => {
                    send(0, 400);
                    send(1, 400);
                }
                4 => {
                    send(0, 5);
                    pair.ends[1].stop_reading(pair.now, server);
                }
                5 => pair.ends[0].set_slow(pair.now, client, true),
                6 => {
                    send(1, 300);
                    pair.ends[0].close(pair.now, client);
                }
                7 => {
                    send(1, 300);
                    pair.ends[1].close(pair.now, server);
                }
                _ => pair.ends[1].discard(pair.now, server),
            }
            pair.run_for(ms(10));
        }
    }
    count
}

/// After ten days of silence an endpoint with default settings holds no connection and no TIMEWAIT entry.
///
/// It holds whatever the connections were doing when all other hosts vanished. The endpoint wakes up only some dozen
/// times for each, for retransmissions with back-off and one or two keep-alives.
#[test]
fn finding_4_ten_days_of_silence_leave_no_connection() {
    let mut pair = Pair::new();
    pair.record = false;
    for config in configs().into_iter().take(1) {
        let listening = pair.ends[1].listen(PORT, &[SERVICE], config);
        assert_eq!(listening, Ok(()));
    }
    let mut count = leave_in_every_way(&mut pair);
    // REQUEST and PARTOPEN at the client, RESPOND at the server.
    for lost in [PacketType::Request, PacketType::Response, PacketType::Ack] {
        pair.rule(move |wire| (wire.packet_type() == lost).then_some(Fault::Lose));
        let client = pair.connect_only(Config::default());
        let _ = pair.ends[0].send(pair.now, client, data(9));
        pair.run_for(ms(100));
        count += 1;
    }
    let path = pair.path(1);
    let invited =
        pair.ends[1].listen_towards(pair.now, path, 7_000, 7_001, SERVICE, Config::default());
    assert!(invited.is_ok());
    pair.lose(|_| true);
    assert!(held(&pair, 0).0 > 30 && held(&pair, 1).0 > 30);
    let woken = wake_ups(&mut pair, TEN_DAYS);
    assert_eq!([held(&pair, 0), held(&pair, 1)], [(0, 0, 0); 2]);
    assert_eq!(pair.next(), None);
    let each = woken / (2 * count);
    assert!(each < 50, "{woken} wake-ups for {count} connections");
    for end in &mut pair.ends {
        let ids: Vec<_> = end.ids().collect();
        for id in ids {
            end.release(id);
        }
        assert_eq!(end.ids().count(), 0);
    }
}

/// A connection that only receives notices that its peer is gone, and reports it.
///
/// This takes one keep-alive interval and one idle timeout after the last packet.
#[test]
fn finding_4_a_receiver_notices_that_the_sender_is_gone() {
    for ccid in [2, 3, 4] {
        let mut pair = Pair::new();
        let config = config_of(ccid);
        let (client, _) = pair.open(config.clone(), config);
        for _ in 0..20 {
            pair.ends[0].send(pair.now, client, data(500)).unwrap();
            pair.run_for(ms(20));
        }
        pair.lose(|_| true);
        pair.run_for(ms(46_000));
        let closed = |event: &Event| matches!(event, Event::Closed { .. });
        assert!(pair.told(1).iter().any(closed), "CCID {ccid}");
        assert_eq!(pair.ends[1].endpoint_stats().connections, 0);
    }
}

/// One address gets its share of the connections, and Too Busy beyond it.
///
/// Other addresses are not affected, and a connection that ends makes room.
#[test]
fn finding_4_one_source_has_its_share_of_connections() {
    let mut pair = Pair::new();
    pair.ends[1].reconfigure(|config| config.max_connections_per_source = 3);
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let ids: Vec<_> = (0..5)
        .map(|_| {
            let id = pair.connect_only(Config::default());
            pair.run_for(ms(200));
            id
        })
        .collect();
    assert_eq!(pair.ends[1].endpoint_stats().connections, 3);
    let busy = pair.log.iter().filter_map(Wire::reset);
    let codes: Vec<_> = busy.map(|(code, _)| code).collect();
    assert_eq!(codes, [ResetCode::TooBusy; 2]);

    let ports = Ports {
        source: 9,
        destination: PORT,
    };
    let kind = Kind::Request { service: SERVICE };
    let mut stranger = pair.forged(0, ports, Seq::new(5), &kind);
    let mut meta = Meta {
        path: pair.path(1),
        ecn: stranger.transmit.ecn,
    };
    meta.path.remote = "192.0.2.77:0".parse().unwrap();
    let mut from = pair.path(0);
    from.local = meta.path.remote;
    reseal(&mut stranger, &from);
    let payload = stranger.transmit.payload.clone();
    pair.ends[1].handle_datagram(pair.now, meta, &stranger.head, payload);
    let mut head = HeadBuf::new();
    while pair.ends[1].poll_transmit(pair.now, &mut head).is_some() {}
    assert_eq!(pair.ends[1].endpoint_stats().connections, 4);

    pair.ends[0].abort(pair.now, ids[0]);
    pair.run_for(ms(100));
    pair.connect_only(Config::default());
    pair.run_for(ms(200));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 4);
    assert_eq!(pair.ends[1].endpoint_stats().refused, 2);
}
