//! Short flows: the two peers of a flow with many conversations, each of which has two peers of its own.
//!
//! Conversation `n` of a flow has the flow's numbers plus `n` times `stride`, the count of all flow numbers. So queues,
//! captures and digests distinguish conversations, and meters count them together. When a conversation arrives, the
//! caller makes both of its peers. The answerer takes its peer when the first packet arrives, and removes it after the
//! caller has ended the conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairwire_net::{FlowId, Packet, Release, Streams};
use fairwire_units::{Duration, Instant};

use super::call::NamedFlow;
use fairwire_scenario::Flow;
use fairwire_scenario::traffic::{Arrival, Arrivals};
use fairwire_scenario::transport::Peer;
use fairwire_scenario::transport::ends::Ends;
use fairwire_scenario::transport::model::Peers;
use fairwire_scenario::transport::store::Store;

/// Returns the two sides of `flow`, whose conversations arrive from `start` on.
pub(super) fn short_flow_peers(
    flow: &NamedFlow<'_>,
    ends: (Ends, Ends),
    (start, stride): (Instant, u32),
    mut arrivals: Box<dyn Arrivals>,
) -> Peers {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let next = arrivals.next();
    let caller = Caller {
        calls: Calls::new(ends.0, stride),
        peer_ends: ends.1,
        name: flow.name.to_owned(),
        flow: flow.flow.clone(),
        streams: flow.streams,
        arrivals,
        next: (start + next.after, next),
        stop: flow
            .flow
            .stop
            .map_or(Instant::MAX, |stop| Instant::START + stop),
        count: 0,
        shared: Arc::clone(&shared),
    };
    let answerer = Answerer {
        calls: Calls::new(ends.1, stride),
        shared,
    };
    (Box::new(caller), Box::new(answerer))
}

/// State that the caller and the answerer share without packets.
#[derive(Debug, Default)]
struct Shared {
    /// Receivers whose first packet has not arrived, with the start of their conversations.
    new: BTreeMap<u32, (Box<dyn Peer>, Instant)>,
    /// Conversations that are over.
    over: Vec<u32>,
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One side of one conversation.
#[derive(Debug)]
struct CallSide {
    peer: Box<dyn Peer>,
    began: Instant,
    timer: Option<Instant>,
    is_complete: bool,
}

/// The active conversations of one side.
#[derive(Debug)]
struct Calls {
    ends: Ends,
    stride: u32,
    all: BTreeMap<u32, CallSide>,
    timers: BTreeSet<(Instant, u32)>,
    /// Conversations that may have something to send.
    ready: BTreeSet<u32>,
    /// Conversations whose timers are being handled; the buffer is reused.
    due: Vec<u32>,
}

impl Calls {
    fn new(ends: Ends, stride: u32) -> Self {
        Self {
            ends,
            stride: stride.max(1),
            all: BTreeMap::new(),
            timers: BTreeSet::new(),
            ready: BTreeSet::new(),
            due: Vec::new(),
        }
    }

    fn takes(&self, flow: FlowId) -> bool {
        flow.0 % self.stride == self.ends.incoming.0
    }

    /// Returns the number of the conversation that `flow` belongs to.
    fn number(&self, flow: FlowId) -> u32 {
        flow.0 / self.stride
    }

    fn add(&mut self, number: u32, peer: Box<dyn Peer>, began: Instant) {
        let call = CallSide {
            peer,
            began,
            timer: None,
            is_complete: false,
        };
        self.all.insert(number, call);
        self.touched(number);
    }

    fn remove(&mut self, number: u32) {
        if let Some(CallSide {
            timer: Some(at), ..
        }) = self.all.remove(&number)
        {
            self.timers.remove(&(at, number));
        }
        self.ready.remove(&number);
    }

    /// Updates the timer of `number` after an event, and marks it as ready to send.
    fn touched(&mut self, number: u32) {
        let Some(call) = self.all.get_mut(&number) else {
            return;
        };
        let timer = call.peer.next_timeout();
        if timer != call.timer {
            if let Some(at) = call.timer {
                self.timers.remove(&(at, number));
            }
            if let Some(at) = timer {
                self.timers.insert((at, number));
            }
            call.timer = timer;
        }
        self.ready.insert(number);
    }

    /// Passes a packet to its conversation. If that is over, the packet is only counted as arrived.
    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let number = self.number(packet.flow);
        if let Some(call) = self.all.get_mut(&number) {
            call.peer.handle_packet(now, packet, store);
            self.touched(number);
            return;
        }
        let slot = store.slot(packet.handle);
        let (sent_at, is_data) = (slot.sent_at, slot.is_data);
        store.release(packet.handle);
        let meter = store.meter(self.ends.incoming);
        meter.arrived(now, sent_at, packet.wire_len, is_data);
    }

    /// Returns the next packet of any conversation. Calls `idle` for each conversation that has none.
    fn poll_transmit(
        &mut self,
        now: Instant,
        store: &mut Store,
        mut idle: impl FnMut(&mut Self, u32),
    ) -> Option<Packet> {
        while let Some(&number) = self.ready.first() {
            let call = self.all.get_mut(&number);
            let packet = call.and_then(|call| call.peer.poll_transmit(now, store));
            self.touched(number);
            if packet.is_some() {
                return packet;
            }
            self.ready.remove(&number);
            idle(self, number);
        }
        None
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        let mut due = std::mem::take(&mut self.due);
        while let Some(&(at, number)) = self.timers.first().filter(|&&(at, _)| at <= now) {
            self.timers.remove(&(at, number));
            due.push(number);
        }
        // Handles each timer once: a conversation with something to send may stay due until it is sent.
        for number in due.drain(..) {
            if let Some(call) = self.all.get_mut(&number) {
                call.timer = None;
                call.peer.handle_timeout(now, store);
            }
            self.touched(number);
        }
        self.due = due;
    }
}

/// The side that sends.
#[derive(Debug)]
struct Caller {
    calls: Calls,
    /// The receiver's ends.
    peer_ends: Ends,
    name: String,
    flow: Flow,
    streams: Streams,
    arrivals: Box<dyn Arrivals>,
    /// The next arrival and its time.
    next: (Instant, Arrival),
    /// The time from which no conversation arrives.
    stop: Instant,
    /// The number of conversations that have arrived.
    count: u32,
    shared: Arc<Mutex<Shared>>,
}

impl Caller {
    fn begin(&mut self, now: Instant, bytes: u64, store: &mut Store) {
        let number = self.count;
        let stride = self.calls.stride;
        let ends = (
            self.calls.ends.of_call(number, stride),
            self.peer_ends.of_call(number, stride),
        );
        let name = format!("{}/{number}", self.name);
        let flow = NamedFlow {
            name: &name,
            flow: &self.flow,
            streams: self.streams,
        };
        self.count += 1;
        store.meter(self.calls.ends.outgoing).flow_began(now);
        match flow.call(ends, now, bytes) {
            Ok((sender, receiver)) => {
                locked(&self.shared).new.insert(number, (receiver, now));
                self.calls.add(number, sender, now);
            }
            Err(what) => store.notes.push(format!("{name}: {what}")),
        }
    }

    /// Returns the time of the next arrival, as long as flow numbers are left for it.
    fn next_arrival(&self) -> Option<Instant> {
        let has_number = self.count < u32::MAX / self.calls.stride - 1;
        Some(self.next.0).filter(|at| *at < self.stop && has_number)
    }
}

impl Peer for Caller {
    fn ends(&self) -> Ends {
        self.calls.ends
    }

    fn takes(&self, flow: FlowId) -> bool {
        self.calls.takes(flow)
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        self.calls.handle_packet(now, packet, store);
    }

    /// Returns the next packet. A conversation that is over and has nothing to send is removed on both sides.
    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        let shared = &self.shared;
        self.calls.poll_transmit(now, store, |calls, number| {
            let call = calls.all.get(&number);
            if call.is_some_and(|call| call.peer.is_over()) {
                calls.remove(number);
                locked(shared).over.push(number);
            }
        })
    }

    fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest([self.next_arrival(), self.calls.next_timeout()])
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        while self.next_arrival().is_some_and(|at| at <= now) {
            let (at, arrival) = self.next;
            self.begin(now, arrival.bytes, store);
            let next = self.arrivals.next();
            // Two flows never begin at the same time, so that simulated time goes on.
            let after = next.after.max(Duration::from_nanos(1));
            self.next = (at + after, next);
        }
        self.calls.handle_timeout(now, store);
    }
}

/// The side that receives.
#[derive(Debug)]
struct Answerer {
    calls: Calls,
    shared: Arc<Mutex<Shared>>,
}

impl Answerer {
    /// Removes conversations that are over, and adds the peer of conversation `number` if its first packet has just
    /// arrived.
    fn update_calls(&mut self, number: u32) {
        let mut shared = locked(&self.shared);
        for over in std::mem::take(&mut shared.over) {
            shared.new.remove(&over);
            self.calls.remove(over);
        }
        if let Some((peer, began)) = shared.new.remove(&number) {
            self.calls.add(number, peer, began);
        }
    }
}

impl Peer for Answerer {
    fn ends(&self) -> Ends {
        self.calls.ends
    }

    fn takes(&self, flow: FlowId) -> bool {
        self.calls.takes(flow)
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let number = self.calls.number(packet.flow);
        self.update_calls(number);
        self.calls.handle_packet(now, packet, store);
        if let Some(call) = self.calls.all.get_mut(&number)
            && !call.is_complete
            && call.peer.is_complete()
        {
            call.is_complete = true;
            let began = call.began;
            let meter = store.meter(self.calls.ends.incoming);
            meter.flow_completed(began, now);
        }
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        self.calls.poll_transmit(now, store, |_, _| {})
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.calls.next_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        self.calls.handle_timeout(now, store);
    }
}
