//! Packets that reach another shard than the one they belong to.
//!
//! The system delivers most packets to the right socket ([`crate::socket`]). Others come here: where the system cannot
//! be told the rule, when it has put packets of several connections into one message, and errors of the network.

use std::sync::Arc;

use fairwire_proto::{IcmpQuote, Meta, Path, Shard};

use crate::state::Shared;

/// All shards of an endpoint, seen from one of them.
#[derive(Debug)]
pub(crate) struct Siblings {
    shards: Arc<[Arc<Shared>]>,
    count: u16,
    own: usize,
    /// Packets of other shards, to be handed over without the own lock.
    strays: Vec<(usize, Meta, Vec<u8>)>,
}

impl Siblings {
    pub(crate) fn new(shards: Arc<[Arc<Shared>]>, own: usize) -> Self {
        Self {
            count: u16::try_from(shards.len()).unwrap_or(u16::MAX),
            shards,
            own,
            strays: Vec::new(),
        }
    }

    /// Keeps a packet that belongs to another shard. Returns whether it does.
    pub(crate) fn keep(&mut self, meta: Meta, packet: &[u8]) -> bool {
        if self.count == 1 {
            return false;
        }
        match Shard::of_packet(self.count, packet) {
            Some(shard) if shard != self.own => {
                self.strays.push((shard, meta, packet.to_vec()));
                true
            }
            _ => false,
        }
    }

    /// Hands over the packets that were kept. Call it without a lock.
    ///
    /// Once the application has dropped the endpoint, shards without connections end. The others then answer their
    /// packets (RFC 4340, 8.3.1: with a Reset).
    pub(crate) fn hand_over(&mut self) {
        for (shard, meta, packet) in self.strays.drain(..) {
            let ended = self.shards[shard].lock().driver_ended;
            let shared = &self.shards[if ended { self.own } else { shard }];
            let mut state = shared.lock();
            let now = shared.clock.now();
            state.proto.handle_datagram(now, meta, &packet, &[][..]);
            shared.wake_driver(&mut state);
        }
    }

    /// Passes an error of the network to the shard that it belongs to; to all of them if it does not tell.
    pub(crate) fn report(&self, path: Path, quote: IcmpQuote<'_>) {
        let owner = Shard::of_packet(self.count, quote.head);
        for (at, shared) in self.shards.iter().enumerate() {
            if owner.is_some_and(|owner| owner != at) {
                continue;
            }
            let mut state = shared.lock();
            let now = shared.clock.now();
            state.proto.handle_icmp(now, path, quote);
            if at != self.own {
                shared.wake_driver(&mut state);
            }
        }
    }
}
