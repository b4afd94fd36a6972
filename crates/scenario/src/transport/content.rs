//! The contents of a packet as its transport sees them, and its form in a capture.

use std::any::Any;
use std::fmt;
use std::io;

use etherparse::{IpNumber, Ipv4Header, UdpHeader};
use fairwire_proto::Payload;

/// The data that a transport keeps of a packet in flight, beside its encoded header and its payload.
pub trait Content: Any + fmt::Debug + Send {
    /// Returns the protocol number in the IP header.
    fn protocol(&self) -> IpNumber;

    /// Returns the name under which a capture counts it.
    fn counted(&self) -> &'static str;

    /// Writes everything that follows the IP header.
    ///
    /// # Errors
    /// If a header does not fit its data.
    fn write(&self, packet: &Parts<'_>, out: &mut Vec<u8>) -> io::Result<()>;
}

/// The other parts of a packet, for a capture.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The IP header in front of it.
    pub ip: &'a Ipv4Header,
    /// The conversation's port on both sides.
    pub port: u16,
    /// The encoded header, if the transport encodes one.
    pub head: &'a [u8],
    /// What it carries.
    pub payload: &'a Payload,
}

impl Parts<'_> {
    /// Writes the payload's bytes; a synthetic payload is zeros.
    pub fn write_payload(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.payload.len();
        out.extend_from_slice(self.payload.as_slice());
        out.resize(end, 0);
    }

    /// Writes a UDP header with these ports, the encoded header and the payload.
    ///
    /// # Errors
    /// If the datagram is longer than UDP allows.
    pub fn write_datagram(
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
