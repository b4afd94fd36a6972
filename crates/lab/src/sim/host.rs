//! A host: the peers that live at one node, as one agent.

use fairwire_net::{Agent, Packet, Release};
use fairwire_units::Instant;

use super::dccp::DccpPeer;
use super::ends::Ends;
use super::store::Store;
use super::tcp::{TcpSink, TcpSource};
use super::udp::{UdpSink, UdpSource};

/// One side of one flow. Decided once, without a table of functions.
#[derive(Debug)]
pub(crate) enum Peer {
    UdpSource(UdpSource),
    UdpSink(UdpSink),
    TcpSource(Box<TcpSource>),
    TcpSink(Box<TcpSink>),
    Dccp(Box<DccpPeer>),
}

impl Peer {
    pub(crate) fn ends(&self) -> Ends {
        match self {
            Self::UdpSource(peer) => peer.ends,
            Self::UdpSink(peer) => peer.ends,
            Self::TcpSource(peer) => peer.ends,
            Self::TcpSink(peer) => peer.ends,
            Self::Dccp(peer) => peer.ends,
        }
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        match self {
            Self::UdpSource(_) => store.release(packet.handle),
            Self::UdpSink(peer) => peer.handle_packet(now, packet, store),
            Self::TcpSource(peer) => peer.handle_packet(now, packet, store),
            Self::TcpSink(peer) => peer.handle_packet(now, packet, store),
            Self::Dccp(peer) => peer.handle_packet(now, packet, store),
        }
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        match self {
            Self::UdpSource(peer) => peer.poll_transmit(now, store),
            Self::UdpSink(_) => None,
            Self::TcpSource(peer) => peer.poll_transmit(now, store),
            Self::TcpSink(peer) => peer.poll_transmit(now, store),
            Self::Dccp(peer) => peer.poll_transmit(now, store),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::UdpSource(peer) => peer.next_timeout(),
            Self::UdpSink(_) => None,
            Self::TcpSource(peer) => peer.next_timeout(),
            Self::TcpSink(peer) => peer.next_timeout(),
            Self::Dccp(peer) => peer.next_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        match self {
            Self::UdpSource(peer) => peer.handle_timeout(now),
            Self::UdpSink(_) => {}
            Self::TcpSource(peer) => peer.handle_timeout(now, store),
            Self::TcpSink(peer) => peer.handle_timeout(now),
            Self::Dccp(peer) => peer.handle_timeout(now, store),
        }
    }
}

/// All peers of a node: one in a dumbbell, one per flow at the end of a chain.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) peers: Vec<Peer>,
}

impl Agent for Host {
    type Store = Store;

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let peer = match self.peers.as_mut_slice() {
            [only] => Some(only),
            peers => peers
                .iter_mut()
                .find(|peer| peer.ends().incoming == packet.flow),
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
        self.peers.iter().filter_map(Peer::next_timeout).min()
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        for peer in &mut self.peers {
            if peer.next_timeout().is_some_and(|at| at <= now) {
                peer.handle_timeout(now, store);
            }
        }
    }
}
