//! Two ends of an encrypted connection, with a NAT in front of the client that a test controls.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use fairwire_proto::{CloseReason, Config, Event, Meta, Path, SendOptions, Stats};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, ResetCode};

use crate::ends::{self, Both, path};
use crate::net::{CLIENT, DELAY, SERVER};

/// A round trip.
pub(crate) const RTT: Duration = Duration::from_millis(40);

/// Returns the configuration of an end that takes part.
pub(crate) fn config() -> Config {
    let mut config = ends::config();
    config.migration = true;
    config
}

pub(crate) fn address(host: u8, port: u16) -> SocketAddr {
    ([127, 0, 0, host], port).into()
}

/// What a packet is and where it was seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The client's side of the path, outside of the NAT.
    pub(crate) outside: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// Both ends, with a NAT in front of the client.
pub(crate) struct Nat {
    pub(crate) both: Both,
    /// The client's address, as the server sees it, and the old one, if it still works.
    pub(crate) outside: SocketAddr,
    pub(crate) still: Option<SocketAddr>,
    /// Other addresses that the client's host has itself, and whether the first one works.
    pub(crate) own: Vec<SocketAddr>,
    pub(crate) has_first: bool,
    /// Whether packets of this end are lost.
    pub(crate) loses: [bool; 2],
    /// How many packets of this end leave before the one that is lost, if one is.
    pub(crate) loses_after: [Option<usize>; 2],
    /// Half of a round trip, and that of the paths of the client's other addresses.
    pub(crate) delay: Duration,
    pub(crate) delay_elsewhere: Duration,
    pub(crate) on_the_way: VecDeque<(Instant, usize, Seen)>,
    pub(crate) sent: [Vec<Seen>; 2],
    /// Bytes that the server got from each address, and that it sent there.
    pub(crate) traffic: BTreeMap<SocketAddr, [usize; 2]>,
}

impl Nat {
    pub(crate) fn new(config: Config) -> Self {
        Self::around(Both::secured(config))
    }

    pub(crate) fn around(both: Both) -> Self {
        Self {
            both,
            outside: path(SERVER).remote,
            still: None,
            own: Vec::new(),
            has_first: true,
            loses: [false; 2],
            loses_after: [None; 2],
            delay: DELAY,
            delay_elsewhere: DELAY,
            on_the_way: VecDeque::new(),
            sent: [Vec::new(), Vec::new()],
            traffic: BTreeMap::new(),
        }
    }

    /// Gives the client another address. Nothing reaches it at the old one.
    pub(crate) fn rebind(&mut self, to: SocketAddr) {
        self.outside = to;
    }

    fn path_from(&self, outside: SocketAddr) -> Path {
        self.both.dress.on(Path {
            remote: outside,
            ..path(SERVER)
        })
    }

    /// Gives the server a packet from an address, now.
    pub(crate) fn inject(&mut self, outside: SocketAddr, bytes: &[u8]) {
        self.traffic.entry(outside).or_default()[0] += bytes.len();
        let meta = Meta {
            path: self.path_from(outside),
            ecn: Ecn::NotEct,
        };
        let none: &[u8] = &[];
        let now = self.both.now;
        self.both.ends[SERVER].handle_datagram(now, meta, bytes, none);
        self.serve();
    }

    pub(crate) fn serve(&mut self) {
        for end in [CLIENT, SERVER] {
            let mut head = HeadBuf::new();
            while let Some(packet) = self.both.ends[end].poll_transmit(self.both.now, &mut head) {
                let bytes = [head.as_slice(), packet.payload.as_slice()].concat();
                let of_client = match end {
                    CLIENT => packet.path.local,
                    _ => packet.path.remote,
                };
                let of_client = self.both.dress.off(of_client);
                let is_first = end == CLIENT && of_client == path(CLIENT).local;
                if is_first && !self.has_first {
                    continue;
                }
                let outside = if is_first { self.outside } else { of_client };
                if end == SERVER {
                    self.traffic.entry(outside).or_default()[1] += bytes.len();
                }
                let seen = Seen { outside, bytes };
                self.sent[end].push(seen.clone());
                if !self.is_lost(end) {
                    self.leave(end, seen);
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

    /// Returns whether the next packet of an end is lost.
    fn is_lost(&mut self, end: usize) -> bool {
        let after = self.loses_after[end];
        self.loses_after[end] = after.and_then(|after| after.checked_sub(1));
        self.loses[end] || after == Some(0)
    }

    fn leave(&mut self, end: usize, seen: Seen) {
        let delay = if self.own.contains(&seen.outside) {
            self.delay_elsewhere
        } else {
            self.delay
        };
        let at = self.both.now + delay;
        let place = self.on_the_way.partition_point(|(other, ..)| *other <= at);
        self.on_the_way.insert(place, (at, 1 - end, seen));
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
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
        let is_first = seen.outside == self.outside || Some(seen.outside) == self.still;
        let local = if self.own.contains(&seen.outside) {
            seen.outside
        } else if is_first && self.has_first {
            path(CLIENT).local
        } else {
            return;
        };
        let meta = Meta {
            path: self.both.dress.on(Path {
                local,
                ..path(CLIENT)
            }),
            ecn: Ecn::NotEct,
        };
        let none: &[u8] = &[];
        let now = self.both.now;
        self.both.ends[CLIENT].handle_datagram(now, meta, &seen.bytes, none);
    }

    /// Sends data from both ends, every 10 ms, for some time. Returns how many datagrams each end got of those.
    pub(crate) fn talk(&mut self, times: usize) -> [usize; 2] {
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

    pub(crate) fn stats(&self, end: usize) -> Stats {
        let id = self.both.id(end);
        self.both.ends[end].stats(id).expect("a connection")
    }

    /// Returns where the server sends to.
    pub(crate) fn remote(&self) -> SocketAddr {
        let id = self.both.id(SERVER);
        let (_, _, path) = self.both.ends[SERVER].addresses(id).expect("a connection");
        self.both.dress.off(path.remote)
    }

    /// Takes the client to another address of its host. Returns whether it goes there.
    pub(crate) fn go(&mut self, to: SocketAddr, is_lost: bool) -> bool {
        self.own.push(to);
        self.has_first &= !is_lost;
        let (now, id) = (self.both.now, self.both.id(CLIENT));
        let to = self.both.dress.dressed(to);
        self.both.ends[CLIENT].change_local(now, id, to, is_lost)
    }

    /// Returns the addresses between which the server says that its client moved.
    pub(crate) fn moves(&self) -> Vec<(SocketAddr, SocketAddr)> {
        self.moves_of(SERVER)
    }

    /// Returns the addresses of the client between which this end says that it moved.
    pub(crate) fn moves_of(&self, end: usize) -> Vec<(SocketAddr, SocketAddr)> {
        let off = |address: &SocketAddr| self.both.dress.off(*address);
        let moves = self.both.events[end].iter();
        let moves = moves.filter_map(|event| match event {
            Event::PathChanged { from, to } => Some((off(from), off(to))),
            _ => None,
        });
        moves.collect()
    }

    pub(crate) fn is_open(&self) -> bool {
        [CLIENT, SERVER].map(|end| self.both.closed(end).is_none()) == [true; 2]
    }

    /// Takes the newest packet of the client off the path: the server has not got it.
    pub(crate) fn capture(&mut self) -> Vec<u8> {
        self.loses[CLIENT] = true;
        let before = self.sent[CLIENT].len();
        self.both.send(CLIENT, b"captured", SendOptions::default());
        self.serve();
        self.loses[CLIENT] = false;
        assert_eq!(self.sent[CLIENT].len(), before + 1);
        self.sent[CLIENT][before].bytes.clone()
    }
}

/// Returns whether the server told the client that it does not know it.
pub(crate) fn is_unknown(reason: Option<&CloseReason>) -> bool {
    let no_longer = ResetCode::NoConnection;
    matches!(reason, Some(CloseReason::Reset { code, .. }) if *code == no_longer)
}
