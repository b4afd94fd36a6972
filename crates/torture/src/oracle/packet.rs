//! How the oracle reads a packet: with the codec alone.

use std::borrow::Cow;
use std::net::SocketAddr;

use fairwire_proto::{Encapsulation, Path, Payload};
use fairwire_wire::checksum::{PseudoHeader, Sum, coverage};
use fairwire_wire::{Packet, PacketType, Seq, SeqNo};

/// What tells connections apart at a host: addresses below DCCP, then our port and the peer's.
pub(crate) type Flow = (SocketAddr, SocketAddr, u16, u16);

/// A payload as the books remember it: length and a hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Digest {
    pub(crate) len: usize,
    hash: u64,
}

impl Digest {
    /// Of these bytes (FNV-1a, 64 bits).
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let hash = bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Self {
            len: bytes.len(),
            hash,
        }
    }
}

/// The bytes of a payload; those of a synthetic one are zeros that nobody stores.
pub(crate) fn bytes(payload: &Payload) -> Cow<'_, [u8]> {
    match payload {
        Payload::Bytes(bytes) => Cow::Borrowed(bytes),
        Payload::Synthetic { len, .. } => Cow::Owned(vec![0; *len as usize]),
    }
}

/// Does the checksum of a packet from `path.remote` hold? In UDP there is none of DCCP's own (RFC 6773,
/// section 3.3); the world hands over only what UDP's held for.
pub(crate) fn checksum_holds(
    packet: &Packet<'_>,
    path: &Path,
    (head, payload): (&[u8], &[u8]),
) -> bool {
    if path.encapsulation == Encapsulation::Udp {
        return true;
    }
    let Some(pseudo) = PseudoHeader::new(path.remote.ip(), path.local.ip()) else {
        return false;
    };
    let covered = coverage(packet.cscov, payload.len()).min(payload.len());
    let sum = Sum::of(&payload[..covered]);
    packet
        .verify_checksum(pseudo, head, sum, payload.len())
        .is_ok()
}

/// A number as a packet carries it, made whole by the one that was expected.
pub(crate) fn whole(number: SeqNo, near: Option<Seq>) -> Seq {
    match near {
        Some(near) => number.extend(near),
        None => number.extend(Seq::ZERO),
    }
}

/// Is this a packet with data of the application (RFC 4340, 5.4)? Those of the handshake may carry
/// some too, which this implementation never sends.
pub(crate) fn is_data(packet_type: PacketType) -> bool {
    matches!(packet_type, PacketType::Data | PacketType::DataAck)
}
