//! Stations that change their access point.
//!
//! A station leaves at a given time. For the length of its outage it has no access point; then it joins the new one.
//! Only then does the wired network learn its new place. Packets that the station offers in between wait in its queue
//! or are lost. The old access point has packets for the station, and gets more until the routes change. These are
//! either lost, or kept and sent to the new access point by wire. An exchange that has begun is finished first.

use fairwire_units::Instant;

use super::Air;
use super::mover::{Departure, WaitingPackets};
use super::radio::{Role, Serving};
use crate::link::World;
use crate::observer::{Observation, Observer, Place};
use crate::queue::Next;
use crate::schedule::Key;
use crate::{LinkId, NodeId, Packet, Release};

/// The most packets that an old access point keeps for one station; more are lost.
const KEPT: usize = 1_000;

impl Air {
    /// Returns when the next station leaves or joins.
    pub(crate) fn next_change(&self) -> Key {
        let next = self.movers.iter().map(|mover| mover.next).min();
        next.unwrap_or(Key::NEVER)
    }

    /// Makes the station whose time has come leave or join. A station that joins has a new end of its hop up.
    pub(crate) fn change<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        ticket: u64,
        world: &mut World<S, O>,
    ) -> Option<(LinkId, NodeId)> {
        let due = self
            .movers
            .iter()
            .enumerate()
            .min_by_key(|(_, mover)| mover.next)?
            .0;
        let mover = &self.movers[due];
        let departure = *mover.plan.front()?;
        if mover.is_away {
            return Some(self.come(now, ticket, (due, departure), world));
        }
        let station = mover.station;
        let medium = self.radios[station].medium?;
        if self.media[medium].is_busy(now, &mut self.radios)
            && self.media[medium].is_sending(station)
        {
            // Wait until this exchange has ended; its event has an earlier ticket.
            let at = self.media[medium].end().at;
            self.movers[due].next = Key { at, ticket };
            return None;
        }
        self.movers[due].is_away = true;
        self.movers[due].at_ap = departure.hand_off.at_ap;
        self.movers[due].next = Key {
            at: now + departure.hand_off.outage,
            ticket,
        };
        self.leave(now, ticket, (station, medium), world);
        if departure.hand_off.at_station == WaitingPackets::Lost {
            self.shut(now, station, world);
        }
        None
    }

    fn leave<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        ticket: u64,
        (station, medium): (usize, usize),
        world: &mut World<S, O>,
    ) {
        let radio = &mut self.radios[station];
        radio.medium = None;
        let old = match &mut radio.role {
            Role::Station { at, .. } => at.take(),
            Role::AccessPoint { .. } => None,
        };
        self.media[medium].leave(station);
        let is_busy = self.media[medium].is_busy(now, &mut self.radios);
        if let Some(old) = old
            && !self.media[medium].is_sending(old)
        {
            self.serve(now, old, world);
        }
        if !is_busy {
            self.plan_exchange(medium, ticket);
        }
    }

    /// Drops all packets of the station, and closes its queue until it sends again.
    fn shut<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        station: usize,
        world: &mut World<S, O>,
    ) {
        self.radios[station].is_down = true;
        if let Some(Serving { packet, hop }) = self.radios[station].serving.take() {
            self.withdraw(now, hop, &packet, world);
            self.strand(now, hop, &packet, world);
        }
        while self.radios[station].waiting > 0 {
            let radio = &mut self.radios[station];
            radio.waiting -= 1;
            let packet = match radio.queue.dequeue(now) {
                Next::Send(queued) | Next::Drop(queued, _) => queued.packet,
                Next::Empty => break,
            };
            if let Some(hop) = radio.hop_of(&packet) {
                self.withdraw(now, hop, &packet, world);
                self.strand(now, hop, &packet, world);
            }
        }
    }

    fn come<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        ticket: u64,
        (mover, departure): (usize, Departure),
        world: &mut World<S, O>,
    ) -> (LinkId, NodeId) {
        let station = self.movers[mover].station;
        let access_point = &self.radios[departure.to];
        let (node, medium) = (access_point.node, access_point.medium.unwrap_or(0));
        let is_busy = self.media[medium].is_busy(now, &mut self.radios);
        let radio = &mut self.radios[station];
        radio.medium = Some(medium);
        radio.is_down = false;
        let mut up = 0;
        if let Role::Station { hop, at } = &mut radio.role {
            *at = Some(departure.to);
            up = *hop;
        }
        self.hops[up].to = departure.to;
        self.media[medium].enter(station);
        self.media[medium].starts_counting(now, &mut self.radios[station]);
        self.serve(now, station, world);
        if !is_busy {
            self.plan_exchange(medium, ticket);
        }
        let mover = &mut self.movers[mover];
        mover.is_away = false;
        mover.plan.pop_front();
        mover.next_departure(ticket);
        self.outbox.append(&mut mover.kept);
        (self.hops[up].id, node)
    }

    /// Handles a packet that an access point has for a station which is not there.
    pub(super) fn left_behind<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        hop: usize,
        packet: Packet,
        world: &mut World<S, O>,
    ) {
        self.withdraw(now, hop, &packet, world);
        let (from, to) = (self.hops[hop].from, self.hops[hop].to);
        let node = self.radios[from].node;
        let mover = self.movers.iter_mut().find(|mover| mover.station == to);
        match mover {
            Some(mover) if mover.at_ap == WaitingPackets::Kept => {
                if !mover.is_away {
                    self.outbox.push_back((node, packet));
                } else if mover.kept.len() < KEPT {
                    mover.kept.push_back((node, packet));
                } else {
                    self.strand(now, hop, &packet, world);
                }
            }
            _ => self.strand(now, hop, &packet, world),
        }
    }

    /// Tells the observer that a packet left the queue of `hop` unsent.
    fn withdraw<S: Release, O: Observer<S>>(
        &self,
        now: Instant,
        hop: usize,
        packet: &Packet,
        world: &mut World<S, O>,
    ) {
        if O::WATCHES {
            world.observer.withdrawn(&Observation {
                at: now,
                place: Place::Link(self.hops[hop].id),
                packet,
                store: &world.store,
            });
        }
    }
}
