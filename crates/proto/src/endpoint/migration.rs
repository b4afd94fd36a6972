//! Packets of connections whose peers have another address now (RFC 9000, section 9.3).
//!
//! A packet names its connection by its flow alone. So if its address is unknown, the connections that follow their peers
//! and have its ports are asked, in turns: whose sequence numbers are valid, and then for whom its record is authentic
//! and newer than all others. A stranger who does not know the numbers makes us look at a few of them; one who does, on
//! the path, makes us open a few records, as often as its source may be answered.

use std::net::SocketAddr;

use fairwire_units::Instant;
use fairwire_wire::{Packet, PacketType};

use super::Endpoint;
use super::source::Source;
use crate::connection::{Connection, DrawKey, Standing, Subflow};
use crate::flow::Flow;
use crate::id::ConnectionId;
use crate::payload::Arriving;
use crate::security::Look;
use crate::transmit::{Meta, Path};

/// For how many connections the record of a packet is opened.
const OPENED: usize = 4;

impl Endpoint {
    /// Lets a connection that is encrypted from now on take part in checks of paths.
    pub(super) fn begin_migration(&mut self, slot: usize, key: DrawKey) {
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        let flow = connection.flow();
        if connection.is_closed() {
            return;
        }
        let follows = connection.subflow_mut().begin_migration(key);
        if connection.subflow().is_mobile() {
            self.mobile.insert(&flow);
        }
        if follows {
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
                    subflow.note_elsewhere(now, meta.path, bytes);
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
        let bytes_of = |slot: &usize| (*slot, payload.as_slice());
        let found = may_be.iter().map(bytes_of).find_map(|(slot, record)| {
            let connection = self.connections.get_mut(slot)?;
            let look = connection.look_into(now, record, &mut self.records);
            self.stats.elsewhere_forged += u64::from(look == Look::Forged);
            matches!(look, Look::Newest | Look::Late).then_some((slot, look))
        });
        if let Some((slot, look)) = found {
            if !is_free {
                let source = Source::of(flow.path.remote.ip());
                self.source_limits.give_back(self.secret.networks(source));
            }
            let about = (meta.path, meta.ecn, bytes, look == Look::Newest);
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, |subflow, call| {
                    subflow.handle_elsewhere(call, packet, payload.clone(), about);
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
        let is_mobile = connection.subflow().is_mobile() && !connection.is_closed();
        self.forget_second(slot);
        self.table.remove(before);
        self.table.insert(flow, slot);
        if is_mobile {
            // What is on its way to the old address, if that still works.
            self.remember_second(slot, *before);
        }
        if is_incoming {
            self.incoming.remove(Source::of(before.path.remote.ip()));
            self.incoming.add(Source::of(flow.path.remote.ip()));
        }
    }

    /// Finds a connection by a second flow, too, until there is another one.
    fn remember_second(&mut self, slot: usize, flow: Flow) {
        self.forget_second(slot);
        if !self.table.contains(&flow) {
            self.table.insert(flow, slot);
            self.seconds.insert(slot, flow);
        }
    }

    /// Forgets the second flow of a connection.
    pub(super) fn forget_second(&mut self, slot: usize) {
        if let Some(flow) = self.seconds.remove(&slot) {
            self.table.remove(&flow);
        }
    }

    /// Handles a packet that came for the second address of a connection. Returns whether it did.
    #[inline]
    pub(super) fn handle_second(
        &mut self,
        now: Instant,
        slot: usize,
        meta: &Meta,
        packet: &Packet<'_>,
        payload: &Arriving<'_>,
    ) -> bool {
        if self.seconds.is_empty() {
            return false;
        }
        let second = self.seconds.get(&slot);
        if second.is_none_or(|flow| flow.path != meta.path) {
            return false;
        }
        // A server that follows nobody resets what comes from there, and the connection is elsewhere.
        if packet.packet_type() != PacketType::Reset {
            let about = (meta.path, meta.ecn);
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, |subflow, call| {
                    subflow.handle_on(call, packet, payload.clone(), about);
                });
            });
        }
        true
    }

    /// Returns whether a connection may have to go to another address of this host: the client of an encrypted
    /// connection with [`Config::migration`](crate::Config::migration).
    pub fn has_mobile(&self) -> bool {
        !self.mobile.is_empty()
    }

    /// Returns the path of a connection that can go to another address of this host now; see
    /// [`change_local`](Self::change_local).
    pub fn mobile_path(&self, id: ConnectionId) -> Option<Path> {
        let connection = self.get(id).filter(|connection| connection.can_leave())?;
        Some(connection.flow().path)
    }

    /// Takes a connection to another address of this host, which is the one that the route to its peer begins with now.
    ///
    /// Only the client of an encrypted connection can go, whose server follows it
    /// ([`Config::migration`](crate::Config::migration)). If its present address `is_lost`, everything leaves from the
    /// other one at once. Otherwise the peer is asked there first, and nothing changes unless it answers.
    /// [`Event::PathChanged`](crate::Event::PathChanged) tells when the connection has moved. Returns false, and does
    /// nothing, if the connection cannot go there.
    pub fn change_local(
        &mut self,
        now: Instant,
        id: ConnectionId,
        local: SocketAddr,
        is_lost: bool,
    ) -> bool {
        let connection = self.get(id).filter(|connection| connection.can_leave());
        let Some(flow) = connection.map(Connection::flow) else {
            return false;
        };
        let there = Flow {
            path: Path { local, ..flow.path },
            ..flow
        };
        let slot = id.slot();
        let is_second = self.seconds.get(&slot) == Some(&there);
        let is_other = there != flow && there.path.check().is_ok();
        if !is_other || (!is_second && self.table.contains(&there)) {
            return false;
        }
        let probes = connection.is_some_and(|of| of.subflow().probes(there.path));
        if probes && !is_lost {
            return true;
        }
        if !is_lost {
            self.remember_second(slot, there);
        }
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, |subflow, call| {
                subflow.leave_for(call, there.path, is_lost);
            });
        });
        true
    }

    /// Restarts congestion control in both directions, as on a new connection (RFC 4340, 10.5).
    ///
    /// Call it when the path has changed below the addresses: a tunnel, a handover, Mobile IP.
    pub fn path_changed(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, Subflow::path_changed);
        });
    }
}
