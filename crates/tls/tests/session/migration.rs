//! Clients of encrypted connections that get another address (RFC 9000, sections 8 and 9; RFC 9853), behind a NAT that a
//! test controls, and attackers who see every packet.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use fairwire_proto::{CloseReason, Config, EndpointConfig, Event, Meta, Path, SendOptions, Stats};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, ResetCode};

use crate::ends::{self, Both, dtls, path};
use crate::net::{CLIENT, DELAY, SERVER};

/// A round trip.
const RTT: Duration = Duration::from_millis(40);

/// Returns the configuration of an end that takes part.
fn config() -> Config {
    let mut config = ends::config();
    config.migration = true;
    config
}

fn address(host: u8, port: u16) -> SocketAddr {
    ([127, 0, 0, host], port).into()
}

/// What a packet is and where it was seen.
#[derive(Clone, Debug)]
struct Seen {
    /// The client's side of the path, outside of the NAT.
    outside: SocketAddr,
    bytes: Vec<u8>,
}

/// Both ends, with a NAT in front of the client.
struct Nat {
    both: Both,
    /// The client's address, as the server sees it, and the old one, if it still works.
    outside: SocketAddr,
    still: Option<SocketAddr>,
    /// Whether packets of this end are lost.
    loses: [bool; 2],
    on_the_way: VecDeque<(Instant, usize, Seen)>,
    sent: [Vec<Seen>; 2],
    /// Bytes that the server got from each address, and that it sent there.
    traffic: BTreeMap<SocketAddr, [usize; 2]>,
}

impl Nat {
    fn new(config: Config) -> Self {
        Self::around(Both::secured(config))
    }

    fn around(both: Both) -> Self {
        Self {
            both,
            outside: path(SERVER).remote,
            still: None,
            loses: [false; 2],
            on_the_way: VecDeque::new(),
            sent: [Vec::new(), Vec::new()],
            traffic: BTreeMap::new(),
        }
    }

    /// Gives the client another address. Nothing reaches it at the old one.
    fn rebind(&mut self, to: SocketAddr) {
        self.outside = to;
    }

    fn path_from(outside: SocketAddr) -> Path {
        Path {
            remote: outside,
            ..path(SERVER)
        }
    }

    /// Gives the server a packet from an address, now.
    fn inject(&mut self, outside: SocketAddr, bytes: &[u8]) {
        self.traffic.entry(outside).or_default()[0] += bytes.len();
        let meta = Meta {
            path: Self::path_from(outside),
            ecn: Ecn::NotEct,
        };
        let none: &[u8] = &[];
        let now = self.both.now;
        self.both.ends[SERVER].handle_datagram(now, meta, bytes, none);
        self.serve();
    }

    fn serve(&mut self) {
        for end in [CLIENT, SERVER] {
            let mut head = HeadBuf::new();
            while let Some(packet) = self.both.ends[end].poll_transmit(self.both.now, &mut head) {
                let bytes = [head.as_slice(), packet.payload.as_slice()].concat();
                let outside = match end {
                    CLIENT => self.outside,
                    _ => packet.path.remote,
                };
                if end == SERVER {
                    self.traffic.entry(outside).or_default()[1] += bytes.len();
                }
                let seen = Seen { outside, bytes };
                self.sent[end].push(seen.clone());
                if !self.loses[end] {
                    self.on_the_way
                        .push_back((self.both.now + DELAY, 1 - end, seen));
                }
            }
            while let Some((_, event)) = self.both.ends[end].poll_event() {
                self.both.events[end].push(event);
            }
            while let Some(read) = self.both.ends[end].recv(self.both.id(end)) {
                self.both.read[end].push(read);
            }
        }
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.both.now + time;
        loop {
            self.serve();
            let arrival = self.on_the_way.front().map(|(at, ..)| *at);
            let timers = [CLIENT, SERVER].map(|end| self.both.ends[end].next_timeout());
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(at) = next.filter(|&at| at <= until) else {
                self.both.now = until;
                return;
            };
            self.both.now = self.both.now.max(at);
            let now = self.both.now;
            for end in [CLIENT, SERVER] {
                self.both.ends[end].handle_timeout(now);
            }
            let is_due = |front: &(Instant, usize, Seen)| front.0 <= now;
            while self.on_the_way.front().is_some_and(is_due) {
                if let Some((_, end, seen)) = self.on_the_way.pop_front() {
                    self.arrive(end, &seen);
                }
            }
        }
    }

    fn arrive(&mut self, end: usize, seen: &Seen) {
        if end == SERVER {
            return self.inject(seen.outside, &seen.bytes);
        }
        if seen.outside == self.outside || Some(seen.outside) == self.still {
            let meta = Meta {
                path: path(CLIENT),
                ecn: Ecn::NotEct,
            };
            let none: &[u8] = &[];
            let now = self.both.now;
            self.both.ends[CLIENT].handle_datagram(now, meta, &seen.bytes, none);
        }
    }

    /// Sends data from both ends, every 10 ms, for some time. Returns how many datagrams each end got of those.
    fn talk(&mut self, times: usize) -> [usize; 2] {
        let before = [CLIENT, SERVER].map(|end| self.both.read[end].len());
        for number in 0..times {
            for end in [CLIENT, SERVER] {
                let data = number.to_be_bytes();
                self.both.send(end, &data, SendOptions::default());
            }
            self.run_for(Duration::from_millis(10));
        }
        [CLIENT, SERVER].map(|end| self.both.read[end].len() - before[end])
    }

    fn stats(&self, end: usize) -> Stats {
        let id = self.both.id(end);
        self.both.ends[end].stats(id).expect("a connection")
    }

    /// Returns where the server sends to.
    fn remote(&self) -> SocketAddr {
        let id = self.both.id(SERVER);
        let (_, _, path) = self.both.ends[SERVER].addresses(id).expect("a connection");
        path.remote
    }

    /// Returns the addresses between which the server says that its client moved.
    fn moves(&self) -> Vec<(SocketAddr, SocketAddr)> {
        let moves = self.both.events[SERVER].iter();
        let moves = moves.filter_map(|event| match event {
            Event::PathChanged { from, to } => Some((*from, *to)),
            _ => None,
        });
        moves.collect()
    }

    fn is_open(&self) -> bool {
        [CLIENT, SERVER].map(|end| self.both.closed(end).is_none()) == [true; 2]
    }

    /// Takes the newest packet of the client off the path: the server has not got it.
    fn capture(&mut self) -> Vec<u8> {
        self.loses[CLIENT] = true;
        let before = self.sent[CLIENT].len();
        self.both.send(CLIENT, b"captured", SendOptions::default());
        self.serve();
        self.loses[CLIENT] = false;
        assert_eq!(self.sent[CLIENT].len(), before + 1);
        self.sent[CLIENT][before].bytes.clone()
    }
}

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

/// Late packets from the old address neither move the connection back nor are answered.
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
    nat.inject(old, &late);
    nat.run_for(RTT);
    assert_eq!(nat.traffic[&old][1], before);
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

/// Returns whether the server told the client that it does not know it.
fn is_unknown(reason: Option<&CloseReason>) -> bool {
    let no_longer = ResetCode::NoConnection;
    matches!(reason, Some(CloseReason::Reset { code, .. }) if *code == no_longer)
}
