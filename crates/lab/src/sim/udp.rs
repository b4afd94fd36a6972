//! UDP: a source that nothing holds back, and a sink.

use std::collections::VecDeque;

use fairwire_net::Packet;
use fairwire_net::Release;
use fairwire_proto::Payload;
use fairwire_units::{Ecn, Instant};

use super::application::Application;
use super::ends::Ends;
use super::store::{Content, Store};
use crate::scenario::{IP_HEADER, UDP_HEADER};

/// Sends whatever the application offers.
#[derive(Debug)]
pub(crate) struct UdpSource {
    pub(crate) ends: Ends,
    application: Application,
    /// Datagrams that are due, bytes.
    due: VecDeque<u32>,
}

impl UdpSource {
    pub(crate) fn new(ends: Ends, application: Application) -> Self {
        Self {
            ends,
            application,
            due: VecDeque::new(),
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        let size = self.due.pop_front()?;
        let payload = Payload::Synthetic {
            len: size,
            tag: now.as_nanos(),
        };
        let handle = store.put(Content::Udp, payload, now, true);
        let meter = store.meter(self.ends.outgoing);
        meter.offered(now);
        meter.sent(now);
        let wire_len = IP_HEADER + UDP_HEADER + size;
        Some(self.ends.packet(wire_len, Ecn::NotEct, handle))
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.application.next()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(bytes) = self.application.take(now) {
            self.due.push_back(bytes);
        }
    }
}

/// Takes what comes.
#[derive(Debug)]
pub(crate) struct UdpSink {
    pub(crate) ends: Ends,
}

impl UdpSink {
    pub(crate) fn handle_packet(&self, now: Instant, packet: Packet, store: &mut Store) {
        let slot = store.slot(packet.handle);
        let (sent_at, bytes) = (slot.sent_at, slot.payload.len() as u64);
        store.release(packet.handle);
        let meter = store.meter(self.ends.incoming);
        meter.arrived(now, sent_at, packet.wire_len, true);
        meter.received(now, bytes, Some(sent_at));
    }
}
