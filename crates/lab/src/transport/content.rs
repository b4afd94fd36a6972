//! What a packet is to its transport, and how a capture shows it.

use std::any::Any;
use std::fmt;
use std::io;

use etherparse::{IpNumber, Ipv4Header, UdpHeader};
use fairwire_proto::Payload;

/// What a transport keeps of one packet while it is on its way, beside its encoded head and its payload.
pub(crate) trait Content: Any + fmt::Debug + Send {
    /// Returns the protocol that stands in the IP header.
    fn protocol(&self) -> IpNumber;

    /// Returns the name under which a capture counts it.
    fn counted(&self) -> &'static str;

    /// Writes what follows the IP header.
    fn write(&self, packet: &Parts<'_>, out: &mut Vec<u8>) -> io::Result<()>;
}

/// What else a packet is made of, for a capture.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    /// The IP header in front of it.
    pub(crate) ip: &'a Ipv4Header,
    /// The conversation's port on both sides.
    pub(crate) port: u16,
    /// The head, if it is really encoded.
    pub(crate) head: &'a [u8],
    pub(crate) payload: &'a Payload,
}

impl Parts<'_> {
    /// The payload's bytes; a synthetic one is zeros.
    pub(crate) fn write_payload(&self, out: &mut Vec<u8>) {
        match self.payload {
            Payload::Bytes(bytes) => out.extend_from_slice(bytes),
            Payload::Synthetic { len, .. } => out.resize(out.len() + *len as usize, 0),
        }
    }

    /// A UDP header with these ports, the head and the payload.
    pub(crate) fn write_datagram(
        &self,
        out: &mut Vec<u8>,
        (source, destination): (u16, u16),
    ) -> io::Result<()> {
        let start = out.len();
        out.extend_from_slice(self.head);
        self.write_payload(out);
        let header = UdpHeader::with_ipv4_checksum(source, destination, self.ip, &out[start..])
            .map_err(io::Error::other)?;
        out.splice(start..start, header.to_bytes());
        Ok(())
    }
}
