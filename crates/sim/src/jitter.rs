//! Jitter of a sender's host: each packet of a flow leaves after a random delay, and packets keep their order.

use std::collections::VecDeque;

use fairwire_net::{FlowId, Packet, Stream};
use fairwire_units::{Duration, Instant};

use fairwire_scenario::transport::ends::Ends;
use fairwire_scenario::transport::store::Store;
use fairwire_scenario::transport::{Peer, Reading};

/// A peer on a host that delays each packet it sends by a random time, uniformly from zero to `most`.
#[derive(Debug)]
pub(super) struct Jittered {
    peer: Box<dyn Peer>,
    most: Duration,
    stream: Stream,
    /// Packets that have not left, with their departure times, which never decrease.
    held: VecDeque<(Instant, Packet)>,
}

impl Jittered {
    /// Puts `peer` on such a host, which draws from `stream`.
    pub(super) fn new(peer: Box<dyn Peer>, most: Duration, stream: Stream) -> Self {
        Self {
            peer,
            most,
            stream,
            held: VecDeque::new(),
        }
    }
}

impl Peer for Jittered {
    fn ends(&self) -> Ends {
        self.peer.ends()
    }

    fn takes(&self, flow: FlowId) -> bool {
        self.peer.takes(flow)
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        self.peer.handle_packet(now, packet, store);
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        while let Some(packet) = self.peer.poll_transmit(now, store) {
            let drawn = now + self.stream.span(self.most);
            let before = self.held.back().map_or(drawn, |(at, _)| *at);
            self.held.push_back((drawn.max(before), packet));
        }
        if self.held.front().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        self.held.pop_front().map(|(_, packet)| packet)
    }

    fn next_timeout(&self) -> Option<Instant> {
        let leaves = self.held.front().map(|(at, _)| *at);
        Instant::earliest([leaves, self.peer.next_timeout()])
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        if self.peer.next_timeout().is_some_and(|at| at <= now) {
            self.peer.handle_timeout(now, store);
        }
    }

    fn is_over(&self) -> bool {
        self.peer.is_over()
    }

    fn is_complete(&self) -> bool {
        self.peer.is_complete()
    }

    fn reading(&self) -> Reading {
        self.peer.reading()
    }
}
