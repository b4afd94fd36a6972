//! The checksum of a header, written last. A header in UDP has no DCCP checksum but keeps its Checksum Coverage (RFC
//! 6773, section 3.3.1).

use fairwire_wire::checksum::{PseudoHeader, Sum, coverage};
use fairwire_wire::{DecodeError, Encoder, Packet};

use crate::payload::{Arriving, Payload, View};
use crate::transmit::{ChecksumRule, Path};

/// Finishes the header that precedes `payload` and returns its length.
pub(crate) fn seal(encoder: Encoder<'_>, path: &Path, payload: &Payload, cscov: u8) -> usize {
    let pseudo = match path.encapsulation.checksum() {
        // RFC 6773, 3.3: the UDP checksum protects the packet; ours is zero.
        ChecksumRule::Below => None,
        ChecksumRule::PseudoHeader => PseudoHeader::new(path.local.ip(), path.remote.ip()),
    };
    let head = match pseudo {
        None => encoder.finish(),
        Some(pseudo) => {
            let len = payload.len();
            encoder.finish_with_checksum(pseudo, covered(payload.view(), cscov), len)
        }
    };
    head.len()
}

/// Verifies the checksum of a packet that arrived along `path`.
pub(crate) fn verify(
    packet: &Packet<'_>,
    path: &Path,
    head: &[u8],
    payload: &Arriving<'_>,
) -> Result<(), DecodeError> {
    match path.encapsulation.checksum() {
        // RFC 6773, 3.3: the field is ignored on receipt.
        ChecksumRule::Below => Ok(()),
        // RFC 4340, 9.1: a packet that does not match is ignored, its options included.
        ChecksumRule::PseudoHeader => {
            let Some(pseudo) = PseudoHeader::new(path.remote.ip(), path.local.ip()) else {
                return Ok(());
            };
            let sum = covered(payload.view(), packet.cscov);
            packet.verify_checksum(pseudo, head, sum, payload.len())
        }
    }
}

/// Returns the sum over the part of `payload` that the checksum covers.
fn covered(payload: View<'_>, cscov: u8) -> Sum {
    payload.sum(coverage(cscov, payload.len()))
}
