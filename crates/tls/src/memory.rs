//! What a session holds at most during its handshake.

/// The most memory of a session that asks its peer for no certificate, in bytes.
const HANDSHAKE: usize = 96 << 10;

/// The most memory of one that does, in bytes.
const WITH_CERTIFICATE: usize = 256 << 10;

/// The length of the own certificate for which there is room in those, and what each byte more of it adds, in bytes.
const USUAL_CERTIFICATE: usize = 2 << 10;
const MEMORY_PER_BYTE: usize = 8;

/// Returns how many bytes of memory a session with a certificate of `own` bytes holds at most during its handshake.
pub(crate) const fn memory_of_handshake(asks_for_certificate: bool, own: usize) -> usize {
    let usual = if asks_for_certificate {
        WITH_CERTIFICATE
    } else {
        HANDSHAKE
    };
    usual + MEMORY_PER_BYTE * own.saturating_sub(USUAL_CERTIFICATE)
}
