//! What a session holds at most during its handshake.

/// The most memory of a session that asks its peer for no certificate, in bytes.
const HANDSHAKE: usize = 96 << 10;

/// The most memory of one that does, in bytes.
const WITH_CERTIFICATE: usize = 256 << 10;

/// Returns how many bytes of memory a session holds at most during its handshake.
pub(crate) const fn memory_of_handshake(asks_for_certificate: bool) -> usize {
    if asks_for_certificate {
        WITH_CERTIFICATE
    } else {
        HANDSHAKE
    }
}
