//! Packets of connections whose peers have another address now (RFC 9000, section 9.3).
//!
//! A packet names its connection by its flow alone. So if its address is unknown, the connections that follow their peers
//! and have its ports are asked, in turns: whose sequence numbers are valid, and then for whom its record is authentic
//! and newer than all others. A stranger who does not know the numbers makes us look at a few of them; one who does, on
//! the path, makes us open a few records, as often as its source may be answered.

use fairwire_units::Instant;
use fairwire_wire::{Packet, PacketType};

use super::Endpoint;
use super::source::Source;
use crate::connection::{CookieKey, Standing};
use crate::flow::Flow;
use crate::payload::Arriving;
use crate::transmit::Meta;

/// For how many connections the record of a packet is opened.
const OPENED: usize = 4;

impl Endpoint {
    /// Lets a connection that is encrypted from now on take part in checks of paths.
    pub(super) fn begin_migration(&mut self, slot: usize, key: CookieKey) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let flow = connection.flow();
        if !connection.is_closed() && connection.subflow_mut().begin_migration(key) {
            self.followers.insert(&flow, slot);
        }
    }

    /// Handles a packet from an address that no connection has, if it may be from the peer of one. Returns whether it may
    /// be: then it must not be answered with a Reset, which might find that peer.
    pub(super) fn handle_elsewhere(
        &mut self,
        now: Instant,
        meta: &Meta,
        packet: &Packet<'_>,
        payload: &Arriving<'_>,
        flow: &Flow,
    ) -> bool {
        if self.followers.is_empty() {
            return false;
        }
        let has_record = match packet.packet_type() {
            PacketType::Data | PacketType::DataAck => !payload.is_empty(),
            PacketType::Ack | PacketType::Sync | PacketType::SyncAck => false,
            _ => return false,
        };
        let (may_be, is_silent) = self.candidates(now, meta, packet, flow);
        let bytes = packet.data_offset + payload.len();
        if !has_record {
            // It proves nothing. But its sender is asked, if there is one connection whose packet it may be and it has
            // two numbers of 48 bits, which only somebody on the path knows.
            let has_numbers = packet.seq.long().is_some() && packet.ack().is_some();
            if let [slot] = may_be[..]
                && has_numbers
            {
                self.with_connection(now, slot, |connection, _| {
                    let subflow = connection.subflow_mut();
                    subflow.note_elsewhere(now, meta.path, bytes, false);
                });
            }
            return is_silent || !may_be.is_empty();
        }
        if may_be.is_empty() {
            return is_silent;
        }
        let is_free = may_be.iter().any(|&slot| {
            let connection = self.connections.get_mut(slot);
            connection.is_some_and(|of| of.subflow_mut().is_free(meta.path))
        });
        if !is_free && !self.take_allowance(now, flow, 1) {
            return true;
        }
        let records = &mut self.records;
        let newest = may_be.iter().copied().find(|&slot| {
            let connection = self.connections.get(slot);
            connection.is_some_and(|of| of.is_newest(payload.as_slice(), records))
        });
        if let Some(slot) = newest {
            if !is_free {
                let source = Source::of(flow.path.remote.ip());
                self.source_limits.give_back(self.secret.networks(source));
            }
            let (payload, about) = (payload.clone(), (meta.path, meta.ecn, bytes));
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, |subflow, call| {
                    subflow.handle_newest(call, packet, payload, about);
                });
            });
        }
        true
    }

    /// Returns the connections whose peer may have sent this packet, as far as its numbers say, and otherwise whether it
    /// must not be answered all the same.
    fn candidates(
        &mut self,
        now: Instant,
        meta: &Meta,
        packet: &Packet<'_>,
        flow: &Flow,
    ) -> (Vec<usize>, bool) {
        let is_ack = packet.packet_type() == PacketType::Ack;
        let mut is_silent = false;
        let mut may_be: Vec<usize> = Vec::new();
        for slot in self.followers.ask(flow) {
            let connection = self.connections.get(slot);
            let follows = connection.filter(|connection| connection.follows());
            if let Some(subflow) = follows.map(|connection| connection.subflow())
                && subflow.flow().path.encapsulation == meta.path.encapsulation
            {
                let is_valid = subflow.is_sequence_valid(packet);
                match subflow.standing(now, meta.path) {
                    Standing::Refused => {}
                    Standing::Unanswered => is_silent |= is_valid || !is_ack,
                    Standing::Open if is_valid => may_be.push(slot),
                    // Its numbers may have gone on while nothing arrived: a Reset could find the peer.
                    Standing::Open => is_silent |= !is_ack,
                }
            }
        }
        may_be.truncate(OPENED);
        (may_be, is_silent)
    }

    /// Finds a connection by its flow of now, after it has moved.
    pub(super) fn follow(&mut self, now: Instant, slot: usize, before: &Flow) {
        let Some(connection) = self.connections.get(slot) else {
            return;
        };
        let flow = connection.flow();
        let is_incoming = connection.subflow().is_incoming();
        // A copy of the packet with the Init Cookie could begin it again at the old address.
        if connection.subflow().may_begin_again(now) {
            self.time_wait.insert(now, self.secret.flow_hash(before));
        }
        self.table.remove(before);
        self.table.insert(flow, slot);
        if is_incoming {
            self.incoming.remove(Source::of(before.path.remote.ip()));
            self.incoming.add(Source::of(flow.path.remote.ip()));
        }
    }
}
