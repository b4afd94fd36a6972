//! The cryptography that the library `dimpl` is given.
//!
//! It is that of `aws-lc-rs`, with two additions. Ciphers show what they open to the session's [`Gate`], which decides
//! what the library gets and counts the records that fail authentication (RFC 9147, section 4.5.3, asks for it and the
//! library does not do it). They tell it how many records their key has protected. And the library gets no private key
//! as bytes, of which it would keep a copy that is never overwritten: it signs with the [`Key`] that is lent to it.
//!
//! The library takes its cryptography as references that live forever, so the gate and the key are lent to it in
//! variables of the thread. Each is set and taken back within one call.

use std::cell::RefCell;
use std::sync::Arc;

use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls13CipherSuite, HashAlgorithm, KeyProvider, Nonce,
    SignatureAlgorithm, SigningKey, SupportedDtls13CipherSuite, TmpBuf, aws_lc_rs,
};
use dimpl::{CryptoError, CryptoOperation};

use crate::gate::Gate;
use crate::key::{Curve, Key};

thread_local! {
    static GATE: RefCell<Option<Gate>> = const { RefCell::new(None) };
    static LENT: RefCell<Option<Arc<Key>>> = const { RefCell::new(None) };
}

#[cfg(test)]
thread_local! {
    /// Lets ciphers panic in place of the library.
    pub(crate) static PANICS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Returns the cryptography.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        key_provider: &LentKeys,
        dtls13_cipher_suites: &[&Counting(0), &Counting(1), &Counting(2)],
        ..aws_lc_rs::default_provider()
    }
}

/// Runs `open`, and lets `gate` decide what the library gets of the records that it decrypts. `open` does not panic.
pub(crate) fn gated<T>(gate: &mut Gate, open: impl FnOnce() -> T) -> T {
    GATE.set(Some(*gate));
    let result = open();
    if let Some(after) = GATE.take() {
        *gate = after;
    }
    result
}

/// Runs `make`, which makes one of the library's objects that signs with `key`.
///
/// Without a key, that object fails when it has to sign. `make` does not panic.
pub(crate) fn with_key<T>(key: Option<Arc<Key>>, make: impl FnOnce() -> T) -> T {
    LENT.set(key);
    let made = make();
    LENT.set(None);
    made
}

/// One of the cipher suites of `aws-lc-rs`, by its place in the list.
#[derive(Debug)]
struct Counting(usize);

impl Counting {
    fn inner(&self) -> &'static dyn SupportedDtls13CipherSuite {
        aws_lc_rs::default_provider().dtls13_cipher_suites[self.0]
    }
}

impl SupportedDtls13CipherSuite for Counting {
    fn suite(&self) -> Dtls13CipherSuite {
        self.inner().suite()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.inner().hash_algorithm()
    }

    fn key_len(&self) -> usize {
        self.inner().key_len()
    }

    fn iv_len(&self) -> usize {
        self.inner().iv_len()
    }

    fn tag_len(&self) -> usize {
        self.inner().tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        Ok(Box::new(CountingCipher {
            inner: self.inner().create_cipher(key)?,
            sealed: 0,
        }))
    }

    fn encrypt_sn(&self, key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        self.inner().encrypt_sn(key, sample)
    }
}

#[derive(Debug)]
struct CountingCipher {
    inner: Box<dyn Cipher>,
    /// How many records its key has protected.
    sealed: u64,
}

impl Cipher for CountingCipher {
    fn encrypt(&mut self, text: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        #[cfg(test)]
        assert!(!PANICS.get(), "a flaw");
        self.sealed = self.sealed.saturating_add(1);
        GATE.with_borrow_mut(|gate| {
            if let Some(gate) = gate {
                gate.sealed = self.sealed;
            }
        });
        self.inner.encrypt(text, aad, nonce)
    }

    fn decrypt(&mut self, text: &mut TmpBuf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let result = self.inner.decrypt(text, aad, nonce);
        GATE.with_borrow_mut(|gate| {
            // The library's tests of itself have no gate.
            let Some(gate) = gate else {
                return result;
            };
            match result {
                Ok(()) if gate.admit(text.as_mut()) => Ok(()),
                Ok(()) => Err(CryptoError::OperationFailed(CryptoOperation::Decrypt)),
                Err(error) => {
                    gate.forged += 1;
                    Err(error)
                }
            }
        })
    }
}

/// Hands out the key of [`with_key`], whatever bytes it is asked to read.
#[derive(Debug)]
struct LentKeys;

impl KeyProvider for LentKeys {
    fn load_private_key(&self, _: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        Ok(Box::new(LentKey(LENT.take())))
    }
}

#[derive(Debug)]
struct LentKey(Option<Arc<Key>>);

impl SigningKey for LentKey {
    fn sign(
        &mut self,
        message: &[u8],
        hash: HashAlgorithm,
        out: &mut Buf,
    ) -> Result<(), CryptoError> {
        let key = self.0.as_ref().ok_or(CryptoError::NoPrivateKeyConfigured)?;
        let key_hash = self.hash_algorithm();
        if hash != key_hash {
            return Err(CryptoError::SigningKeyHashMismatch {
                key_hash,
                requested: hash,
            });
        }
        let signature = key
            .sign(message)
            .map_err(|_| CryptoError::OperationFailed(CryptoOperation::Sign))?;
        out.clear();
        out.extend_from_slice(&signature);
        Ok(())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        match self.0.as_ref().map(|key| key.curve()) {
            Some(Curve::P256) | None => HashAlgorithm::SHA256,
            Some(Curve::P384) => HashAlgorithm::SHA384,
        }
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        match self.hash_algorithm() {
            HashAlgorithm::SHA384 => &[HashAlgorithm::SHA384],
            _ => &[HashAlgorithm::SHA256],
        }
    }
}
