//! Clients whose host has another address (RFC 9000, section 9.2): they go there by themselves, and the server follows.

use fairwire_proto::{
    CloseReason, Config, EndpointConfig, Event, IcmpError, IcmpQuote, Path, SendOptions,
    Unreachable,
};
use fairwire_units::Duration;
use fairwire_wire::Ccid;

use crate::ends::{Both, Dress, dtls, path};
use crate::nat::{Nat, RTT, address, config, is_unknown};
use crate::net::{CLIENT, SERVER};

/// A client of each kind: over IPv4 and IPv6, without UDP, and with each CCID.
fn kinds() -> Vec<(Dress, Config)> {
    let mut interactive = Config::interactive();
    interactive.migration = true;
    interactive.report_fates = true;
    let mut by_rate = config();
    by_rate.send_ccids = vec![Ccid::TFRC];
    by_rate.receive_ccids = vec![Ccid::TFRC];
    vec![
        (Dress::Udp4, config()),
        (Dress::Udp6, config()),
        (Dress::Native, config()),
        (Dress::Udp4, interactive),
        (Dress::Udp4, by_rate),
    ]
}

fn secured([client, server]: [Config; 2], dress: Dress) -> Nat {
    let configs = [client, server];
    Nat::around(Both::secured_over(
        dress,
        configs,
        EndpointConfig::default(),
    ))
}

/// An address that is gone costs a client nothing that it sends, and what the server sends to it for two round trips. One
/// that still works costs neither end anything.
#[test]
fn a_client_goes_to_another_address() {
    for (dress, config) in kinds() {
        for is_lost in [true, false] {
            let mut nat = secured([config.clone(), config.clone()], dress);
            nat.talk(50);
            let (from, to) = (nat.remote(), address(9, 7_001));
            assert!(nat.go(to, is_lost), "{dress:?}");
            let before = [CLIENT, SERVER].map(|end| nat.both.read[end].len());
            nat.talk(50);
            nat.run_for(Duration::from_secs(3));
            let [here, there] = [CLIENT, SERVER].map(|end| nat.both.read[end].len() - before[end]);
            // Two round trips of those, a datagram each 10 ms; and those that were on their way.
            let most = if is_lost { 2 + 8 } else { 0 };
            assert!(here >= 50 - most, "{dress:?} {is_lost}: {here} of 50");
            assert!(there >= 50, "{dress:?} {is_lost}: {there} of 50");
            assert_eq!(nat.remote(), to);
            assert_eq!(nat.moves(), [(from, to)]);
            assert_eq!(nat.moves_of(CLIENT), [(path(CLIENT).local, to)]);
            for end in [CLIENT, SERVER] {
                assert_eq!(nat.stats(end).migrations, 1);
            }
            nat.talk(20);
            assert!(nat.is_open());
            nat.both.ends[CLIENT].close(nat.both.now, nat.both.id(CLIENT));
            nat.run_for(Duration::from_secs(3));
            for end in [CLIENT, SERVER] {
                assert_eq!(nat.both.closed(end), Some(&CloseReason::Closed));
            }
        }
    }
}

/// What may be sent again is: nothing is missing in the end, in either direction.
#[test]
fn nothing_queued_is_lost() {
    for is_lost in [true, false] {
        let mut nat = Nat::new(config());
        nat.talk(50);
        nat.run_for(RTT);
        let before = [CLIENT, SERVER].map(|end| nat.both.read[end].len());
        let mut options = SendOptions::default();
        options.resend = fairwire_proto::Resend::Until(nat.both.now + Duration::from_secs(20));
        for number in 0..40_u8 {
            for end in [CLIENT, SERVER] {
                nat.both.send(end, &[number; 300], options);
            }
        }
        nat.run_for(RTT / 4);
        assert!(nat.go(address(9, 7_001), is_lost));
        nat.run_for(Duration::from_secs(5));
        for end in [CLIENT, SERVER] {
            let read = &nat.both.read[end][before[end]..];
            let mut got: Vec<u8> = read.iter().map(|read| read.payload.as_slice()[0]).collect();
            got.sort_unstable();
            assert_eq!(got, (0..40).collect::<Vec<u8>>(), "{end} {is_lost}");
        }
    }
}

/// A client that has nothing to say is followed within two round trips, too, and later if its first packets are lost.
#[test]
fn a_silent_client_is_followed() {
    for is_lost in [true, false] {
        for lost_for in [Duration::ZERO, RTT * 2] {
            let mut nat = Nat::new(config());
            nat.talk(20);
            nat.run_for(RTT * 4);
            let to = address(9, 7_001);
            assert!(nat.go(to, is_lost));
            nat.loses[CLIENT] = lost_for > Duration::ZERO;
            nat.run_for(lost_for);
            nat.loses[CLIENT] = false;
            nat.run_for(RTT * 2 + lost_for * 2);
            assert_eq!(nat.remote(), to, "{is_lost} {lost_for}");
            assert_eq!(nat.moves_of(CLIENT).len(), 1);
        }
    }
}

/// Whichever packet is lost while the client goes elsewhere, both ends talk there in the end.
#[test]
fn one_lost_packet_ends_nothing() {
    for is_lost in [true, false] {
        for end in [CLIENT, SERVER] {
            for after in 0..30 {
                let mut nat = Nat::new(config());
                nat.delay = Duration::from_millis(10);
                nat.delay_elsewhere = nat.delay;
                nat.talk(50);
                let to = address(9, 7_001);
                nat.loses_after[end] = Some(after);
                assert!(nat.go(to, is_lost));
                nat.talk(200);
                let what = format!("{is_lost} {end} {after}");
                assert!(nat.is_open(), "{what}");
                assert_eq!(nat.remote(), to, "{what}");
                assert_eq!(
                    [CLIENT, SERVER].map(|end| nat.moves_of(end).len()),
                    [1; 2],
                    "{what}"
                );
                let [here, there] = nat.talk(50);
                assert!(here >= 48 && there >= 48, "{what}: {here} {there}");
            }
        }
    }
}

/// A path that is slower than the one in use brings challenges late, behind newer records. They are answered all the same.
#[test]
fn a_slower_path_is_answered() {
    for times in [2, 5] {
        let mut nat = Nat::new(config());
        nat.talk(50);
        nat.delay_elsewhere = nat.delay * times;
        let to = address(9, 7_001);
        assert!(nat.go(to, false));
        nat.talk(400);
        assert!(nat.is_open(), "{times}");
        assert_eq!(nat.remote(), to, "{times}");
        let [here, there] = nat.talk(50);
        assert!(here >= 30 && there >= 30, "{times}: {here} {there}");
    }
}

/// A client that goes elsewhere again at once does not end the connection, although data come for an address that it has
/// left.
#[test]
fn a_client_in_a_hurry_keeps_its_connection() {
    for is_lost in [[false; 2], [true, false], [false, true], [true; 2]] {
        for pause in [0, 5, 20, 40, 60, 90, 120] {
            let mut nat = Nat::new(config());
            nat.talk(50);
            let places = [7_001, 7_002, 7_003].map(|port| address(9, port));
            for (place, is_lost) in places.into_iter().zip([is_lost[0], is_lost[1], false]) {
                assert!(nat.go(place, is_lost));
                for _ in 0..pause / 5 {
                    for end in [CLIENT, SERVER] {
                        nat.both.send(end, b"on the way", SendOptions::default());
                    }
                    nat.run_for(Duration::from_millis(5));
                }
            }
            for _ in 0..300 {
                let closed = [CLIENT, SERVER].map(|end| nat.both.closed(end));
                assert_eq!(closed, [None; 2], "{is_lost:?} {pause} at {}", nat.both.now);
                nat.talk(1);
            }
            assert_eq!(nat.remote(), places[2], "{is_lost:?} {pause}");
        }
    }
}

/// A client goes back and forth: each time everything follows.
#[test]
fn a_client_comes_back() {
    let mut nat = Nat::new(config());
    let places = [address(9, 7_001), path(CLIENT).local, address(8, 4_000)];
    for place in places.into_iter().cycle().take(9) {
        let is_back = place == path(CLIENT).local;
        nat.own.retain(|&own| own != place);
        assert!(nat.go(place, false));
        nat.talk(110);
        let there = if is_back { nat.outside } else { place };
        assert_eq!(nat.remote(), there);
        let [here, there] = nat.talk(20);
        assert!(here >= 18 && there >= 18, "{here} {there}");
    }
}

/// A server that does not follow resets a client whose address is gone, and keeps one whose address still works.
#[test]
fn a_server_may_refuse() {
    for is_lost in [true, false] {
        let mut refuses = config();
        refuses.migration = false;
        let mut nat = secured([config(), refuses], Dress::Udp4);
        nat.talk(20);
        assert!(nat.go(address(9, 7_001), is_lost));
        if is_lost {
            for _ in 0..20 {
                if nat.both.closed(CLIENT).is_some() {
                    break;
                }
                nat.both.send(CLIENT, b"here I am", SendOptions::default());
                nat.run_for(Duration::from_millis(20));
            }
            let reason = nat.both.closed(CLIENT);
            assert!(is_unknown(reason), "{reason:?}");
        } else {
            nat.run_for(Duration::from_secs(10));
            let [here, there] = nat.talk(50);
            assert!(nat.is_open() && here >= 48 && there >= 48);
            assert_eq!(nat.remote(), path(SERVER).remote);
        }
        assert!(nat.moves().is_empty() && nat.moves_of(CLIENT).len() == usize::from(is_lost));
    }
}

/// A connection that cannot be followed does not go: that of a server, one in clear text, one whose session is not
/// complete, one that ends, and one that its application keeps. Nor does one go to where it is, or to another family.
#[test]
fn not_every_connection_goes() {
    let to = address(9, 7_001);
    let goes = |both: &mut Both, end: usize, to| {
        let (now, id) = (both.now, both.id(end));
        [true, false].map(|is_lost| both.ends[end].change_local(now, id, to, is_lost))
    };
    let mut both = Both::secured(config());
    assert_eq!(goes(&mut both, SERVER, to), [false; 2]);
    let here = path(CLIENT).local;
    let six = "[fd77::1]:7001".parse().expect("an address");
    for place in [here, six] {
        assert_eq!(goes(&mut both, CLIENT, place), [false; 2]);
    }
    both.ends[CLIENT].close(both.now, both.id(CLIENT));
    both.run_for(RTT / 4);
    assert_eq!(goes(&mut both, CLIENT, to), [false; 2]);
    let mut clear = Both::clear(dtls(), config());
    clear.run_for(Duration::from_secs(1));
    assert_eq!(goes(&mut clear, CLIENT, to), [false; 2]);
    let mut early = Both::new(dtls(), config());
    early.run_for(RTT * 3 / 2);
    assert!(!early.has(CLIENT, |event| *event == Event::Secured));
    assert_eq!(goes(&mut early, CLIENT, to), [false; 2]);
    let mut kept = config();
    kept.migration = false;
    let mut kept = Both::secured(kept);
    assert_eq!(goes(&mut kept, CLIENT, to), [false; 2]);
}

/// ICMP errors about what a client sends from another address, to ask there, say nothing of the address in use.
#[test]
fn errors_of_another_address_end_nothing() {
    let mut nat = Nat::new(config());
    nat.talk(20);
    let to = address(9, 7_001);
    nat.loses[CLIENT] = true;
    assert!(nat.go(to, false));
    nat.run_for(RTT * 20);
    nat.loses[CLIENT] = false;
    let asked: Vec<Vec<u8>> = nat.sent[CLIENT]
        .iter()
        .filter(|seen| seen.outside == to)
        .map(|seen| seen.bytes.clone())
        .collect();
    assert_eq!(asked.len(), 3);
    for head in &asked {
        let there = Path {
            local: to,
            ..path(CLIENT)
        };
        let why = Unreachable::Port;
        let error = IcmpError::Unreachable { why };
        let now = nat.both.now;
        nat.both.ends[CLIENT].handle_icmp(now, there, IcmpQuote { error, head });
        nat.run_for(Duration::from_millis(1));
    }
    nat.run_for(Duration::from_secs(3));
    let before = [CLIENT, SERVER].map(|end| nat.both.read[end].len());
    nat.talk(20);
    nat.run_for(Duration::from_secs(3));
    for end in [CLIENT, SERVER] {
        assert_eq!(nat.both.read[end].len() - before[end], 20, "{end}");
    }
    assert!(nat.is_open());
}
