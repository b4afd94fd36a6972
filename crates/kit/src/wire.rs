//! A packet that was sent.

use fairwire_proto::Transmit;
use fairwire_units::Instant;
use fairwire_wire::{DccpOption, Kind, Packet, PacketType, ResetCode, Seq};

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Wire {
    /// When it was sent.
    pub at: Instant,
    /// Which side sent it.
    pub from: usize,
    /// Its header with the options.
    pub head: Vec<u8>,
    /// Its payload, its path and the rest.
    pub transmit: Transmit,
}

impl Wire {
    /// Reads it.
    pub fn packet(&self) -> Packet<'_> {
        let len = self.transmit.payload.len();
        Packet::decode_head(&self.head, len).expect("we send what we can read")
    }

    /// Returns the options that can be read.
    pub fn options(&self) -> Vec<DccpOption<'_>> {
        let options = self.packet().options.into_iter();
        options.filter_map(|raw| raw.decode().ok()).collect()
    }

    /// Returns the code and data of the packet, if it is a Reset.
    pub fn reset(&self) -> Option<(ResetCode, [u8; 3])> {
        match self.packet().kind {
            Kind::Reset { code, data, .. } => Some((code, data)),
            _ => None,
        }
    }

    /// Returns its type.
    pub fn packet_type(&self) -> PacketType {
        self.packet().packet_type()
    }

    /// Returns whether it carries data of an application.
    pub fn is_data(&self) -> bool {
        matches!(self.packet_type(), PacketType::Data | PacketType::DataAck)
    }

    /// Returns its number, which has 48 bits.
    pub fn seq(&self) -> Seq {
        self.packet().seq.long().expect("48 bits")
    }
}
