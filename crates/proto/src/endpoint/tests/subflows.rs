//! Two subflows that serve one channel: the seam at which a connection may have several paths. Nothing on the wire
//! joins them here; each has a connection of its own at the peer.

use std::collections::{BTreeMap, VecDeque};

use fairwire_units::Instant;
use fairwire_wire::HeadBuf;

use super::kit::{Pair, ms};
use crate::connection::{Call, Channel, Context, Subflow};
use crate::half::FeedbackOutcome;
use crate::records::Records;
use crate::reply::Replies;
use crate::sending::SendOptions;
use crate::{Config, ConnectionId, Event, Fate, Meta, Payload};

/// A channel with two subflows, whose packets arrive at once, and the peers of these.
struct Host {
    pair: Pair,
    channel: Channel,
    subflows: [Subflow; 2],
    peers: [ConnectionId; 2],
    /// Which of the subflows have a path that loses all that it is given.
    is_cut: [bool; 2],
    events: VecDeque<(ConnectionId, Event)>,
    replies: Replies,
    outcome: FeedbackOutcome,
    records: Records,
}

impl Host {
    fn new() -> Self {
        let config = Config {
            report_fates: true,
            ..Config::default()
        };
        let mut pair = Pair::new();
        let (first, first_peer) = pair.open(config.clone(), config.clone());
        let second = pair.connect_only(config);
        pair.run_for(ms(500));
        let second_peer = pair.server.expect("accepted");
        assert_ne!(first_peer, second_peer);
        let [(channel, first), (_, second)] = [first, second].map(|id| {
            let connection = pair.ends[0].connections.remove(id.slot());
            connection.into_parts()
        });
        Self {
            pair,
            channel,
            subflows: [first, second],
            peers: [first_peer, second_peer],
            is_cut: [false; 2],
            events: VecDeque::new(),
            replies: Replies::new(100),
            outcome: FeedbackOutcome::default(),
            records: Records::default(),
        }
    }

    fn now(&self) -> Instant {
        self.pair.now
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut [Subflow; 2], &mut Call<'_, '_>) -> T) -> T {
        let now = self.pair.now;
        let mut ctx = Context {
            now,
            events: &mut self.events,
            replies: &mut self.replies,
            room: usize::MAX,
            budget: usize::MAX,
            outcome: &mut self.outcome,
            records: &mut self.records,
        };
        let mut call = Call {
            now,
            channel: &mut self.channel,
            ctx: &mut ctx,
        };
        act(&mut self.subflows, &mut call)
    }

    fn send(&mut self, tag: u64, options: SendOptions) {
        let payload = Payload::synthetic(1_000, tag);
        let sent =
            self.with(|subflows, call| call.channel.send(call.ctx, &subflows[0], payload, options));
        sent.expect("there is room");
    }

    /// Lets each subflow send what it may and hands the packets to its peer. Returns the tags of the data that left.
    fn pull(&mut self, side: usize) -> Vec<u64> {
        let mut tags = Vec::new();
        let mut head = HeadBuf::new();
        while let Some(transmit) =
            self.with(|subflows, call| subflows[side].poll_transmit(call, &mut head))
        {
            if let Some(tag) = transmit.payload.tag().filter(|_| transmit.id.is_some()) {
                tags.push(tag);
            }
            if !self.is_cut[side] {
                let meta = Meta {
                    path: self.pair.path(1),
                    ecn: transmit.ecn,
                };
                let now = self.now();
                self.pair.ends[1].handle_datagram(now, meta, head.as_slice(), transmit.payload);
            }
        }
        tags
    }

    /// Hands the peers' packets to the subflows.
    fn answer(&mut self) {
        let mut head = HeadBuf::new();
        let now = self.now();
        while let Some(transmit) = self.pair.ends[1].poll_transmit(now, &mut head) {
            let of = |peer: &ConnectionId| Some(*peer) == transmit.connection;
            let Some(side) = self
                .peers
                .iter()
                .position(of)
                .filter(|&side| !self.is_cut[side])
            else {
                continue;
            };
            let bytes = head.as_slice();
            let len = transmit.payload.len();
            let packet = fairwire_wire::Packet::decode_head(bytes, len).expect("it is ours");
            self.with(|subflows, call| {
                subflows[side].handle_packet(
                    call,
                    &packet,
                    transmit.payload.clone().into(),
                    transmit.ecn,
                );
            });
        }
    }

    /// Runs for this many milliseconds; returns the tags that each subflow carried.
    fn run(&mut self, millis: u64) -> [Vec<u64>; 2] {
        let mut carried = [Vec::new(), Vec::new()];
        for _ in 0..millis {
            for side in [0, 1] {
                carried[side].extend(self.pull(side));
            }
            self.answer();
            self.pair.now += ms(1);
            self.with(|subflows, call| {
                for subflow in subflows {
                    let due = subflow.next_timeout(call.channel, call.now);
                    if due.is_some_and(|at| at <= call.now) {
                        subflow.handle_timeout(call);
                    }
                }
            });
            let now = self.now();
            self.pair.ends[1].handle_timeout(now);
        }
        carried
    }

    /// Returns how often each tag was read at the peers.
    fn read(&mut self) -> BTreeMap<u64, u32> {
        let mut read = BTreeMap::new();
        for peer in self.peers {
            while let Some(received) = self.pair.ends[1].recv(peer) {
                let tag = received.payload.tag().expect("synthetic");
                *read.entry(tag).or_default() += 1;
            }
        }
        read
    }

    /// Returns the fate of each datagram.
    fn fates(&mut self) -> BTreeMap<u64, Vec<Fate>> {
        let mut fates: BTreeMap<u64, Vec<Fate>> = BTreeMap::new();
        for (_, event) in self.events.drain(..) {
            if let Event::Fate { id, fate } = event {
                fates.entry(id.0).or_default().push(fate);
            }
        }
        fates
    }
}

/// Each datagram leaves once, by the subflow whose controller lets it leave first, in the order of the queue. Each has
/// one fate.
#[test]
fn two_subflows_share_a_send_queue() {
    let mut host = Host::new();
    for tag in 0..60 {
        host.send(tag, SendOptions::default());
    }
    let carried = host.run(2_000);
    for tags in &carried {
        assert!(tags.len() >= 10, "{carried:?}");
        assert!(tags.is_sorted(), "{carried:?}");
    }
    let read = host.read();
    assert_eq!(read, (0..60).map(|tag| (tag, 1)).collect());
    let fates = host.fates();
    assert_eq!(fates.len(), 60);
    assert!(fates.values().all(|fates| fates == &[Fate::Acknowledged]));
}

/// A path that loses everything holds no datagram that has not left: its subflow takes none while its window is full,
/// and the other carries the rest.
#[test]
fn a_dead_path_strands_only_what_is_in_flight() {
    let mut host = Host::new();
    host.is_cut[0] = true;
    for tag in 0..60 {
        host.send(tag, SendOptions::default());
    }
    let carried = host.run(150);
    let [lost, arrived] = carried.map(|tags| tags.len());
    // RFC 3390's initial window with packets of this size.
    assert!((1..=4).contains(&lost), "{lost}");
    assert_eq!(lost + arrived, 60);
    assert_eq!(host.read().len(), arrived);
}
