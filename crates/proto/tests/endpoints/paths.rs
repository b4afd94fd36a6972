//! Addresses, checksums, encapsulation and sizes.

use std::net::SocketAddr;

use bytes::Bytes;
use fairwire_kit::{Dice, Fault, PORT, Pair, SERVICE, Wire, config_of, data, ms, plain};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType};

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path,
    PathMtuDiscovery, Payload, SendError,
};

/// RFC 4340, 14: an accepted connection learns the MTU of its first hop late, and respects it from then on.
///
/// It takes no larger datagram and sends no larger packet. The call cannot raise the path MTU.
#[test]
fn an_accepted_connection_fits_its_path() {
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.path_mtu_discovery = PathMtuDiscovery::Off;
    let (client, server) = pair.open(config.clone(), config);
    let before = pair.ends[1].max_datagram_size(server).unwrap();
    pair.ends[1].limit_path_mtu(pair.now, server, 9_000);
    assert_eq!(pair.ends[1].max_datagram_size(server), Some(before));
    pair.ends[1].limit_path_mtu(pair.now, server, 1_280);
    let max = pair.ends[1].max_datagram_size(server).unwrap();
    assert_eq!(max, before - 220);
    let size = u32::try_from(max).unwrap();
    let refused = pair.ends[1].send(pair.now, server, data(size + 1));
    assert!(matches!(refused, Err(SendError::TooLarge { .. })));
    pair.log.clear();
    for _ in 0..20 {
        pair.ends[1].send(pair.now, server, data(size)).unwrap();
    }
    pair.run_for(ms(2_000));
    let of = |wire: &Wire| 20 + wire.head.len() + wire.transmit.payload.len();
    let largest = pair.log.iter().map(of).max();
    assert!(
        largest.is_some_and(|ip| ip <= 1_280 && ip > max),
        "{largest:?}"
    );
    assert_eq!(pair.ends[0].stats(client).unwrap().data_received, 20);
}

/// RFC 4340, 14: a datagram of the largest size is always sent, whatever options its packet carries.
///
/// No packet ever exceeds the path MTU, and a datagram with one byte more is refused.
#[test]
fn what_is_accepted_fits() {
    for ccid in [2, 3, 4] {
        for encapsulation in [Encapsulation::Native, Encapsulation::Udp] {
            let mut pair = Pair::along(encapsulation, ms(20));
            let mut config = config_of(ccid);
            config.path_mtu = 576;
            let (client, server) = pair.open(config.clone(), config);
            let max = pair.ends[0].max_datagram_size(client).unwrap();
            let size = u32::try_from(max).unwrap();
            let too_large = pair.ends[0].send(pair.now, client, data(size + 1));
            let size_given = max + 1;
            assert_eq!(
                too_large,
                Err(SendError::TooLarge {
                    size: size_given,
                    max
                })
            );
            // Heavy loss makes Ack Vectors and Loss Intervals long.
            let mut dice = Dice::new(5);
            pair.rule(move |_| dice.chance(100).then_some(Fault::Lose));
            pair.bottleneck = Some((ms(1), 20));
            pair.saturate_both([client, server], size, ms(10_000));
            let udp = if encapsulation == Encapsulation::Udp {
                8
            } else {
                0
            };
            for wire in &pair.log {
                let len = 20 + udp + wire.head.len() + wire.transmit.payload.len();
                assert!(len <= 576, "{len}: {:?}", wire.packet());
            }
            for (side, id) in [(0, client), (1, server)] {
                let stats = pair.ends[side].stats(id).unwrap();
                assert!(stats.data_received > 200, "{stats:?}");
            }
        }
    }
}

/// RFC 4340, 9.1: natively a packet with one wrong bit is dropped.
///
/// RFC 6773, 3.3: in UDP the checksum field is sent as zero and ignored on receipt.
#[test]
fn checksums() {
    for encapsulation in [Encapsulation::Native, Encapsulation::Udp] {
        let mut pair = Pair::along(encapsulation, ms(20));
        let (_, server) = pair.open(Config::default(), Config::default());
        let native = encapsulation == Encapsulation::Native;
        let zero = pair.log.iter().all(|w| w.packet().checksum == 0);
        assert_eq!(zero, !native);
        let payload = Payload::from(vec![1, 2, 3]);
        let mut wire = pair.forge(0, 1, |_| Kind::Data, |_| {}, payload);
        wire.transmit.payload = Payload::from(vec![1, 2, 7]);
        pair.answers_to(&wire);
        assert_eq!(pair.ends[1].recv(server).is_none(), native);
        let errors = pair.ends[1].endpoint_stats().checksum_errors;
        assert_eq!(errors, u64::from(native));
    }
}

/// RFC 4340, 9.2: with partial coverage only damage to covered data drops the packet.
///
/// Data shorter than the coverage is covered completely.
#[test]
fn item_7_partial_coverage() {
    for (damaged, arrives) in [(3, false), (4, true)] {
        let mut pair = Pair::new();
        let mut config = Config::default();
        config.checksum_coverage = 2;
        let mut tolerant = Config::default();
        tolerant.minimum_checksum_coverage = 1;
        let (client, server) = pair.open(config, tolerant);
        let bytes = Payload::from(vec![9; 10]);
        pair.log.clear();
        pair.ends[0].send(pair.now, client, bytes).unwrap();
        pair.lose(|_| true);
        pair.drain();
        let is_data = |w: &&Wire| w.transmit.id.is_some();
        let mut wire = pair.log.iter().find(is_data).unwrap().clone();
        assert_eq!(wire.packet().cscov, 2);
        let mut bytes = vec![9; 10];
        bytes[damaged] = 0;
        wire.transmit.payload = Payload::from(bytes);
        pair.answers_to(&wire);
        assert_eq!(
            pair.ends[1].recv(server).is_some(),
            arrives,
            "byte {damaged}"
        );
    }
    let mut pair = Pair::new();
    let mut config = Config::default();
    config.checksum_coverage = 15;
    let mut tolerant = Config::default();
    tolerant.minimum_checksum_coverage = 1;
    let (client, server) = pair.open(config, tolerant);
    pair.ends[0]
        .send(pair.now, client, Payload::from(vec![9; 10]))
        .unwrap();
    pair.run_for(ms(100));
    assert!(pair.ends[1].recv(server).is_some());
}

struct Server {
    end: Endpoint,
    udp: SocketAddr,
    accepted: Vec<ConnectionId>,
}

/// Moves all packets between the clients and one server for 40 ms, long enough for a handshake.
fn settle(now: &mut Instant, clients: &mut [(Endpoint, SocketAddr)], server: &mut Server) {
    let path = |local, remote| Path {
        encapsulation: Encapsulation::Udp,
        local,
        remote,
    };
    let mut head = HeadBuf::new();
    for _ in 0..40 {
        for (client, address) in clients.iter_mut() {
            client.handle_timeout(*now);
            while let Some(transmit) = client.poll_transmit(*now, &mut head) {
                let path = path(server.udp, *address);
                let meta = plain(path);
                let bytes = head.as_slice().to_vec();
                server
                    .end
                    .handle_datagram(*now, meta, &bytes, transmit.payload);
            }
        }
        while let Some(transmit) = server.end.poll_transmit(*now, &mut head) {
            let remote = transmit.path.remote;
            let to = clients.iter_mut().find(|(_, address)| *address == remote);
            let (client, address) = to.expect("a known client");
            let path = path(*address, server.udp);
            let meta = plain(path);
            client.handle_datagram(*now, meta, head.as_slice(), transmit.payload);
        }
        while let Some((id, event)) = server.end.poll_event() {
            if matches!(event, Event::Accepted { .. }) {
                server.accepted.push(id);
            }
        }
        *now += ms(1);
    }
}

/// RFC 6773, 3.8: all six parts of the address distinguish connections.
///
/// Several connections use one pair of UDP ports, the same DCCP ports from two hosts (as behind two NATs), and the same
/// DCCP ports from two UDP ports of one host. None of them gets data of another.
#[test]
fn item_31_six_parts_tell_connections_apart() {
    let mut now = Instant::START + ms(1_000);
    let udp = ([192, 0, 2, 9], 6_511).into();
    let new = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
    let mut server = Server {
        end: new(9),
        udp,
        accepted: Vec::new(),
    };
    server
        .end
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let addresses = [(1, 4_000), (2, 4_000), (1, 4_001)]
        .map(|(host, port)| SocketAddr::from(([192, 0, 2, host], port)));
    let mut clients: Vec<_> = addresses
        .into_iter()
        .map(|address| (new(1), address))
        .collect();
    let mut ids = Vec::new();
    for (client, local) in &mut clients {
        for local_port in [50_001, 50_002] {
            let path = Path {
                encapsulation: Encapsulation::Udp,
                local: *local,
                remote: udp,
            };
            let port = Some(local_port);
            let id = client
                .connect(now, path, port, PORT, SERVICE, Config::default())
                .unwrap();
            ids.push(id);
        }
    }
    settle(&mut now, &mut clients, &mut server);
    assert_eq!(server.accepted.len(), 6);
    for (i, id) in ids.iter().enumerate() {
        let payload = Payload::Bytes(Bytes::from(vec![i as u8]));
        clients[i / 2].0.send(now, *id, payload).unwrap();
    }
    settle(&mut now, &mut clients, &mut server);
    let mut got: Vec<_> = server
        .accepted
        .clone()
        .into_iter()
        .map(|id| {
            let (_, remote_port, path) = server.end.addresses(id).unwrap();
            let received = server.end.recv(id).unwrap();
            let expected = addresses.iter().position(|a| *a == path.remote).unwrap() * 2
                + usize::from(remote_port - 50_001);
            assert_eq!(received.payload.as_slice(), [expected as u8]);
            assert!(server.end.recv(id).is_none());
            expected
        })
        .collect();
    got.sort_unstable();
    assert_eq!(got, [0, 1, 2, 3, 4, 5]);
}

/// A connection that began on a socket bound to the unspecified address gets its packets.
#[test]
fn an_open_local_address_matches_any() {
    let mut now = Instant::START;
    let udp = ([192, 0, 2, 9], 6_511).into();
    let new = |secret| Endpoint::new(EndpointConfig::default(), [secret; 32]);
    let mut server = Server {
        end: new(9),
        udp,
        accepted: Vec::new(),
    };
    server
        .end
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let address = ([192, 0, 2, 1], 4_000).into();
    let mut clients = [(new(1), address)];
    let path = Path {
        encapsulation: Encapsulation::Udp,
        local: ([0, 0, 0, 0], 4_000).into(),
        remote: udp,
    };
    clients[0]
        .0
        .connect(now, path, None, PORT, SERVICE, Config::default())
        .unwrap();
    settle(&mut now, &mut clients, &mut server);
    assert_eq!(server.accepted.len(), 1);
    let connected = clients[0].0.poll_event().map(|(_, event)| event);
    assert_eq!(connected, Some(Event::Connected));
}

/// Connections with much to send take turns, packet by packet.
#[test]
fn connections_take_turns() {
    let mut pair = Pair::new();
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let mut config = Config::default();
    config.ccid2.initial_window = Some(8.0);
    let ids = [0; 4].map(|_| pair.connect_only(config.clone()));
    pair.run_for(ms(500));
    for id in ids {
        for _ in 0..8 {
            pair.ends[0].send(pair.now, id, data(10)).unwrap();
        }
    }
    pair.log.clear();
    pair.drain();
    let data = pair.log.iter().filter(|w| w.transmit.id.is_some());
    let order: Vec<_> = data.filter_map(|w| w.transmit.connection).collect();
    assert_eq!(order.len(), 32);
    for turn in order.chunks(4) {
        assert_eq!(turn, ids);
    }
}

/// Ten thousand connections open, send and close, and leave only entries in TIMEWAIT.
#[test]
fn many_connections() {
    let mut pair = Pair::new();
    pair.record = false;
    pair.ends[1].reconfigure(|config| config.max_half_open = 20_000);
    pair.ends[1].reconfigure(|config| config.max_connections_per_source = 20_000);
    pair.ends[1].reconfigure(|config| config.max_answers_per_source_per_s = 20_000);
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let ids: Vec<_> = (0..10_000)
        .map(|_| pair.connect_only(Config::default()))
        .collect();
    pair.run_for(ms(500));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 10_000);
    for &id in &ids {
        pair.ends[0].send(pair.now, id, data(10)).unwrap();
        pair.ends[0].close(pair.now, id);
    }
    pair.run_for(ms(2_000));
    for end in &pair.ends {
        assert_eq!(end.endpoint_stats().connections, 0);
        assert!(end.states().all(|state| state == "CLOSED"));
    }
    assert_eq!(pair.ends[0].endpoint_stats().time_wait, 10_000);
    let served: Vec<_> = pair.events[1].iter().map(|&(_, id, _)| id).collect();
    for id in served {
        pair.ends[1].release(id);
    }
    assert_eq!(pair.ends[1].states().count(), 0);
    pair.run_for(Duration::from_secs(300));
    assert_eq!(pair.next(), None);
}

/// A packet that was not split into header and payload is accepted as `head`.
#[test]
fn a_whole_packet_may_come_as_head() {
    let (mut pair, [_, server]) = Pair::opened();
    let wire = pair.forge(0, 1, |_| Kind::Data, |_| {}, Payload::from(vec![4, 5, 6]));
    let mut whole = wire.head.clone();
    whole.extend_from_slice(&[4, 5, 6]);
    let meta = Meta {
        path: pair.path(1),
        ecn: Ecn::Ect0,
    };
    pair.ends[1].handle_datagram(pair.now, meta, &whole, Payload::EMPTY);
    let got = pair.ends[1].recv(server).map(|r| r.payload);
    assert_eq!(got, Some(Payload::from(vec![4, 5, 6])));
    assert_eq!(wire.packet_type(), PacketType::Data);
}
