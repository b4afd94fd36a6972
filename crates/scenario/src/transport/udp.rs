//! UDP: a source without congestion control, and a sink.

use std::collections::VecDeque;
use std::io;

use etherparse::IpNumber;
use fairwire_net::{Packet, Release};
use fairwire_proto::Payload;
use fairwire_units::{Ecn, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::Application;
use super::content::{Content, Parts};
use super::ends::Ends;
use super::header::{IP_HEADER, UDP_HEADER};
use super::model::{Conversation, Peers, Transport};
use super::peer::Peer;
use super::store::Store;

/// UDP, which has no parameters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Udp {}

impl Transport for Udp {
    fn label(&self) -> &'static str {
        "UDP"
    }

    fn header_bytes(&self) -> u32 {
        UDP_HEADER
    }

    fn has_datagrams(&self) -> bool {
        true
    }

    fn is_connected(&self) -> bool {
        false
    }

    fn connect(&self, conversation: &Conversation<'_>) -> Result<Peers, String> {
        let (source, sink) = conversation.ends;
        let mut application = (conversation.application)(conversation.name);
        application.begin(conversation.start);
        let source = UdpSource {
            ends: source,
            application,
            due: VecDeque::new(),
        };
        Ok((Box::new(source), Box::new(UdpSink { ends: sink })))
    }
}

/// A UDP datagram, which needs no further contents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UdpPacket;

impl Content for UdpPacket {
    fn protocol(&self) -> IpNumber {
        IpNumber::UDP
    }

    fn counted(&self) -> &'static str {
        "udp"
    }

    fn write(&self, packet: &Parts<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        packet.write_datagram(out, (packet.port, packet.port))
    }
}

/// The sending side, which sends whatever the application offers.
#[derive(Debug)]
struct UdpSource {
    ends: Ends,
    application: Application,
    /// The sizes of datagrams that are due, bytes.
    due: VecDeque<u32>,
}

impl Peer for UdpSource {
    fn ends(&self) -> Ends {
        self.ends
    }

    /// Discards the packet, because a UDP source expects none.
    fn handle_packet(&mut self, _now: Instant, packet: Packet, store: &mut Store) {
        store.release(packet.handle);
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        let size = self.due.pop_front()?;
        let payload = Payload::synthetic(size, now.as_nanos());
        let handle = store.put(UdpPacket, payload, now, true);
        let meter = store.meter(self.ends.outgoing);
        meter.offered(now);
        meter.sent(now);
        let wire_len = IP_HEADER + UDP_HEADER + size;
        Some(self.ends.packet(wire_len, Ecn::NotEct, handle))
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.application.next()
    }

    fn handle_timeout(&mut self, now: Instant, _store: &mut Store) {
        while let Some(bytes) = self.application.take(now) {
            self.due.push_back(bytes);
        }
    }
}

/// The receiving side.
#[derive(Debug)]
struct UdpSink {
    ends: Ends,
}

impl Peer for UdpSink {
    fn ends(&self) -> Ends {
        self.ends
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let slot = store.slot(packet.handle);
        let (sent_at, bytes) = (slot.sent_at, slot.payload.len() as u64);
        store.release(packet.handle);
        let meter = store.meter(self.ends.incoming);
        meter.arrived(now, sent_at, packet.wire_len, true);
        meter.received(now, bytes, Some(sent_at));
    }

    fn poll_transmit(&mut self, _now: Instant, _store: &mut Store) -> Option<Packet> {
        None
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant, _store: &mut Store) {}
}
