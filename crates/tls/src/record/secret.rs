//! The secret of an epoch and direction, and what follows from it.

use std::fmt;

use aws_lc_rs::hmac::{self, HMAC_SHA256, HMAC_SHA384};
use zeroize::Zeroizing;

/// The longest secret, in bytes: that of SHA-384.
const LONGEST: usize = 48;

/// What the labels of DTLS 1.3 begin with (RFC 9147, section 5.9).
pub(crate) const PREFIX: &[u8] = b"dtls13";

/// A traffic secret (RFC 8446, section 7.1). Its length is that of the hash of its cipher suite.
pub(crate) struct Secret {
    bytes: Zeroizing<[u8; LONGEST]>,
    length: usize,
}

impl Secret {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut secret = Self {
            bytes: Zeroizing::new([0; LONGEST]),
            length: bytes.len().min(LONGEST),
        };
        for (to, from) in secret.bytes.iter_mut().zip(bytes) {
            *to = *from;
        }
        secret
    }

    /// Derives `out.len()` bytes, at most as many as the secret has (HKDF-Expand-Label of RFC 8446, section 7.1, without
    /// a context).
    ///
    /// So few bytes are the first block of HKDF-Expand: one HMAC (RFC 5869, section 2.3).
    pub(crate) fn expand(&self, label: &str, out: &mut [u8]) {
        let [.., l0, l1] = out.len().to_be_bytes();
        let [.., label_length] = (PREFIX.len() + label.len()).to_be_bytes();
        let hash = if self.length == LONGEST {
            HMAC_SHA384
        } else {
            HMAC_SHA256
        };
        let key = hmac::Key::new(hash, &self.bytes[..self.length]);
        let mut block = hmac::Context::with_key(&key);
        for part in [&[l0, l1, label_length], PREFIX, label.as_bytes(), &[0, 1]] {
            block.update(part);
        }
        let block = block.sign();
        for (to, from) in out.iter_mut().zip(block.as_ref()) {
            *to = *from;
        }
    }

    /// Returns the secret of the next epoch (RFC 8446, section 7.2).
    pub(crate) fn next(&self) -> Self {
        let mut next = Zeroizing::new([0; LONGEST]);
        let next = &mut next[..self.length];
        self.expand("traffic upd", next);
        Self::new(next)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
