//! The tap: whole packets as pcapng, headers built, payloads zero, checksums true.
//!
//! It stands where packets enter a link, behind the queue's decision: what the queue refuses is
//! not there, what the wire loses is. Each link is an interface with its name, so a packet that
//! crosses three of them is there three times. Timestamps are nanoseconds since the run began;
//! packets are raw IPv4.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use fairwire_net::{LinkId, Observer, Place, Sighting};
use fairwire_proto::Payload;
use fairwire_tcp::TcpSegment;
use fairwire_wire::udp;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use super::ends::{address, port};
use super::store::{Content, Slot, Store};
use crate::results::Captured;

/// Routers on the way are not modelled one by one.
const TIME_TO_LIVE: u8 = 64;

/// Nanoseconds, as a power of ten (the option `if_tsresol`).
const NANOSECONDS: u8 = 9;

/// Where a capture goes and what it watches.
pub struct Tap {
    /// Gets the pcapng.
    pub out: Box<dyn Write + Send>,
    /// Names of links, each with its way back (`bottleneck`, `access/left/tcp`); none is every link.
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
    /// Is this link, or the one that it is the way back of, to be watched?
    pub(super) fn watches(&self, name: &str) -> bool {
        self.links.is_empty() || self.links.iter().any(|link| link == forward(name))
    }
}

/// The name of a link without the mark of its way back.
pub(super) fn forward(name: &str) -> &str {
    name.strip_suffix("/back").unwrap_or(name)
}

/// Writes what enters the links it watches.
pub(crate) struct Capture {
    writer: PcapNgWriter<Box<dyn Write + Send>>,
    /// The interface of each link, by its number; `None` where it is not watched.
    interfaces: Vec<Option<u32>>,
    /// One packet, built anew each time in the same memory.
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
    /// A capture of these links, each an interface with its name.
    pub(crate) fn new<'a>(
        out: Box<dyn Write + Send>,
        links: impl IntoIterator<Item = (LinkId, &'a str)>,
    ) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(out).map_err(into_io)?;
        let mut interfaces = Vec::new();
        for (number, (link, name)) in (0..).zip(links) {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(name.to_owned())),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            writer.write_pcapng_block(interface).map_err(into_io)?;
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

    /// Flushes, and says what was written.
    pub(crate) fn finish(mut self) -> io::Result<Captured> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.writer.get_mut().flush()?;
        Ok(self.written)
    }

    fn write(&mut self, interface: u32, seen: &Sighting<'_, Store>) -> io::Result<()> {
        let slot = seen.store.slot(seen.packet.handle);
        self.packet.clear();
        build(&mut self.packet, seen, slot)?;
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(seen.at.as_nanos()),
            original_len: u32::try_from(self.packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&self.packet),
            options: Vec::new(),
        };
        self.writer.write_pcapng_block(block).map_err(into_io)?;
        match slot.content {
            Content::Dccp { .. } => self.written.dccp += 1,
            Content::Tcp(_) => self.written.tcp += 1,
            Content::Udp => self.written.udp += 1,
            Content::Free => {}
        }
        Ok(())
    }
}

impl Observer<Store> for Capture {
    fn entered(&mut self, seen: &Sighting<'_, Store>) {
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

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// The whole packet: IP header, transport header, payload.
fn build(out: &mut Vec<u8>, seen: &Sighting<'_, Store>, slot: &Slot) -> io::Result<()> {
    let packet = seen.packet;
    let protocol = match slot.content {
        Content::Dccp { in_udp: false } => IpNumber(fairwire_wire::checksum::IP_PROTOCOL),
        Content::Dccp { in_udp: true } | Content::Udp | Content::Free => IpNumber::UDP,
        Content::Tcp(_) => IpNumber::TCP,
    };
    let payload_len = packet.wire_len.saturating_sub(crate::scenario::IP_HEADER);
    let payload_len = u16::try_from(payload_len).map_err(io::Error::other)?;
    let mut ip = Ipv4Header::new(
        payload_len,
        TIME_TO_LIVE,
        protocol,
        address(packet.source).octets(),
        address(packet.destination).octets(),
    )
    .map_err(io::Error::other)?;
    ip.ecn = IpEcn::try_new(packet.ecn.bits()).map_err(io::Error::other)?;
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    ip.write(out)?;
    match slot.content {
        Content::Dccp { in_udp: false } => {
            out.extend_from_slice(&slot.head);
            zeros(out, &slot.payload);
        }
        Content::Dccp { in_udp: true } => datagram(out, &ip, slot, (udp::PORT, udp::PORT))?,
        Content::Udp | Content::Free => {
            let port = port(packet.flow);
            datagram(out, &ip, slot, (port, port))?;
        }
        Content::Tcp(segment) => tcp(out, &ip, &segment, port(packet.flow), &slot.payload)?,
    }
    Ok(())
}

/// A UDP header over the slot's head (empty for plain UDP) and payload.
fn datagram(
    out: &mut Vec<u8>,
    ip: &Ipv4Header,
    slot: &Slot,
    (source, destination): (u16, u16),
) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(&slot.head);
    zeros(out, &slot.payload);
    let header = UdpHeader::with_ipv4_checksum(source, destination, ip, &out[start..])
        .map_err(io::Error::other)?;
    out.splice(start..start, header.to_bytes());
    Ok(())
}

fn tcp(
    out: &mut Vec<u8>,
    ip: &Ipv4Header,
    segment: &TcpSegment,
    port: u16,
    payload: &Payload,
) -> io::Result<()> {
    let mut header = TcpHeader::new(port, port, segment.seq_field(), segment.window_field());
    header.syn = segment.flags.syn;
    header.ack = segment.flags.ack;
    header.psh = segment.flags.psh;
    header.ece = segment.flags.ece;
    header.cwr = segment.flags.cwr;
    header.acknowledgment_number = segment.ack_field();
    let mut options = Vec::new();
    if segment.flags.syn {
        options.extend([
            TcpOptionElement::MaximumSegmentSize(segment.mss),
            TcpOptionElement::WindowScale(segment.window_shift),
            TcpOptionElement::Noop,
        ]);
        if segment.sack_permitted {
            let noop = TcpOptionElement::Noop;
            let permitted = TcpOptionElement::SelectiveAcknowledgementPermitted;
            options.extend([noop.clone(), noop, permitted]);
        }
    } else {
        let mut blocks = segment.sack_fields();
        if let Some(first) = blocks.next() {
            let rest = [blocks.next(), blocks.next(), None];
            let sack = TcpOptionElement::SelectiveAcknowledgement(first, rest);
            options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, sack]);
        }
    }
    header.set_options(&options).map_err(io::Error::other)?;
    let start = out.len();
    zeros(out, payload);
    header.checksum = header
        .calc_checksum_ipv4(ip, &out[start..])
        .map_err(io::Error::other)?;
    out.splice(start..start, header.to_bytes());
    Ok(())
}

/// The payload's bytes; a synthetic one is zeros.
fn zeros(out: &mut Vec<u8>, payload: &Payload) {
    match payload {
        Payload::Bytes(bytes) => out.extend_from_slice(bytes),
        Payload::Synthetic { len, .. } => out.resize(out.len() + *len as usize, 0),
    }
}
