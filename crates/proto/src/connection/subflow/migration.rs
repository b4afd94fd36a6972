//! An end with another address (RFC 9000, sections 9.2 and 9.3): whether its peer follows it there, and how it goes
//! there itself.
//!
//! A server follows the client of an encrypted connection to which a NAT gave another port or address.
//! DCCP has no identifier of connections, so the endpoint asks the connections with the packet's ports. What
//! the packet has to prove: that its record is authentic and newer than all others. Then the client is asked at that
//! address, inside the session, and only its answer from there moves the connection.
//!
//! A client whose host has another address asks the server from there, with a challenge of its own: that is an authentic
//! record, so the server follows. If the old address still works, the client uses it until the server has answered.
//! [`migration`](super::parts::migration) keeps what is known of the check.

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{HeadBuf, Kind, Packet, PacketType};

use super::packet::Written;
use super::parts::draws::DrawKey;
use super::parts::migration::{Due, Found, Migration, Standing};
use super::{Call, State, Subflow};
use crate::event::{Event, Fate};
use crate::feature::Role;
use crate::flow::Flow;
use crate::payload::{Arriving, Payload};
use crate::seal::seal;
use crate::security::PathCheck;
use crate::transmit::{Outgoing, Path};

/// For how long a following end takes errors of the old address for those of a client that has another one.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// The most bytes of a packet with a message about a path, without the message: its header with an NDP Count, an RTT
/// Estimate and a Data Checksum.
const AROUND: usize = 16 + 8 + 6 + 6;

impl Subflow {
    /// Makes the connection, which is encrypted from now on, take part in checks of paths. Returns whether it follows its
    /// peer.
    pub(crate) fn begin_migration(&mut self, key: DrawKey) -> bool {
        let answers = self.config.migration;
        let follows = answers && self.role == Role::Server;
        self.migration = Some(Box::new(Migration::new(follows, answers, key)));
        follows
    }

    /// Returns whether it follows its peer now.
    pub(crate) fn follows(&self) -> bool {
        let migration = self.migration.as_ref();
        self.state == State::Open && migration.is_some_and(|migration| migration.follows())
    }

    /// Returns what is known of an address that is not in use.
    pub(crate) fn standing(&self, now: Instant, path: Path) -> Standing {
        let migration = self.migration.as_ref();
        migration.map_or(Standing::Open, |of| of.standing(now, path))
    }

    /// Returns whether a packet from this address costs its source nothing, because the address is being checked.
    pub(crate) fn is_free(&mut self, path: Path) -> bool {
        let migration = self.migration.as_mut();
        migration.is_some_and(|migration| migration.is_free(path))
    }

    /// Returns whether a record from elsewhere may be looked into.
    pub(crate) fn may_look(&self, now: Instant) -> bool {
        let migration = self.migration.as_ref();
        migration.is_some_and(|migration| migration.may_look(now))
    }

    /// Notes that a record from elsewhere was forged.
    pub(crate) fn note_forged(&mut self, now: Instant) {
        if let Some(migration) = &mut self.migration {
            migration.note_forged(now);
        }
    }

    /// Handles a packet of `bytes` from another address whose record is authentic and has not come before. Only one that
    /// `is_newest`, or a challenge, says that the peer is there.
    pub(crate) fn handle_elsewhere(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        (path, ecn, bytes, is_newest): (Path, Ecn, usize, bool),
    ) {
        self.handle_on(call, packet, payload, (path, ecn));
        let (now, rtt) = (call.now, self.rtt());
        if self.flow.path != path
            && self.state == State::Open
            && let Some(migration) = &mut self.migration
        {
            migration.on_record(now, path, bytes, is_newest, rtt);
        }
    }

    /// Handles a packet that came on another path than the one in use.
    pub(crate) fn handle_on(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        (path, ecn): (Path, Ecn),
    ) {
        if let Some(migration) = &mut self.migration {
            migration.arriving = Some(path);
        }
        self.handle_packet(call, packet, payload, ecn);
        if let Some(migration) = &mut self.migration {
            migration.arriving = None;
        }
    }

    /// Returns whether this end is one that can go to another address: the client of an encrypted connection whose
    /// server may follow it.
    pub(crate) fn is_mobile(&self) -> bool {
        self.role == Role::Client && self.config.migration && self.migration.is_some()
    }

    /// Returns whether it can go now.
    pub(crate) fn can_leave(&self) -> bool {
        self.is_mobile() && self.state == State::Open
    }

    /// Returns whether the peer is asked from another address of this end, along this path.
    pub(crate) fn probes(&self, path: Path) -> bool {
        let migration = self.migration.as_ref();
        migration.is_some_and(|migration| migration.probes(path))
    }

    /// Asks the peer along `path`, which begins at another address of this host. If the present address `is_lost`,
    /// everything leaves there from now on, and otherwise once the peer has answered (RFC 9000, section 9.2).
    pub(crate) fn leave_for(&mut self, call: &mut Call<'_, '_>, path: Path, is_lost: bool) {
        let (now, rtt, before) = (call.now, self.rtt(), self.flow.path);
        if is_lost {
            self.move_to(call, path, None, false);
        }
        if let Some(migration) = &mut self.migration {
            migration.probe(now, path, is_lost.then_some(before), rtt);
        }
    }

    /// Notes that a packet of `bytes` with valid numbers, but without a record, came from another address.
    pub(crate) fn note_elsewhere(&mut self, now: Instant, path: Path, bytes: usize) {
        let rtt = self.rtt();
        if self.state == State::Open
            && let Some(migration) = &mut self.migration
        {
            migration.on_packet(now, path, bytes, false, rtt);
        }
    }

    /// Takes the message about a path that the present packet brought, if it did.
    #[inline]
    pub(super) fn take_check(&mut self, call: &mut Call<'_, '_>) {
        let check = call
            .channel
            .secure
            .as_mut()
            .and_then(|secure| secure.take_check());
        if let Some(check) = check {
            self.on_check(call, check);
        }
    }

    fn on_check(&mut self, call: &mut Call<'_, '_>, check: PathCheck) {
        let (in_use, state) = (self.flow.path, self.state);
        let Some(migration) = self.migration.as_mut().filter(|_| state == State::Open) else {
            return;
        };
        let from = migration.arriving.unwrap_or(in_use);
        match migration.on_check(call.now, check, from, in_use) {
            Found::Nothing => {}
            // It has answered where this end already is.
            Found::There { path, rtt } if path == in_use => self.measured(call.now, rtt),
            Found::There { path, rtt } => self.move_to(call, path, Some(rtt), true),
            // The answer to this end's own challenge may be lost, and the server goes there once it has this end's.
            Found::Heard { path } => self.move_to(call, path, None, true),
        }
    }

    /// Uses another path: the peer has answered there after `rtt`, or asked there, or the old one is lost.
    fn move_to(
        &mut self,
        call: &mut Call<'_, '_>,
        path: Path,
        rtt: Option<Duration>,
        is_heard: bool,
    ) {
        let from = self.flow;
        self.flow.path = path;
        if let Some(migration) = &mut self.migration {
            migration.on_move(from.path, is_heard);
        }
        self.moved_from.get_or_insert_with(|| Box::new(from));
        self.stats.migrations += 1;
        let (old, new) = (from.path, path);
        // RFC 9000, 9.4: if only a port is another, a NAT has most likely forgotten the old one, and the path is the same.
        if (old.local.ip(), old.remote.ip()) != (new.local.ip(), new.remote.ip()) {
            self.begin_path(call, rtt);
        } else if let Some(tx) = &mut self.tx {
            tx.leave_path();
        }
        let (from, to) = match self.role {
            Role::Server => (old.remote, new.remote),
            Role::Client => (old.local, new.local),
        };
        call.emit(Event::PathChanged { from, to });
    }

    /// Begins anew what depends on the path, of which `rtt` is the round trip, if it is known (RFC 9000, section 9.4).
    fn begin_path(&mut self, call: &mut Call<'_, '_>, rtt: Option<Duration>) {
        self.return_flight(call);
        self.begin_path_mtu(call);
        self.restart_halves(call, rtt);
    }

    /// Gives up what is in flight on the old path. What may be sent again is: nobody reads feedback about it any more.
    fn return_flight(&mut self, call: &mut Call<'_, '_>) {
        if let Some(tx) = &mut self.tx {
            tx.finish(call.ctx.outcome);
        }
        for (id, fate) in &mut call.ctx.outcome.fates {
            if id.is_some_and(|id| call.channel.keeps_copy(call.now, id)) {
                *fate = Fate::Lost;
            }
        }
        self.settle_outcome(call);
    }

    /// Returns, once after the connection has moved, its flow before.
    #[inline]
    pub(crate) fn take_moved_from(&mut self) -> Option<Box<Flow>> {
        self.moved_from.take()
    }

    /// Ends an attempt that was not answered.
    pub(super) fn on_migration_timeout(&mut self, now: Instant) {
        if let Some(migration) = &mut self.migration {
            migration.handle_timeout(now);
        }
    }

    /// Writes a message about a path, if one is due. It does not wait for the controller: where the old path carries
    /// nothing any more, that would take a timeout. There are a few for each packet of the peer at most.
    pub(super) fn transmit_check(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        if self.state != State::Open {
            return None;
        }
        let secure = call.channel.secure.as_mut()?;
        let size = AROUND + PathCheck::LEN + secure.security().overhead();
        let Due { check, to } = self.migration.as_mut()?.due(call.now, size)?;
        let to = to.filter(|to| *to != self.flow.path);
        let record = secure.seal_check(call.now, check, call.ctx.records)?;
        let payload = Payload::Bytes(record);
        let (ccval, cscov) = self.data_fields(call.now, payload.len());
        let mut encoder = self.start(head, &Kind::Data, (ccval, cscov), payload.len());
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        self.write_data_checksum(&payload, &mut encoder);
        let path = to.unwrap_or(self.flow.path);
        let head_len = seal(encoder, &path, &payload, cscov);
        let written = Written {
            seq: self.next_seq(),
            packet_type: PacketType::Data,
            head_len,
            payload,
            id: None,
        };
        let outgoing = self.sent(call, written);
        // Its loss says nothing about the path in use.
        if let Some(tx) = self.tx.as_mut().filter(|_| to.is_some()) {
            tx.leave_newest();
        }
        Some(Outgoing {
            to: to.map(Box::new),
            ..outgoing
        })
    }
}
