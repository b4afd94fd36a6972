//! A host: all peers at one node, as one agent.

use fairwire_net::{Agent, FlowId, Packet, Release};
use fairwire_units::Instant;

use fairwire_scenario::transport::store::Store;
use fairwire_scenario::transport::{Peer, Reading};

/// All peers of a node: one in a dumbbell, one per flow at the end of a chain.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) peers: Vec<Box<dyn Peer>>,
}

impl Host {
    /// Returns the reading of the peer that sends flow `outgoing`; an empty one if there is none.
    pub(crate) fn reading(&self, outgoing: FlowId) -> Reading {
        let mut peers = self.peers.iter();
        let peer = peers.find(|peer| peer.ends().outgoing == outgoing);
        peer.map(|peer| peer.reading()).unwrap_or_default()
    }
}

impl Agent for Host {
    type Store = Store;

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let peer = match self.peers.as_mut_slice() {
            [only] => Some(only),
            peers => peers.iter_mut().find(|peer| peer.takes(packet.flow)),
        };
        match peer {
            Some(peer) => peer.handle_packet(now, packet, store),
            None => store.release(packet.handle),
        }
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        self.peers
            .iter_mut()
            .find_map(|peer| peer.poll_transmit(now, store))
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.peers
            .iter()
            .filter_map(|peer| peer.next_timeout())
            .min()
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        for peer in &mut self.peers {
            if peer.next_timeout().is_some_and(|at| at <= now) {
                peer.handle_timeout(now, store);
            }
        }
    }
}
