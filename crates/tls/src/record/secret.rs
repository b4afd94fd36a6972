//! The secret of an epoch and direction, and what follows from it.

use std::fmt;

use aws_lc_rs::hmac::{self, HMAC_SHA256, HMAC_SHA384};
use zeroize::Zeroizing;

/// The longest secret, in bytes: that of SHA-384.
const LONGEST: usize = 48;

/// What the labels of DTLS 1.3 begin with (RFC 9147, section 5.9).
pub(crate) const PREFIX: &[u8] = b"dtls13";

/// A traffic secret (RFC 8446, section 7.1). Its length is that of the hash of its cipher suite.
///
/// It lies in one place, which is overwritten in the end: to move it leaves no copy behind.
pub(crate) struct Secret {
    bytes: Zeroizing<Box<[u8]>>,
}

impl Secret {
    /// The memory of a secret besides itself, in bytes, rounded up.
    pub(crate) const MEMORY: usize = 64;

    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            bytes: Zeroizing::new(bytes.into()),
        }
    }

    /// Derives `out.len()` bytes, at most as many as the secret has (HKDF-Expand-Label of RFC 8446, section 7.1, without
    /// a context).
    ///
    /// So few bytes are the first block of HKDF-Expand: one HMAC (RFC 5869, section 2.3).
    pub(crate) fn expand(&self, label: &str, out: &mut [u8]) {
        let [.., l0, l1] = out.len().to_be_bytes();
        let [.., label_length] = (PREFIX.len() + label.len()).to_be_bytes();
        let hash = if self.bytes.len() == LONGEST {
            HMAC_SHA384
        } else {
            HMAC_SHA256
        };
        let key = hmac::Key::new(hash, &self.bytes);
        let mut block = hmac::Context::with_key(&key);
        for part in [&[l0, l1, label_length], PREFIX, label.as_bytes(), &[0, 1]] {
            block.update(part);
        }
        let block = block.sign();
        for (to, from) in out.iter_mut().zip(block.as_ref()) {
            *to = *from;
        }
    }

    /// Becomes the secret of the next epoch (RFC 8446, section 7.2).
    pub(crate) fn advance(&mut self) {
        let mut next = Self::new(&[0; LONGEST][..self.bytes.len()]);
        self.expand("traffic upd", &mut next.bytes);
        *self = next;
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    /// A secret that is handed on stays where it was, so that no copy is left that nobody overwrites.
    #[test]
    fn a_secret_is_never_copied() {
        let secret = Secret::new(&[7; 48]);
        let place = secret.bytes.as_ptr();
        let moved = std::hint::black_box(Some(Box::new(secret)));
        let moved = moved.expect("it is there");
        assert_eq!(moved.bytes.as_ptr(), place);
        assert!(size_of::<Secret>() < 32, "it has no room for one");
    }
}
