//! How the oracle decodes packets: with the codec only.

use std::net::SocketAddr;

use fairwire_proto::{Encapsulation, Path};
use fairwire_wire::checksum::{PseudoHeader, Sum, coverage};
use fairwire_wire::{Packet, PacketType, Seq, SeqNo};

/// The flow of a connection at a host: the addresses below DCCP, the local port and the peer's port.
pub(crate) type Flow = (SocketAddr, SocketAddr, u16, u16);

/// A payload in the records: its length and a hash.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Digest {
    pub(crate) len: usize,
    hash: u64,
}

impl Digest {
    /// Computes the digest of these bytes (FNV-1a, 64 bits).
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

/// Returns whether the checksum of a packet from `path.remote` is valid.
///
/// In UDP DCCP has no checksum of its own (RFC 6773, section 3.3). The world delivers only packets with a valid UDP
/// checksum.
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

/// Returns the full number of a packet, extended around the expected number.
pub(crate) fn whole(number: SeqNo, near: Option<Seq>) -> Seq {
    match near {
        Some(near) => number.extend(near),
        None => number.extend(Seq::ZERO),
    }
}

/// Returns whether packets of this type carry application data (RFC 4340, 5.4).
///
/// Handshake packets may carry some too, but this implementation never sends any in them.
pub(crate) fn is_data(packet_type: PacketType) -> bool {
    matches!(packet_type, PacketType::Data | PacketType::DataAck)
}
