//! One state of a world, and the steps to the next. The code under test runs here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, HeadBuf, PacketType};

use super::super::kit::{PORT, SERVICE, Wire};
use super::app::App;
use super::fingerprint::{self, Digest, Hash};
use super::lock::Lock;
use super::moves;
use super::world::{Action, Budget, Call, FLIGHT, Start, World};
use crate::connection::{Connection, State as Phase};
use crate::{ConnectionId, Encapsulation, Endpoint, Event, Meta, Path, Payload};

/// The port of side a.
const OTHER_PORT: u16 = 6_001;

/// The duration of a pause: less than any timer of the handshake.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// RFC 4340, 3.4: no packet lives longer.
const MSL: Duration = Duration::from_secs(120);

/// The largest number of packets that one packet, timer or call may cause.
///
/// They are an answer, an Ack of what the answer made possible, and a datagram for each call that sends one.
pub(super) const ANSWERS: usize = 4;

/// One side.
pub(super) struct Side {
    pub(super) end: Endpoint,
    pub(super) app: App,
    /// The number of restarts of the host.
    restarts: u8,
    /// The state of each connection.
    phases: BTreeMap<ConnectionId, Phase>,
}

/// A state of a world.
pub(super) struct State {
    world: World,
    pub(super) now: Instant,
    pub(super) sides: [Side; 2],
    /// The packets in flight, oldest first.
    pub(super) flight: Vec<Wire>,
    pub(super) left: Budget,
    pub(super) budget: Budget,
    /// The number of datagrams sent, which is the tag of the next.
    datagrams: u64,
    /// The number of packets that the last step caused.
    pub(super) answers: usize,
    /// Whether an old Request has begun a connection at the listener that its client does not know.
    pub(super) ghosts: bool,
}

/// Returns the network path as side `side` sees it.
fn path(side: usize) -> Path {
    let address = |side: usize| ([192, 0, 2, [1, 2][side]], 0).into();
    Path {
        encapsulation: Encapsulation::Native,
        local: address(side),
        remote: address(1 - side),
    }
}

impl State {
    /// Returns the state in which the search begins.
    pub(super) fn begin(world: &World, budget: Budget) -> Result<Self, String> {
        let mut this = Self {
            world: *world,
            now: Instant::START + Duration::from_secs(1),
            sides: [0, 1].map(|side| Side::new(world, side, 0)),
            flight: Vec::new(),
            left: budget,
            budget,
            datagrams: 0,
            answers: 0,
            ghosts: false,
        };
        if world.start == Start::Open {
            this.call(0, Call::Connect)?;
            this.sides[0].app.called = 0;
            while !this.flight.is_empty() {
                this.arrive(0, false)?;
            }
            // Long enough for all pending packets to be sent.
            let quiet = this.now + Duration::from_secs(2);
            this.run_timers_until(quiet)?;
        }
        Ok(this)
    }

    fn run_timers_until(&mut self, until: Instant) -> Result<(), String> {
        while let Some((side, at)) = self.next_timer().filter(|&(_, at)| at <= until) {
            self.fire(side, at)?;
            while !self.flight.is_empty() {
                self.arrive(0, false)?;
            }
        }
        self.now = until;
        Ok(())
    }

    /// Returns the side with the earliest timer, and its time.
    pub(super) fn next_timer(&self) -> Option<(usize, Instant)> {
        let timer = |side: usize| Some((side, self.sides[side].end.next_timeout()?));
        [0, 1]
            .into_iter()
            .filter_map(timer)
            .min_by_key(|&(_, at)| at)
    }

    /// Returns every step that can happen next within the remaining budget.
    pub(super) fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (place, wire) in self.flight.iter().enumerate() {
            // Of several identical packets one is enough.
            let same = |other: &Wire| {
                (other.from, other.at) == (wire.from, wire.at) && other.head == wire.head
            };
            if self.flight[..place].iter().any(same) {
                continue;
            }
            let place = u8::try_from(place).unwrap();
            actions.push(Action::Deliver(place));
            if self.left.copies > 0 {
                actions.push(Action::Copy(place));
            }
        }
        if self.flight.len() < FLIGHT {
            self.add_others(&mut actions);
        }
        actions
    }

    /// Adds the steps without a packet.
    fn add_others(&self, actions: &mut Vec<Action>) {
        let earliest = self.next_timer();
        for side in [0, 1] {
            if self.next_call(side).is_some() {
                actions.push(Action::Call(side as u8));
            }
            let timer = self.sides[side].end.next_timeout();
            let is_late = timer > earliest.map(|(_, at)| at);
            if timer.is_some() && self.left.timers > 0 && (!is_late || self.left.late > 0) {
                actions.push(Action::Timer(side as u8));
            }
        }
        let is_quiet = earliest.is_none_or(|(_, at)| at > self.now + PAUSE);
        if self.left.pauses > 0 && is_quiet {
            actions.push(Action::Pause);
        }
    }

    /// Returns the next applicable call of a side's script and its index, if it can be made now.
    fn next_call(&self, side: usize) -> Option<(usize, Call)> {
        let Side { app, end, .. } = &self.sides[side];
        let script = self.world.scripts[side];
        let live = app.live();
        // The connection of these calls has ended.
        let is_moot =
            |call: Call| call.needs_connection() && app.current.is_some() && live.is_none();
        let (place, &call) = script
            .iter()
            .enumerate()
            .skip(app.called)
            .find(|&(_, &call)| !is_moot(call))?;
        let can = match call {
            Call::Connect | Call::ListenTowards => live.is_none() && end.time_wait.is_empty(),
            Call::Send => live.is_some_and(|(id, _)| end.can_send(id, 10)),
            Call::Close | Call::Abort => live.is_some(),
            Call::ChangeCcid(..) => {
                live.is_some_and(|(id, _)| self.sides[side].phase(id) == Phase::Open)
            }
            Call::Restart => !end.connections.is_empty(),
            Call::SetRoom(_) | Call::FreePlace => true,
        };
        can.then_some((place, call))
    }

    /// Returns the next call of a side's script.
    pub(super) fn call_of(&self, side: usize) -> Option<Call> {
        self.next_call(side).map(|(_, call)| call)
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    /// Returns the side that `action` affects, if it is one side, and a hash of its input.
    ///
    /// The state of the side and this hash determine the side's next state.
    pub(super) fn input(&self, action: Action) -> Option<(usize, Hash)> {
        let (side, kind, packet) = match action {
            Action::Deliver(place) | Action::Copy(place) => {
                let wire = &self.flight[usize::from(place)];
                (1 - wire.from, "packet", hash_packet(wire))
            }
            Action::Timer(side) => (usize::from(side), "timer", 0),
            Action::Call(side) => (usize::from(side), "call", 0),
            Action::Lose(_) | Action::Pause => return None,
        };
        let mut digest = Digest::default();
        digest.add_bytes(kind.as_bytes());
        digest.add_bytes(&packet.to_le_bytes());
        digest.add_bytes(&self.datagrams.to_le_bytes());
        write!(digest, "{:?}", self.now).expect("a digest takes everything");
        Some((side, digest.finish()))
    }

    /// Takes the step `action`.
    ///
    /// # Errors
    /// The step leads to a state that must not be.
    pub(super) fn act(&mut self, action: Action) -> Result<(), String> {
        self.answers = 0;
        match action {
            Action::Deliver(place) => self.arrive(usize::from(place), false),
            Action::Copy(place) => {
                self.left.copies -= 1;
                self.arrive(usize::from(place), true)
            }
            Action::Lose(place) => {
                self.left.losses -= 1;
                self.flight.remove(usize::from(place));
                Ok(())
            }
            Action::Timer(side) => {
                let side = usize::from(side);
                let at = self.sides[side].end.next_timeout().ok_or("no timer")?;
                self.left.timers -= 1;
                if Some(at) > self.next_timer().map(|(_, at)| at) {
                    self.left.late -= 1;
                }
                self.fire(side, at)
            }
            Action::Call(side) => {
                let side = usize::from(side);
                let (place, call) = self.next_call(side).ok_or("no call")?;
                self.sides[side].app.called = place + 1;
                self.call(side, call)
            }
            Action::Pause => {
                self.left.pauses -= 1;
                self.now += PAUSE;
                Ok(())
            }
        }
    }

    /// Returns the indices of those packets of the last step that `lost` selects, one bit each; the last first.
    pub(super) fn places(&self, lost: u8) -> Vec<u8> {
        let first = self.flight.len() - self.answers;
        let places = (0..self.answers).filter(|place| lost >> place & 1 == 1);
        places.rev().map(|place| (first + place) as u8).collect()
    }

    /// Loses the packets of the last step that `lost` selects.
    pub(super) fn lose(&mut self, lost: u8) {
        for place in self.places(lost) {
            self.left.losses -= 1;
            self.flight.remove(usize::from(place));
        }
    }

    /// Returns whether the search ends here, apart from calls of the applications.
    ///
    /// Either no packet is in flight and no timer may expire, or too many packets are in flight.
    pub(super) fn is_last(&self) -> bool {
        let is_quiet =
            self.flight.is_empty() && (self.left.timers == 0 || self.next_timer().is_none());
        is_quiet || self.flight.len() > FLIGHT
    }

    /// Delivers a packet, or a copy of it.
    pub(super) fn arrive(&mut self, place: usize, copy: bool) -> Result<(), String> {
        self.answers = 0;
        let wire = if copy {
            self.flight[place].clone()
        } else {
            self.flight.remove(place)
        };
        let side = 1 - wire.from;
        let meta = Meta {
            path: path(side),
            ecn: wire.transmit.ecn,
        };
        let is_old = wire.packet_type() == PacketType::Request && !self.is_requesting(wire.from);
        let before = self.sides[side].phases.len();
        let end = &mut self.sides[side].end;
        end.handle_datagram(self.now, meta, &wire.head, wire.transmit.payload);
        self.drain(side)?;
        self.ghosts |= is_old && self.sides[side].phases.len() > before;
        Ok(())
    }

    /// Returns whether a client of this side waits for its Response.
    fn is_requesting(&self, side: usize) -> bool {
        let mut phases = self.sides[side].phases.values();
        phases.any(|&phase| phase == Phase::Request)
    }

    /// Lets the timer of one side, set to `at`, expire.
    pub(super) fn fire(&mut self, side: usize, at: Instant) -> Result<(), String> {
        self.answers = 0;
        self.now = self.now.max(at);
        let now = self.now;
        self.flight
            .retain(|wire| now.saturating_since(wire.at) <= MSL);
        self.sides[side].end.handle_timeout(now);
        self.drain(side)
    }

    fn call(&mut self, side: usize, call: Call) -> Result<(), String> {
        if matches!(call, Call::Connect | Call::ListenTowards) {
            // Two connections that begin at one moment would have the same initial number.
            self.now += Duration::from_millis(1);
        }
        let (now, config) = (self.now, (self.world.config)());
        let ports = [OTHER_PORT, PORT];
        let (local, remote) = (ports[side], ports[1 - side]);
        let Side { end, app, .. } = &mut self.sides[side];
        let id = app.current.unwrap_or(ConnectionId::NONE);
        match call {
            Call::Connect | Call::ListenTowards => {
                let begun = if call == Call::Connect {
                    end.connect(now, path(side), Some(local), remote, SERVICE, config)
                } else {
                    end.listen_towards(now, path(side), local, remote, SERVICE, config)
                };
                let id = begun.map_err(|error| format!("cannot begin: {error}"))?;
                app.began(id);
                if self.world.is_encrypted {
                    end.secure(now, id, Arc::new(Lock { is_client: true }));
                }
            }
            Call::Send => {
                let (len, tag) = (10, self.datagrams);
                self.datagrams += 1;
                let sent = end.send(now, id, Payload::synthetic(len, tag));
                sent.map_err(|error| format!("cannot send: {error}"))?;
            }
            Call::Close | Call::Abort => {
                if let Some(known) = app.known.get_mut(&id) {
                    known.asked = true;
                }
                match call {
                    Call::Close => end.close(now, id),
                    _ => end.abort(now, id),
                }
            }
            // While the peer's Change is being negotiated ours is refused, and the application does not repeat it.
            Call::ChangeCcid(direction, ccid) => {
                let _refused = end.change_ccid(now, id, direction, &[Ccid::new(ccid)]);
            }
            Call::Restart => {
                let restarts = self.sides[side].restarts + 1;
                let called = self.sides[side].app.called;
                self.sides[side] = Side::new(&self.world, side, restarts);
                self.sides[side].app.called = called;
            }
            Call::SetRoom(places) => end.set_accept_places(PORT, places),
            Call::FreePlace => end.free_place(now, PORT),
        }
        self.drain(side)
    }

    /// Collects the packets and events of a side.
    fn drain(&mut self, side: usize) -> Result<(), String> {
        self.sides[side].note_phases()?;
        let mut head = HeadBuf::new();
        while let Some(transmit) = self.sides[side].end.poll_transmit(self.now, &mut head) {
            self.answers += 1;
            if self.answers > ANSWERS {
                return Err(format!("more than {ANSWERS} packets at once"));
            }
            self.flight.push(Wire {
                at: self.now,
                from: side,
                head: head.as_slice().to_vec(),
                transmit,
            });
            self.sides[side].note_phases()?;
        }
        let before = self.sides[side].app.current;
        self.sides[side].listen_to_events()?;
        let Side { end, app, .. } = &mut self.sides[side];
        match app
            .current
            .filter(|_| self.world.is_encrypted && app.current != before)
        {
            // Accepted just now.
            Some(id) => {
                end.secure(self.now, id, Arc::new(Lock { is_client: false }));
                self.drain(side)
            }
            None => Ok(()),
        }
    }

    /// Returns a hash of one side.
    pub(super) fn hash_side(&self, side: usize) -> Hash {
        let Side {
            end,
            app,
            restarts,
            phases: _,
        } = &self.sides[side];
        let mut digest = Digest::default();
        fingerprint::add(&mut digest, end).expect("a digest takes everything");
        write!(digest, "{app:?};{restarts}").expect("a digest takes everything");
        digest.finish()
    }

    /// Returns a hash of the whole state, without the remaining budget, from the hashes of its sides.
    pub(super) fn hash(&self, sides: [Hash; 2]) -> Hash {
        let mut flight: Vec<_> = self.flight.iter().map(hash_packet).collect();
        // Any of them can be delivered next, so the order in which they were sent does not matter.
        flight.sort_unstable();
        let mut digest = Digest::default();
        let (now, datagrams, ghosts) = (self.now, self.datagrams, self.ghosts);
        write!(digest, "{now:?};{datagrams};{ghosts};{sides:?};{flight:?}")
            .expect("a digest takes all");
        digest.finish()
    }
}

fn hash_packet(wire: &Wire) -> Hash {
    let mut digest = Digest::default();
    let (at, from, transmit) = (wire.at, wire.from, &wire.transmit);
    write!(
        digest,
        "{at:?};{from};{:?};{:?};",
        transmit.ecn, transmit.payload
    )
    .expect("a digest takes everything");
    digest.add_bytes(&wire.head);
    digest.finish()
}

impl Side {
    fn new(world: &World, side: usize, restarts: u8) -> Self {
        let secret = [side as u8 + 1 + 16 * restarts; 32];
        let mut end = Endpoint::new((world.host)(), secret);
        if side == 1 && world.listens {
            let listening = end.listen(PORT, &[SERVICE], (world.config)());
            assert_eq!(listening, Ok(()));
        }
        Self {
            end,
            app: App::default(),
            restarts,
            phases: BTreeMap::new(),
        }
    }

    /// Returns the state of one connection.
    pub(super) fn phase(&self, id: ConnectionId) -> Phase {
        self.end.get(id).map_or(Phase::Closed, Connection::state)
    }

    /// Records the states of the connections.
    ///
    /// RFC 4340, 8.4: a connection's state may only follow the transitions of the diagram.
    fn note_phases(&mut self) -> Result<(), String> {
        let ids = self
            .end
            .connections
            .iter()
            .map(|(_, connection)| connection.id());
        let ids: Vec<_> = ids.chain(self.phases.keys().copied()).collect();
        for id in ids {
            let after = self.phase(id);
            let before = self.phases.insert(id, after).unwrap_or(Phase::Closed);
            let server = self.end.get(id).is_some_and(Connection::is_server);
            if before != after && !moves::is_allowed(before, after, server) {
                return Err(format!("{id:?} went from {before:?} to {after:?}"));
            }
        }
        Ok(())
    }

    fn listen_to_events(&mut self) -> Result<(), String> {
        while let Some((id, event)) = self.end.poll_event() {
            self.app.told(id, &event)?;
            while let Some(received) = self.end.recv(id) {
                let tag = received.payload.tag().unwrap_or(u64::MAX);
                self.app.got(id, tag)?;
            }
            if let Event::Closed { .. } = event {
                self.end.release(id);
            }
        }
        Ok(())
    }
}
