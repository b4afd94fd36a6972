//! Shared media: 802.11g with its access points and stations.
//!
//! - [`dcf`]: which station sends when, and which frames collide.
//! - [`phy`]: the airtime of a frame.
//! - [`adapt`] and [`signal`]: the choice of a mode, and frame errors from a weak signal.
//! - [`radio`]: a sender's queue and backoff.
//! - [`handoff`]: stations that change their access point; [`mover`]: one such station with its plan.
//!
//! A station has one radio and one hop up, to its access point. An access point has one radio, one queue, and one hop
//! down to each station that may associate with it. For routing, observers and statistics, hops are links.

mod adapt;
mod dcf;
mod handoff;
mod mover;
mod phy;
mod radio;
mod signal;
mod spec;

use std::collections::VecDeque;

use fairwire_units::Instant;

use crate::link::World;
use crate::observer::{DropReason, Observation, Observer, Place};
use crate::queue::{Admission, Backlog, Next, Queued};
use crate::schedule::Key;
use crate::{LinkId, LinkStats, NodeId, Packet, Release, Stream};
use adapt::Adaptation;
use dcf::{Airtime, Medium};
use mover::Mover;
use radio::{Radio, Role, Serving};
use signal::Signal;

pub use adapt::{ParseRateControlError, RateControl};
pub use dcf::Dcf;
pub use mover::{HandOff, WaitingPackets};
pub use phy::{MAC_FRAMING, PhyRate};
pub use radio::{RadioSpec, RadioStats};
pub use spec::{MediumId, StationSpec};

/// One direction between an access point and a station.
#[derive(Debug)]
pub(crate) struct Hop {
    id: LinkId,
    /// The number of the radio that sends.
    from: usize,
    /// The number of the radio that receives. After a hand-off a station's hop up leads to another radio.
    to: usize,
    rate: Adaptation,
    signal: Option<(Signal, Stream)>,
    stats: LinkStats,
}

/// All media, radios and hops of a network.
#[derive(Debug, Default)]
pub(crate) struct Air {
    media: Vec<Medium>,
    radios: Vec<Radio>,
    hops: Vec<Hop>,
    movers: Vec<Mover>,
    /// Packets to forward by wire, with the nodes that they are at.
    pub(crate) outbox: VecDeque<(NodeId, Packet)>,
}

impl Air {
    pub(crate) fn media(&self) -> usize {
        self.media.len()
    }

    /// Returns when the current exchange on a medium ends.
    pub(crate) fn end(&self, medium: usize) -> Key {
        self.media[medium].end()
    }

    pub(crate) fn stats(&self, hop: usize) -> LinkStats {
        self.hops[hop].stats
    }

    pub(crate) fn backlog(&self, hop: usize) -> Backlog {
        self.radios[self.hops[hop].from].queue.backlog()
    }

    /// Returns the statistics of the radio at `node`.
    pub(crate) fn radio_stats(&self, node: NodeId) -> Option<RadioStats> {
        let radio = self.radios.iter().find(|radio| radio.node == node);
        radio.map(|radio| radio.stats)
    }

    /// Returns the medium on which `hop` sends now.
    pub(crate) fn medium_of(&self, hop: usize) -> Option<usize> {
        self.radios[self.hops[hop].from].medium
    }

    /// Returns the current ends of all hops. An access point's hop to a station that is elsewhere leads nowhere.
    pub(crate) fn active(&self, ends: &[(NodeId, NodeId)]) -> Vec<(NodeId, NodeId)> {
        let mut active = ends.to_vec();
        for (number, hop) in self.hops.iter().enumerate() {
            let end = &mut active[hop.id.0 as usize];
            if !self.leads_on(number) {
                end.0 = end.1;
            }
        }
        active
    }

    /// Handles a packet that arrives at the queue of `hop`.
    pub(crate) fn offer<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        ticket: u64,
        (hop, packet): (usize, Packet),
        world: &mut World<S, O>,
    ) {
        let from = self.hops[hop].from;
        self.hops[hop].stats.offered_packets += 1;
        if self.radios[from].is_down {
            self.strand(now, hop, &packet, world);
            return;
        }
        let arriving = Queued {
            packet,
            entered: now,
            ticket,
        };
        if !self.admit(now, hop, arriving, world) {
            return;
        }
        let radio = &self.radios[from];
        if radio.serving.is_some() {
            return;
        }
        let Some(medium) = radio.medium else { return };
        let is_busy = self.media[medium].is_busy(now, &mut self.radios);
        self.serve(now, from, world);
        if self.radios[from].serving.is_some() {
            self.media[medium].wants_to_send(now, &mut self.radios[from]);
            if !is_busy {
                self.plan_exchange(medium, ticket);
            }
        }
    }

    /// Lets the queue decide about an arriving packet. Returns false if it dropped that packet.
    fn admit<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        hop: usize,
        arriving: Queued,
        world: &mut World<S, O>,
    ) -> bool {
        let radio = &mut self.radios[self.hops[hop].from];
        let is_full = radio.serving.is_some() || radio.medium.is_none();
        let at_work = radio.serving.map_or(0, |serving| serving.packet.wire_len);
        let transmitting = is_full.then_some(at_work);
        let admission = radio.queue.enqueue(now, arriving, transmitting);
        radio.waiting += 1;
        let stats = &mut self.hops[hop].stats;
        if let Admission::Dropped(gone, why) = admission {
            radio.waiting -= 1;
            let is_new = gone.ticket == arriving.ticket;
            let from = self.hops[hop].from;
            self.discard(now, (from, &gone.packet), why, world);
            if is_new {
                return false;
            }
        } else {
            stats.peak_waiting = stats.peak_waiting.max(radio.waiting);
        }
        if O::WATCHES {
            let place = Place::Link(self.hops[hop].id);
            world.observer.entered(&Observation {
                at: now,
                place,
                packet: &arriving.packet,
                store: &world.store,
            });
        }
        true
    }

    /// Drops `packet`, which the queue of radio `from` discarded.
    fn discard<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        (from, packet): (usize, &Packet),
        why: DropReason,
        world: &mut World<S, O>,
    ) {
        let radio = &self.radios[from];
        let place = match radio.hop_of(packet) {
            Some(hop) => {
                self.hops[hop].stats.queue_drops += 1;
                Place::Link(self.hops[hop].id)
            }
            None => Place::Node(radio.node),
        };
        world.drop_packet(now, place, packet, why);
    }

    /// Drops `packet` because its station is not there.
    fn strand<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        hop: usize,
        packet: &Packet,
        world: &mut World<S, O>,
    ) {
        let hop = &mut self.hops[hop];
        hop.stats.wire_drops += 1;
        self.radios[hop.from].stats.lost_at_hand_off += 1;
        world.drop_packet(now, Place::Link(hop.id), packet, DropReason::Away);
    }

    /// Returns whether `hop` leads to a station that is there.
    ///
    /// A station's own hop leads on as soon as the station sends again.
    fn leads_on(&self, hop: usize) -> bool {
        let hop = &self.hops[hop];
        match self.radios[hop.to].role {
            Role::Station { at, .. } => at == Some(hop.from),
            Role::AccessPoint { .. } => true,
        }
    }

    /// Makes a radio take the next waiting packet whose station is there.
    ///
    /// If the station of the packet in service has left, that packet is withdrawn first.
    fn serve<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        from: usize,
        world: &mut World<S, O>,
    ) {
        if let Some(Serving { packet, hop }) = self.radios[from].serving
            && !self.leads_on(hop)
        {
            self.radios[from].serving = None;
            self.left_behind(now, hop, packet, world);
        }
        while self.radios[from].waiting > 0 && self.radios[from].serving.is_none() {
            let radio = &mut self.radios[from];
            radio.waiting -= 1;
            match radio.queue.dequeue(now) {
                Next::Send(next) => {
                    let Some(hop) = radio.hop_of(&next.packet) else {
                        debug_assert!(false, "a packet came to a radio that leads nowhere");
                        continue;
                    };
                    if self.leads_on(hop) {
                        self.radios[from].serving = Some(Serving {
                            packet: next.packet,
                            hop,
                        });
                    } else {
                        self.left_behind(now, hop, next.packet, world);
                    }
                }
                Next::Drop(gone, why) => self.discard(now, (from, &gone.packet), why, world),
                Next::Empty => {
                    debug_assert!(false, "a queue in which something waits gave nothing");
                    radio.waiting = 0;
                }
            }
        }
    }

    /// Plans the next exchange on a medium. Its senders use the modes that each of them has chosen.
    fn plan_exchange(&mut self, medium: usize, ticket: u64) {
        let (radios, hops) = (&self.radios, &self.hops);
        let airtime = |serving: Serving| {
            let rate = hops[serving.hop].rate.rate();
            Airtime {
                frame: rate.airtime(serving.packet.wire_len.saturating_add(MAC_FRAMING)),
                ack: rate.ack_airtime(),
            }
        };
        self.media[medium].plan(ticket, radios, airtime);
    }

    /// Ends the exchange on a medium, and returns the packet that arrived, with its node.
    pub(crate) fn finish<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        (medium, ticket): (usize, u64),
        world: &mut World<S, O>,
    ) -> Option<(NodeId, Packet)> {
        self.media[medium].finish(now, &mut self.radios);
        let senders = std::mem::take(&mut self.media[medium].senders);
        let collides = senders.len() > 1;
        let mut arrived = None;
        for &sender in &senders {
            arrived = self
                .outcome(now, (medium, sender, collides), world)
                .or(arrived);
            self.serve(now, sender, world);
        }
        self.media[medium].senders = senders;
        self.plan_exchange(medium, ticket);
        arrived
    }

    /// Decides the fate of one sender's frame.
    fn outcome<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        (medium, sender, collides): (usize, usize, bool),
        world: &mut World<S, O>,
    ) -> Option<(NodeId, Packet)> {
        let dcf = self.media[medium].dcf;
        let radio = &mut self.radios[sender];
        let Serving { packet, hop } = radio.serving?;
        let hop = &mut self.hops[hop];
        radio.stats.attempts += 1;
        let garbled = !collides && hop.garbles(packet.wire_len.saturating_add(MAC_FRAMING));
        radio.stats.collisions += u64::from(collides);
        radio.stats.garbled += u64::from(garbled);
        if collides || garbled {
            hop.rate.failed();
            radio.attempts += 1;
            if radio.attempts < dcf.attempts {
                radio.back_off((dcf.cw_min, dcf.cw_max));
                return None;
            }
            radio.stats.given_up += 1;
        } else {
            hop.rate.acknowledged();
        }
        radio.serving = None;
        radio.restart(dcf.cw_min);
        let seen = Observation {
            at: now,
            place: Place::Link(hop.id),
            packet: &packet,
            store: &world.store,
        };
        if O::WATCHES {
            world.observer.departed(&seen);
        }
        if collides || garbled {
            hop.stats.wire_drops += 1;
            world.drop_packet(now, Place::Link(hop.id), &packet, DropReason::Lost);
            return None;
        }
        if O::WATCHES {
            world.observer.delivered(&seen);
        }
        hop.stats.delivered_packets += 1;
        hop.stats.delivered_bytes += u64::from(packet.wire_len);
        Some((self.radios[hop.to].node, packet))
    }
}

impl Hop {
    /// Returns whether a frame of this length is corrupted.
    fn garbles(&mut self, bytes: u32) -> bool {
        let rate = self.rate.rate();
        match &mut self.signal {
            Some((signal, draws)) => draws.bool(signal.garbles(rate, bytes)),
            None => false,
        }
    }
}
