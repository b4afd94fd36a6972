//! Datagrams as the simulator moves them.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use fairwire_net::{Agent, Handle, Packet, Release};
use fairwire_units::{Ecn, Instant};
use slab::Slab;

/// The MTU of every host, bytes of IP packet.
pub(super) const MTU: u32 = 1_500;

/// The bytes of the IPv4 and UDP headers, which the link carries with each datagram.
pub(super) const HEADERS: u32 = 28;

/// The most bytes in one datagram: 1,472. With the headers of IPv4 and UDP that is an IP packet of 1,500.
pub const MAX_DATAGRAM: usize = (MTU - HEADERS) as usize;

/// A datagram with its addresses.
#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) from: SocketAddrV4,
    pub(super) to: SocketAddrV4,
    pub(super) ecn: Ecn,
    pub(super) bytes: Box<[u8]>,
}

/// The datagrams in the network, and those that have left it at their destination.
#[derive(Debug, Default)]
pub(super) struct Store {
    flying: Slab<Datagram>,
    pub(super) arrived: Vec<Datagram>,
}

impl Store {
    /// Keeps a datagram while the network has it.
    pub(super) fn keep(&mut self, datagram: Datagram) -> Handle {
        let at = self.flying.insert(datagram);
        Handle(u32::try_from(at).expect("fewer than 2^32 datagrams in flight"))
    }
}

impl Release for Store {
    fn release(&mut self, handle: Handle) {
        self.flying.try_remove(handle.0 as usize);
    }
}

/// A host as the simulator sees it.
#[derive(Debug, Default)]
pub(super) struct Station {
    /// What leaves now.
    pub(super) outgoing: VecDeque<Packet>,
}

impl Agent for Station {
    type Store = Store;

    fn handle_packet(&mut self, _now: Instant, packet: Packet, store: &mut Store) {
        if let Some(mut datagram) = store.flying.try_remove(packet.handle.0 as usize) {
            datagram.ecn = packet.ecn;
            store.arrived.push(datagram);
        }
    }

    fn poll_transmit(&mut self, _now: Instant, _store: &mut Store) -> Option<Packet> {
        self.outgoing.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant, _store: &mut Store) {}
}
