//! One direction of a wire with the queue in front of it.
//!
//! A packet costs a link one event: its arrival at the far end. Everything before that follows from earlier events:
//! when the transmitter took the packet, when its last bit left, what the queue decided. It is computed when the link
//! is next examined, at each packet that comes and at each that arrives, in the order of time. Nothing is missed in
//! between, because only an arriving packet can change what the queue does.
//!
//! At the same instant, departures come before the decision about an arriving packet.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::{Duration, Ecn, Instant, Rate};

use crate::observer::{DropReason, Observation, Observer, Place};
use crate::queue::{Admission, Backlog, DropTail, Next, Queue, Queued};
use crate::schedule::Key;
use crate::trace::Trace;
use crate::transmitter::Transmitter;
use crate::{DelayVariation, LinkId, Loss, NodeId, Packet, Release, Verdict};

/// The settings of a link: its rate or trace, its delay, its queue and its losses.
#[derive(Debug)]
pub struct LinkSpec {
    rate: Rate,
    changes: Vec<(Instant, Rate)>,
    trace: Option<Arc<Trace>>,
    delay: Duration,
    variation: Option<DelayVariation>,
    framing: u32,
    queue: Box<dyn Queue>,
    losses: Vec<Box<dyn Loss>>,
}

impl LinkSpec {
    /// Creates a link with this rate and one-way propagation delay. It loses nothing and its queue is unlimited.
    pub fn new(rate: Rate, delay: Duration) -> Self {
        Self {
            rate,
            changes: Vec::new(),
            trace: None,
            delay,
            variation: None,
            framing: 0,
            queue: Box::new(DropTail::unlimited()),
            losses: Vec::new(),
        }
    }

    /// Changes the rate at a moment, also of the packet that is then in transmission.
    ///
    /// At rate zero nothing leaves, and packets wait until the next change.
    pub fn rate_from(mut self, at: Instant, rate: Rate) -> Self {
        self.changes.push((at, rate));
        self
    }

    /// Lets packets leave at the times of `trace`, whatever the rate is.
    ///
    /// The transmitter takes the next packet when the previous one has left. While that packet waits for its time it is
    /// no longer in the queue.
    pub fn trace(mut self, trace: Arc<Trace>) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Lets the delay vary around the delay given to [`LinkSpec::new`].
    pub fn variation(mut self, variation: DelayVariation) -> Self {
        self.variation = Some(variation);
        self
    }

    /// Sets the bytes that the link adds to each packet on the wire.
    ///
    /// They take transmission time. They are not part of a packet's length anywhere else.
    pub fn framing(mut self, bytes: u32) -> Self {
        self.framing = bytes;
        self
    }

    /// Sets the queue discipline.
    pub fn queue(self, queue: impl Queue + 'static) -> Self {
        self.boxed_queue(Box::new(queue))
    }

    /// Sets the queue discipline, as built by a model.
    pub fn boxed_queue(mut self, queue: Box<dyn Queue>) -> Self {
        self.queue = queue;
        self
    }

    /// Adds a loss model. Several are asked in the order in which they were added, until one drops the packet.
    pub fn loss(self, loss: impl Loss + 'static) -> Self {
        self.boxed_loss(Box::new(loss))
    }

    /// Adds a loss model, as built by its settings.
    pub fn boxed_loss(mut self, loss: Box<dyn Loss>) -> Self {
        self.losses.push(loss);
        self
    }
}

/// The statistics of a link.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LinkStats {
    /// Packets that arrived at its queue.
    pub offered_packets: u64,
    /// Packets that its queue dropped.
    pub queue_drops: u64,
    /// Packets that its loss models dropped.
    pub wire_drops: u64,
    /// Packets that its loss models marked.
    pub wire_marks: u64,
    /// Packets that arrived at its far end.
    pub delivered_packets: u64,
    /// The bytes of these as IP packets, without framing.
    pub delivered_bytes: u64,
    /// The most packets that waited at once, not counting the one in transmission.
    pub peak_waiting: u32,
}

/// The parts of a network that a link needs while it works: the store and the observer.
#[derive(Debug)]
pub(crate) struct World<S, O> {
    pub(crate) store: S,
    pub(crate) observer: O,
}

impl<S: Release, O: Observer<S>> World<S, O> {
    pub(crate) fn drop_packet(
        &mut self,
        at: Instant,
        place: Place,
        packet: &Packet,
        why: DropReason,
    ) {
        let seen = Observation {
            at,
            place,
            packet,
            store: &self.store,
        };
        self.observer.dropped(&seen, why);
        self.store.release(packet.handle);
    }
}

/// A packet that the transmitter took.
#[derive(Debug)]
struct InFlight {
    arrives: Key,
    packet: Packet,
    lost: Option<DropReason>,
}

/// Returns an idle transmitter, which has a rate or a trace.
fn transmitter(
    trace: Option<Arc<Trace>>,
    rate: Rate,
    changes: Vec<(Instant, Rate)>,
) -> Transmitter {
    match trace {
        Some(trace) => Transmitter::traced(trace),
        None => Transmitter::new(rate).changing(changes),
    }
}

/// The state of a link.
#[derive(Debug)]
pub(crate) struct Link {
    place: Place,
    pub(crate) to: NodeId,
    transmitter: Transmitter,
    delay: Duration,
    variation: Option<DelayVariation>,
    /// Whether packets may overtake each other. If so, `flight` is sorted by arrival.
    reorders: bool,
    /// Whether the settings have changed, so that the delay may have become shorter.
    is_reshaped: bool,
    framing: u32,
    queue: Box<dyn Queue>,
    /// Whether packets that come to the idle link bypass the queue.
    bypasses: bool,
    losses: Vec<Box<dyn Loss>>,
    /// The number of packets in the queue.
    waiting: u32,
    flight: VecDeque<InFlight>,
    /// The packet that the transmitter took last, until the observer knows that it has left.
    transmitting: Option<Packet>,
    pub(crate) stats: LinkStats,
}

impl Link {
    pub(crate) fn new(id: LinkId, to: NodeId, spec: LinkSpec) -> Self {
        Self {
            place: Place::Link(id),
            to,
            transmitter: transmitter(spec.trace, spec.rate, spec.changes),
            delay: spec.delay,
            reorders: spec
                .variation
                .as_ref()
                .is_some_and(DelayVariation::reorders),
            is_reshaped: false,
            variation: spec.variation,
            framing: spec.framing,
            bypasses: spec.queue.may_bypass(),
            queue: spec.queue,
            losses: spec.losses,
            waiting: 0,
            flight: VecDeque::new(),
            transmitting: None,
            stats: LinkStats::default(),
        }
    }

    /// Returns when to examine the link next: when the next packet arrives at the far end.
    ///
    /// If packets overtake each other, a waiting packet may arrive before those in flight. So the instant at which the
    /// transmitter takes it also counts.
    #[inline]
    pub(crate) fn next_event(&self) -> Key {
        let arrival = self.flight.front().map_or(Key::NEVER, |next| next.arrives);
        if self.reorders && self.waiting > 0 {
            let taken = Key {
                at: self.transmitter.free_at(),
                ticket: 0,
            };
            return arrival.min(taken);
        }
        arrival
    }

    /// Adds a loss model after the existing ones.
    pub(crate) fn add_loss(&mut self, loss: Box<dyn Loss>) {
        self.losses.push(loss);
    }

    /// Returns the packets and bytes that wait.
    pub(crate) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Handles a packet that comes to the queue. Returns true if the next event of the link has changed.
    pub(crate) fn offer<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        ticket: u64,
        packet: Packet,
        world: &mut World<S, O>,
    ) -> bool {
        self.settle(now, world);
        self.stats.offered_packets += 1;
        let idle = self.transmitter.free_at() <= now;
        let arriving = Queued {
            packet,
            entered: now,
            ticket,
        };
        let bypasses = idle && self.bypasses;
        if !bypasses && !self.admit(now, arriving, world) {
            return false;
        }
        if O::WATCHES {
            let seen = Observation {
                at: now,
                place: self.place,
                packet: &packet,
                store: &world.store,
            };
            world.observer.entered(&seen);
        }
        let was_silent = self.flight.is_empty();
        if idle {
            self.transmitter.silent_until(now);
            if bypasses {
                self.transmit(now, arriving);
                self.settle(now, world);
            } else {
                self.catch_up(now, world);
            }
        }
        self.stats.peak_waiting = self.stats.peak_waiting.max(self.waiting);
        (was_silent && !self.flight.is_empty()) || self.reorders
    }

    /// Lets the queue decide about an arriving packet. Returns false if it dropped that packet.
    fn admit<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        arriving: Queued,
        world: &mut World<S, O>,
    ) -> bool {
        let transmitting = self.transmitting.map(|packet| packet.wire_len);
        let admission = self.queue.enqueue(now, arriving, transmitting);
        self.waiting += 1;
        if let Admission::Dropped(gone, why) = admission {
            self.discard(now, &gone.packet, why, world);
            return gone.ticket != arriving.ticket;
        }
        true
    }

    /// Returns the packet that arrives now, unless it was lost on the way.
    pub(crate) fn deliver<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        world: &mut World<S, O>,
    ) -> Option<Packet> {
        self.settle(now, world);
        self.flight.front().filter(|next| next.arrives.at <= now)?;
        let arrived = self.flight.pop_front()?;
        if let Some(why) = arrived.lost {
            self.stats.wire_drops += 1;
            world.drop_packet(now, self.place, &arrived.packet, why);
            return None;
        }
        self.stats.delivered_packets += 1;
        self.stats.delivered_bytes += u64::from(arrived.packet.wire_len);
        if O::WATCHES {
            let seen = Observation {
                at: now,
                place: self.place,
                packet: &arrived.packet,
                store: &world.store,
            };
            world.observer.delivered(&seen);
        }
        Some(arrived.packet)
    }

    /// Catches up to `now`: the observer learns of departures, and the transmitter takes the waiting packets one by one.
    #[inline]
    pub(crate) fn settle<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        world: &mut World<S, O>,
    ) {
        // While something waits, the transmitter has a packet.
        if self.transmitter.free_at() <= now && self.transmitting.is_some() {
            self.catch_up(now, world);
        }
    }

    fn catch_up<S: Release, O: Observer<S>>(&mut self, now: Instant, world: &mut World<S, O>) {
        while self.transmitter.free_at() <= now {
            let start = self.transmitter.free_at();
            if let Some(packet) = self.transmitting.take() {
                world.observer.departed(&Observation {
                    at: start,
                    place: self.place,
                    packet: &packet,
                    store: &world.store,
                });
            }
            if self.waiting == 0 {
                return;
            }
            self.take_next(start, world);
        }
    }

    /// Lets the transmitter, which is free at `start`, take the next packet of the queue.
    fn take_next<S: Release, O: Observer<S>>(&mut self, start: Instant, world: &mut World<S, O>) {
        match self.queue.dequeue(start) {
            Next::Send(next) => {
                self.waiting -= 1;
                self.transmit(start, next);
            }
            Next::Drop(gone, why) => self.discard(start, &gone.packet, why, world),
            Next::Empty => {
                debug_assert!(false, "a queue in which something waits gave nothing");
                self.waiting = 0;
            }
        }
    }

    /// Gives a packet to the transmitter and decides its fate on the wire.
    fn transmit(&mut self, start: Instant, next: Queued) {
        let mut packet = next.packet;
        let mut lost = None;
        for loss in &mut self.losses {
            match loss.verdict(start, &packet) {
                Verdict::Pass => {}
                Verdict::Mark if packet.ecn.is_capable() => {
                    packet.ecn = Ecn::Ce;
                    self.stats.wire_marks += 1;
                }
                Verdict::Mark => lost = Some(DropReason::Signal),
                Verdict::Drop => lost = Some(DropReason::Lost),
            }
            if lost.is_some() {
                break;
            }
        }
        self.transmitting = Some(packet);
        let departs = self.transmitter.send(self.on_wire(&packet));
        let arrives = Key {
            at: departs + self.delay_from(departs),
            ticket: next.ticket,
        };
        self.fly(InFlight {
            arrives,
            packet,
            lost,
        });
    }

    /// Returns the bytes of a packet with the link's framing.
    fn on_wire(&self, packet: &Packet) -> u64 {
        u64::from(packet.wire_len) + u64::from(self.framing)
    }

    /// Returns the delay of a packet that leaves at `departs`.
    fn delay_from(&mut self, departs: Instant) -> Duration {
        match &mut self.variation {
            None => self.delay,
            Some(variation) => variation.delay(departs, self.delay),
        }
    }

    /// Gives the link other settings from `now` on ([`Network::reshape`](crate::Network::reshape)).
    pub(crate) fn reshape<S: Release, O: Observer<S>>(
        &mut self,
        now: Instant,
        spec: LinkSpec,
        keeps_queue: bool,
        world: &mut World<S, O>,
    ) {
        self.settle(now, world);
        let cut = self.transmitting.and_then(|packet| {
            let at = self
                .flight
                .iter()
                .rposition(|one| one.packet.handle == packet.handle)?;
            let left = self.transmitter.unsent(now, self.on_wire(&packet));
            Some((self.flight.remove(at)?, left))
        });
        self.transmitter = transmitter(spec.trace, spec.rate, spec.changes);
        self.transmitter.silent_until(now);
        self.delay = spec.delay;
        self.reorders = spec
            .variation
            .as_ref()
            .is_some_and(DelayVariation::reorders);
        self.variation = spec.variation;
        self.is_reshaped = true;
        self.framing = spec.framing;
        self.losses = spec.losses;
        if let Some((mut cut, left)) = cut {
            let departs = self.transmitter.send(left);
            cut.arrives.at = departs + self.delay_from(departs);
            self.fly(cut);
        }
        if keeps_queue {
            return;
        }
        self.bypasses = spec.queue.may_bypass();
        let mut before = std::mem::replace(&mut self.queue, spec.queue);
        for _ in 0..std::mem::take(&mut self.waiting) {
            match before.dequeue(now) {
                Next::Send(next) => {
                    self.admit(now, next, world);
                }
                Next::Drop(gone, why) => {
                    self.waiting += 1;
                    self.discard(now, &gone.packet, why, world);
                }
                Next::Empty => {}
            }
        }
    }

    /// Puts a packet in flight.
    ///
    /// It is sorted by arrival if packets may overtake. Otherwise it arrives no earlier than the packet before it.
    fn fly(&mut self, mut next: InFlight) {
        if self.reorders {
            let place = self
                .flight
                .partition_point(|other| other.arrives < next.arrives);
            self.flight.insert(place, next);
            return;
        }
        if (self.variation.is_some() || self.is_reshaped)
            && let Some(last) = self.flight.back()
        {
            next.arrives.at = next.arrives.at.max(last.arrives.at);
        }
        self.flight.push_back(next);
    }

    fn discard<S: Release, O: Observer<S>>(
        &mut self,
        at: Instant,
        packet: &Packet,
        why: DropReason,
        world: &mut World<S, O>,
    ) {
        self.waiting -= 1;
        self.stats.queue_drops += 1;
        world.drop_packet(at, self.place, packet, why);
    }
}
