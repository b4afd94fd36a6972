//! TCP: the simulated sender and receiver as agents.

use fairwire_net::{Packet, Release};
use fairwire_proto::Payload;
use fairwire_tcp::{Receiver, Sender, SenderStats, TcpSegment};
use fairwire_units::Instant;

use super::application::Application;
use super::ends::Ends;
use super::store::{Content, Store};

/// The side that has data.
#[derive(Debug)]
pub(crate) struct TcpSource {
    pub(crate) ends: Ends,
    sender: Sender,
    /// Writes what it offers. A greedy one offers nothing by itself: its sender knows that there is always more.
    application: Application,
    /// A greedy application that stops takes its TCP with it.
    silent_from: Instant,
}

impl TcpSource {
    pub(crate) fn new(ends: Ends, sender: Sender, application: Application) -> Self {
        let stop = application.stop().filter(|_| application.is_greedy());
        Self {
            ends,
            sender,
            application,
            silent_from: stop.unwrap_or(Instant::MAX),
        }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let segment = arrive(now, self.ends, packet, store);
        if let Some(segment) = segment.filter(|_| now < self.silent_from) {
            self.sender.handle_segment(now, &segment);
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        if now >= self.silent_from {
            return None;
        }
        let segment = self.sender.poll_transmit(now)?;
        Some(send(now, self.ends, segment, store))
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        [self.application.next(), self.sender.next_timeout()]
            .into_iter()
            .flatten()
            .min()
            .filter(|at| *at < self.silent_from)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        while let Some(bytes) = self.application.take(now) {
            self.sender.write(u64::from(bytes));
            store
                .meter(self.ends.outgoing)
                .written(now, u64::from(bytes));
        }
        if self.sender.next_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
        }
    }

    pub(crate) fn stats(&self) -> SenderStats {
        self.sender.stats()
    }
}

/// The side that acknowledges.
#[derive(Debug)]
pub(crate) struct TcpSink {
    pub(crate) ends: Ends,
    receiver: Receiver,
}

impl TcpSink {
    pub(crate) fn new(ends: Ends, receiver: Receiver) -> Self {
        Self { ends, receiver }
    }

    pub(crate) fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let Some(segment) = arrive(now, self.ends, packet, store) else {
            return;
        };
        let before = self.receiver.stats().bytes_delivered;
        self.receiver.handle_segment(now, &segment);
        let new = self.receiver.stats().bytes_delivered.saturating_sub(before);
        if new > 0 {
            store.meter(self.ends.incoming).received(now, new, None);
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        let segment = self.receiver.poll_transmit(now)?;
        Some(send(now, self.ends, segment, store))
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.receiver.next_timeout()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.receiver.handle_timeout(now);
    }
}

fn arrive(now: Instant, ends: Ends, packet: Packet, store: &mut Store) -> Option<TcpSegment> {
    let slot = store.slot(packet.handle);
    let (content, sent_at, is_data) = (slot.content, slot.sent_at, slot.is_data);
    store.release(packet.handle);
    store
        .meter(ends.incoming)
        .arrived(now, sent_at, packet.wire_len, is_data);
    match content {
        Content::Tcp(segment) => Some(TcpSegment {
            ecn: packet.ecn,
            ..segment
        }),
        _ => None,
    }
}

fn send(now: Instant, ends: Ends, segment: TcpSegment, store: &mut Store) -> Packet {
    let is_data = segment.len > 0;
    let payload = Payload::Synthetic {
        len: segment.len,
        tag: 0,
    };
    let handle = store.put(Content::Tcp(segment), payload, now, is_data);
    if is_data {
        store.meter(ends.outgoing).sent(now);
    }
    ends.packet(segment.wire_len(), segment.ecn, handle)
}
