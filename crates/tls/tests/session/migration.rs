//! Clients of encrypted connections that get another address (RFC 9000, sections 8 and 9; RFC 9853), behind a NAT that a
//! test controls, and attackers who see every packet.

use fairwire_proto::{CloseReason, Config, EndpointConfig, Event, InitCookies, SendOptions};
use fairwire_units::Duration;
use fairwire_wire::Ccid;

use crate::ends::{Both, Dress, dtls, path};
use crate::nat::{Nat, RTT, Seen, address, config, is_unknown};
use crate::net::{CLIENT, DELAY, SERVER};

/// Configurations in which a client is followed: the default one, and that of interactive traffic.
fn followed() -> [Config; 2] {
    let mut interactive = Config::interactive();
    interactive.migration = true;
    interactive.report_fates = true;
    [config(), interactive]
}

/// A NAT gives the client another port, twice, and it gets another host's address: the connection goes on. What was sent
/// to the old address in the one and a half round trips until the client has answered is lost, and nothing else.
#[test]
fn a_client_is_followed() {
    for config in followed() {
        let mut nat = Nat::new(config);
        nat.talk(50);
        let mut from = nat.remote();
        let places = [(1, 7_001), (1, 7_002), (9, 7_003), (9, 7_004), (8, 4_000)];
        for (number, (host, port)) in places.into_iter().enumerate() {
            let to = address(host, port);
            let mark = nat.both.read[CLIENT].len();
            nat.rebind(to);
            let [here, there] = nat.talk(50);
            assert_eq!(nat.remote(), to);
            assert_eq!(nat.moves()[number], (from, to));
            // Four round trips' quarters: those on their way, and those sent until the client has answered.
            assert!(here >= 50 - 10, "{to}: {here} of 50, {mark}");
            assert!(there >= 50 - 2, "{to}: {there} of 50");
            from = to;
        }
        assert_eq!(nat.moves().len(), places.len());
        assert_eq!(nat.stats(SERVER).migrations, places.len() as u64);
        assert!(nat.is_open());
        nat.both.ends[CLIENT].close(nat.both.now, nat.both.id(CLIENT));
        nat.run_for(Duration::from_secs(3));
        for end in [CLIENT, SERVER] {
            assert_eq!(nat.both.closed(end), Some(&CloseReason::Closed));
        }
    }
}

/// The server sends nothing to the old address once the client has answered at the new one, which takes two round trips
/// from the moment when the NAT forgot the old one.
#[test]
fn the_gap_is_two_round_trips() {
    for config in followed() {
        let mut nat = Nat::new(config);
        nat.talk(50);
        let to = address(1, 7_001);
        nat.rebind(to);
        nat.both.send(CLIENT, b"here I am", SendOptions::default());
        nat.run_for(DELAY + RTT);
        assert_eq!(nat.remote(), to);
        let before = nat.sent[SERVER].len();
        let [here, _] = nat.talk(20);
        let all = &nat.sent[SERVER][before..];
        assert!(all.iter().all(|seen| seen.outside == to), "{all:?}");
        assert!(here >= 20 - 3, "{here}");
    }
}

/// What may be sent again is sent again when the client has another address: nothing is missing in the end.
#[test]
fn nothing_queued_is_lost() {
    for place in [(1, 7_001), (9, 4_000)] {
        let mut nat = Nat::new(config());
        nat.talk(50);
        nat.rebind(address(place.0, place.1));
        let mut options = SendOptions::default();
        options.resend = fairwire_proto::Resend::Until(nat.both.now + Duration::from_secs(20));
        let before = nat.both.read[CLIENT].len();
        for number in 0..40_u8 {
            nat.both.send(SERVER, &[number; 300], options);
        }
        nat.both.send(CLIENT, b"here I am", SendOptions::default());
        nat.run_for(Duration::from_secs(5));
        let read = &nat.both.read[CLIENT][before..];
        let mut got: Vec<u8> = read.iter().map(|read| read.payload.as_slice()[0]).collect();
        got.sort_unstable();
        assert_eq!(got, (0..40).collect::<Vec<u8>>(), "{place:?}");
    }
}

/// A client that says nothing is asked as soon as it says anything: its next Sync has no record, and is enough to be
/// asked at its new address.
#[test]
fn a_silent_client_is_asked() {
    let mut config = config();
    config.keep_alive = Some(std::time::Duration::from_secs(2));
    let mut nat = Nat::new(config);
    nat.run_for(Duration::from_secs(1));
    let to = address(1, 7_001);
    nat.rebind(to);
    nat.run_for(Duration::from_secs(5));
    assert_eq!(nat.remote(), to);
    assert!(nat.is_open());
    nat.talk(10);
    nat.run_for(RTT);
    assert!(nat.is_open());
}

/// Congestion control, the estimate of the round trip and the path MTU begin anew at another host, and stay where only a
/// port is another (RFC 9000, section 9.4).
#[test]
fn another_host_begins_anew() {
    for (place, is_new) in [((1, 7_001), false), ((9, 4_000), true)] {
        let mut nat = Nat::new(config());
        for _ in 0..100 {
            for _ in 0..4 {
                nat.both.send(SERVER, &[0; 1_000], SendOptions::default());
            }
            nat.run_for(Duration::from_millis(20));
        }
        let grown = nat.stats(SERVER).gauges.cwnd_packets.expect("a window");
        nat.rebind(address(place.0, place.1));
        nat.both.send(CLIENT, b"here I am", SendOptions::default());
        nat.run_for(RTT + DELAY);
        assert_eq!(nat.moves().len(), 1);
        let stats = nat.stats(SERVER);
        let now = stats.gauges.cwnd_packets.expect("a window");
        assert_eq!(now < grown, is_new, "{grown}, then {now}");
        let rtt = Duration::from(stats.srtt.expect("an estimate"));
        assert!(rtt >= RTT && rtt < RTT * 2, "{rtt}");
        let [here, there] = nat.talk(50);
        assert!(here >= 48 && there >= 48, "{here} {there}");
    }
}

/// A packet that is forged, or whose record has come before, moves nothing and is not answered, whatever its numbers are.
#[test]
fn only_a_new_record_counts() {
    let mut nat = Nat::new(config());
    nat.talk(50);
    let known: Vec<Vec<u8>> = nat.sent[CLIENT]
        .iter()
        .map(|seen| seen.bytes.clone())
        .collect();
    let captured = nat.capture();
    let thief = address(66, 6_666);
    for bytes in &known[known.len() - 40..] {
        nat.inject(thief, bytes);
    }
    // Authentic, and older than what has come.
    nat.talk(3);
    nat.run_for(RTT);
    nat.inject(thief, &captured);
    // New numbers of DCCP around a record that has come, and around one that is changed.
    let mut later = nat.capture();
    let end = later.len();
    later[end - 3] ^= 1;
    nat.inject(thief, &later);
    nat.run_for(RTT);
    nat.talk(10);
    assert_eq!(nat.remote(), path(SERVER).remote);
    assert!(nat.is_open() && nat.moves().is_empty());
    // Acknowledgements without data have no record; they make the server ask a few times.
    let [got, spent] = nat.traffic[&thief];
    assert!(spent <= 3 * got, "{spent} for {got}");
    assert!(nat.both.ends[SERVER].endpoint_stats().elsewhere >= 40);
}

/// Data and Syncs whose numbers are outside of the window are not answered where a connection has their ports: a Reset
/// could find the client.
#[test]
fn numbers_outside_of_the_window_are_not_answered() {
    let mut nat = Nat::new(config());
    nat.talk(50);
    let known = nat.sent[CLIENT].clone();
    nat.talk(200);
    let thief = address(66, 6_666);
    // Data, DataAck, Sync and SyncAck.
    let is_such = |seen: &&Seen| matches!(seen.bytes[8] >> 1 & 15, 2 | 4 | 8 | 9);
    let old: Vec<&Seen> = known.iter().filter(is_such).collect();
    assert!(old.len() >= 40, "{}", old.len());
    for seen in old {
        nat.inject(thief, &seen.bytes);
    }
    nat.run_for(RTT);
    assert_eq!(nat.traffic[&thief][1], 0);
    assert!(nat.is_open());
}

/// Somebody on the path sends the newest packet of the client from his own address, where nobody can answer. The client
/// stays where it is, he gets at most three times what he sent, and the packet's data is delivered once.
#[test]
fn a_thief_who_cannot_answer_gets_little() {
    let mut nat = Nat::new(config());
    nat.talk(50);
    let packet = nat.capture();
    let thief = address(66, 6_666);
    nat.inject(thief, &packet);
    nat.inject(path(SERVER).remote, &packet);
    nat.run_for(Duration::from_millis(200));
    let captured = |data: &&Vec<u8>| *data == b"captured";
    assert_eq!(nat.both.data(SERVER).iter().filter(captured).count(), 1);
    let [here, there] = nat.talk(50);
    assert!(here >= 49 && there >= 49, "{here} {there}");
    assert_eq!(nat.remote(), path(SERVER).remote);
    assert!(nat.is_open() && nat.moves().is_empty());
    let [got, spent] = nat.traffic[&thief];
    assert!(spent > 0 && spent <= 3 * got, "{spent} for {got}");
}

/// Somebody whose packets overtake those of the path forwards copies of them from his own address. As the client still
/// receives where it was, and answers there first, it stays there; and if he forwards its answer, too, it is followed back
/// as soon as he does not.
#[test]
fn a_forwarder_does_not_keep_the_client() {
    let mut nat = Nat::new(config());
    nat.talk(50);
    let forwarder = address(66, 6_666);
    let real = path(SERVER).remote;
    // He is faster: each packet of the client arrives from his address first, and he passes on what he gets.
    nat.still = Some(forwarder);
    for _ in 0..20 {
        let before = nat.sent[CLIENT].len();
        nat.talk(1);
        let copies: Vec<Vec<u8>> = nat.sent[CLIENT][before..]
            .iter()
            .map(|seen| seen.bytes.clone())
            .collect();
        for bytes in copies {
            nat.inject(forwarder, &bytes);
        }
    }
    assert_eq!(nat.remote(), forwarder);
    nat.still = None;
    nat.talk(300);
    assert_eq!(nat.remote(), real, "{:?}", nat.moves());
    let [here, there] = nat.talk(50);
    assert!(here >= 48 && there >= 48, "{here} {there}");
    assert!(nat.is_open());
}

/// Late packets from the old address neither move the connection back nor are answered. Their data is delivered, once.
#[test]
fn late_packets_change_nothing() {
    let mut nat = Nat::new(config());
    nat.talk(50);
    let old = nat.remote();
    let late = nat.capture();
    nat.rebind(address(1, 7_001));
    nat.talk(20);
    nat.still = Some(old);
    let before = nat.traffic[&old][1];
    for _ in 0..2 {
        nat.inject(old, &late);
        nat.run_for(RTT);
    }
    assert_eq!(nat.traffic[&old][1], before);
    let captured = nat.both.data(SERVER);
    assert_eq!(
        captured.iter().filter(|data| *data == b"captured").count(),
        1
    );
    nat.talk(20);
    assert_eq!(nat.remote(), address(1, 7_001));
    assert!(nat.is_open());
}

/// A client that does not take part says so, and is told then that the server does not know it there. A server that does
/// not take part says so at once.
#[test]
fn either_end_may_refuse() {
    for refuses in [CLIENT, SERVER] {
        let configs = [CLIENT, SERVER].map(|end| {
            let mut config = config();
            config.migration = end != refuses;
            config
        });
        let mut both = Both::encrypted(dtls(), configs, EndpointConfig::default());
        both.run_for(Duration::from_secs(3));
        let mut nat = Nat::around(both);
        nat.both.events[SERVER].clear();
        nat.rebind(address(1, 7_001));
        for _ in 0..30 {
            if nat.both.closed(CLIENT).is_some() {
                break;
            }
            nat.both.send(CLIENT, b"here I am", SendOptions::default());
            nat.run_for(Duration::from_millis(20));
        }
        let reason = nat.both.closed(CLIENT);
        assert!(is_unknown(reason), "{refuses}: {reason:?}");
        assert!(nat.moves().is_empty());
    }
}

/// A client that gets another address before the session is complete, or after it has begun to close, is not followed: it
/// is told that the server does not know it there.
#[test]
fn a_handshake_is_not_followed_nor_an_end() {
    let mut both = Both::new(dtls(), config());
    both.run_for(RTT + DELAY);
    assert!(both.ids[SERVER].is_some() && !both.has(SERVER, |event| *event == Event::Secured));
    let mut nat = Nat::around(both);
    nat.rebind(address(1, 7_001));
    nat.both.on_the_way.clear();
    nat.run_for(Duration::from_secs(12));
    assert!(nat.moves().is_empty());
    let reason = nat.both.closed(CLIENT);
    assert!(is_unknown(reason), "{reason:?}");

    let mut nat = Nat::new(config());
    nat.talk(50);
    nat.both.ends[CLIENT].close(nat.both.now, nat.both.id(CLIENT));
    nat.run_for(DELAY / 2);
    nat.rebind(address(1, 7_001));
    nat.run_for(Duration::from_secs(40));
    assert!(nat.moves().is_empty());
    for end in [CLIENT, SERVER] {
        assert!(nat.both.closed(end).is_some(), "{end} ends");
    }
}

/// Forged records with good numbers are counted, also for their key, and so many of them are looked into. When they end, a
/// client with another address is followed.
#[test]
fn forged_records_are_counted() {
    let mut nat = Nat::new(config());
    nat.talk(50);
    let mut forged = nat.capture();
    let end = forged.len();
    forged[end - 3] ^= 1;
    for host in 2..=250 {
        nat.inject(address(host, 6_666), &forged);
    }
    let looked = nat.both.ends[SERVER].endpoint_stats().elsewhere_forged;
    assert!((1..=64).contains(&looked), "{looked}");
    let session = nat.both.ends[SERVER].session(nat.both.id(SERVER));
    let session =
        session.and_then(|session| session.as_any().downcast_ref::<fairwire_tls::Session>());
    assert_eq!(session.expect("DTLS").stats().forged, looked);
    assert!(nat.moves().is_empty());
    nat.run_for(Duration::from_secs(2));
    let to = address(1, 7_001);
    nat.rebind(to);
    nat.talk(20);
    assert_eq!(nat.remote(), to);
}

/// When a client has left an address, a copy of its packet with the Init Cookie begins no other connection there.
#[test]
fn a_cookie_begins_nothing_where_the_client_was() {
    let mut endpoint = EndpointConfig::default();
    endpoint.init_cookies = InitCookies::Always;
    let both = Both::secured_over(Dress::Udp4, [config(), config()], endpoint);
    let mut nat = Nat::around(both);
    assert_eq!(nat.both.ends[SERVER].endpoint_stats().cookies_accepted, 1);
    let old = nat.remote();
    nat.rebind(address(1, 7_001));
    nat.talk(10);
    assert_eq!(nat.moves().len(), 1);
    for bytes in nat.both.sent[CLIENT].clone() {
        nat.inject(old, &bytes);
    }
    nat.run_for(RTT);
    let stats = nat.both.ends[SERVER].endpoint_stats();
    assert_eq!((stats.connections, stats.cookies_accepted), (1, 1));
    let [here, there] = nat.talk(20);
    assert!(here >= 18 && there >= 18, "{here} {there}");
}

/// A client behind a NAT is followed over IPv6, too, and with CCID 3.
#[test]
fn every_kind_of_client_is_followed() {
    let mut by_rate = config();
    by_rate.send_ccids = vec![Ccid::TFRC];
    by_rate.receive_ccids = vec![Ccid::TFRC];
    for (dress, config) in [(Dress::Udp6, config()), (Dress::Udp4, by_rate)] {
        let configs = [config.clone(), config];
        let both = Both::secured_over(dress, configs, EndpointConfig::default());
        let mut nat = Nat::around(both);
        nat.talk(50);
        for to in [address(1, 7_001), address(9, 7_002)] {
            nat.rebind(to);
            nat.talk(30);
            nat.run_for(Duration::from_secs(2));
            assert_eq!(nat.remote(), to, "{dress:?}");
            let before = nat.both.read[CLIENT].len();
            nat.talk(20);
            nat.run_for(Duration::from_secs(2));
            assert_eq!(nat.both.read[CLIENT].len() - before, 20, "{dress:?}");
        }
    }
}
