//! The checksum of a packet that the input has made or changed.

use fairwire_proto::{Encapsulation, Path};
use fairwire_wire::checksum::{PseudoHeader, Sum, compute, coverage};

const CHECKSUM: usize = 6;

/// Writes the checksum that `path` requires into a packet, if its Data Offset makes sense. `path` may be that of either
/// end.
pub(crate) fn seal(bytes: &mut [u8], path: &Path) {
    let Some(&[.., offset, ccval_cscov, _, _]) = bytes.first_chunk::<{ CHECKSUM + 2 }>() else {
        return;
    };
    let head_len = usize::from(offset) * 4;
    if path.encapsulation == Encapsulation::Udp || head_len < CHECKSUM + 2 {
        return;
    }
    let Some((head, payload)) = bytes.split_at_mut_checked(head_len) else {
        return;
    };
    let covered = coverage(ccval_cscov, payload.len()).min(payload.len());
    let Some(pseudo) = PseudoHeader::new(path.local.ip(), path.remote.ip()) else {
        return;
    };
    let sum = compute(pseudo, head, Sum::of(&payload[..covered]), payload.len());
    head[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}
