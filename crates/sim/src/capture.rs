//! The capture of whole packets as pcapng, with real headers, zero payloads and correct checksums.
//!
//! A packet is captured at the end of a link. It has the marks that the link's queue made. Packets that the queue
//! dropped are absent; packets that the link lost are present, at the time at which they would have arrived. Each link
//! is an interface with its name, so a packet that crosses three links is captured three times. Timestamps are
//! nanoseconds since the run began; packets are raw IPv4.

use std::fmt;
use std::io::{self, Write};

use etherparse::{IpEcn, Ipv4Header};
use fairwire_net::{DropReason, LinkId, Observation, Observer, Place};

use super::pcapng::Pcapng;
use crate::results::Captured;
use fairwire_scenario::transport::content::Parts;
use fairwire_scenario::transport::ends::{address, port};
use fairwire_scenario::transport::header::IP_HEADER;
use fairwire_scenario::transport::store::{Slot, Store};

/// The time to live of every packet, because routers on the route are not modelled.
const TIME_TO_LIVE: u8 = 64;

/// The output of a capture and the links that it watches.
pub struct Tap {
    /// The output for the pcapng.
    pub out: Box<dyn Write + Send>,
    /// The names of links. `bottleneck` includes its way back, and `bottleneck/back` is the way back alone. Empty means
    /// every link.
    pub links: Vec<String>,
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap")
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl Tap {
    /// Returns whether the link is watched.
    pub(super) fn watches(&self, name: &str) -> bool {
        self.links.is_empty() || self.links.iter().any(|wanted| includes(wanted, name))
    }
}

/// Returns whether `wanted` means the link `name`: it is its name, or that of the link whose way back it is.
pub(super) fn includes(wanted: &str, name: &str) -> bool {
    wanted == name || wanted == forward(name)
}

/// Returns the name of a link without the suffix of its way back.
pub(super) fn forward(name: &str) -> &str {
    name.strip_suffix("/back").unwrap_or(name)
}

/// The writer of a capture: an observer of the links that it watches.
pub(crate) struct Capture {
    writer: Pcapng<Box<dyn Write + Send>>,
    /// The interface of each link, by its number; `None` if it is not watched.
    interfaces: Vec<Option<u32>>,
    /// The current packet; the buffer is reused.
    packet: Vec<u8>,
    written: Captured,
    failure: Option<io::Error>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl Capture {
    /// Starts a capture of these links, each an interface with its name.
    pub(crate) fn new<'a>(
        out: Box<dyn Write + Send>,
        links: impl IntoIterator<Item = (LinkId, &'a str)>,
    ) -> io::Result<Self> {
        let mut writer = Pcapng::new(out)?;
        let mut interfaces = Vec::new();
        for (number, (link, name)) in (0..).zip(links) {
            writer.interface(name)?;
            let place = link.0 as usize;
            if interfaces.len() <= place {
                interfaces.resize(place + 1, None);
            }
            interfaces[place] = Some(number);
        }
        Ok(Self {
            writer,
            interfaces,
            packet: Vec::new(),
            written: Captured::default(),
            failure: None,
        })
    }

    /// Flushes the output and returns the counts of captured packets.
    pub(crate) fn finish(mut self) -> io::Result<Captured> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.writer.out.flush()?;
        Ok(self.written.clone())
    }

    fn write(&mut self, interface: u32, seen: &Observation<'_, Store>) -> io::Result<()> {
        let slot = seen.store.slot(seen.packet.handle);
        self.packet.clear();
        build(&mut self.packet, seen, slot)?;
        self.writer
            .packet(interface, seen.at.as_nanos(), &self.packet)?;
        self.written.add(slot.content().counted());
        Ok(())
    }
}

impl Capture {
    fn see(&mut self, seen: &Observation<'_, Store>) {
        let Place::Link(link) = seen.place else {
            return;
        };
        let Some(&Some(interface)) = self.interfaces.get(link.0 as usize) else {
            return;
        };
        if self.failure.is_none() {
            self.failure = self.write(interface, seen).err();
        }
    }
}

/// Packets are captured where they arrive at the end of a link, with the marks that its queue made.
impl Observer<Store> for Capture {
    fn delivered(&mut self, seen: &Observation<'_, Store>) {
        self.see(seen);
    }

    /// Packets that the link lost are captured where and when they would have arrived.
    fn dropped(&mut self, seen: &Observation<'_, Store>, reason: DropReason) {
        if reason == DropReason::Lost {
            self.see(seen);
        }
    }
}

/// Appends the whole packet to `out`: IP header, transport header, payload.
fn build(out: &mut Vec<u8>, seen: &Observation<'_, Store>, slot: &Slot) -> io::Result<()> {
    let packet = seen.packet;
    let content = slot.content();
    let payload_len = packet.wire_len.saturating_sub(IP_HEADER);
    let payload_len = u16::try_from(payload_len).map_err(io::Error::other)?;
    let mut ip = Ipv4Header::new(
        payload_len,
        TIME_TO_LIVE,
        content.protocol(),
        address(packet.source).octets(),
        address(packet.destination).octets(),
    )
    .map_err(io::Error::other)?;
    ip.ecn = IpEcn::try_new(packet.ecn.bits()).map_err(io::Error::other)?;
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    ip.write(out)?;
    let parts = Parts {
        ip: &ip,
        port: port(packet.flow),
        head: &slot.head,
        payload: &slot.payload,
    };
    content.write(&parts, out)
}
