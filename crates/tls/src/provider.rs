//! The cryptography that the library `dimpl` is given.
//!
//! It is that of `aws-lc-rs`, with three additions.
//!
//! - Ciphers show what they open to the session's [`Gate`], which decides what the library gets and counts the records
//!   that fail authentication (RFC 9147, section 4.5.3, asks for it and the library does not do it).
//! - The session gets the secrets of its data, and the library others in their place ([`Secrets`]). So the library cannot
//!   protect anything as the session does, and a number that both used would be no harm: their keys differ.
//! - The library gets no private key as bytes, of which it would keep a copy that is never overwritten: it signs with
//!   the [`Key`] that is lent to it.
//!
//! The library takes its cryptography as references that live forever, so all of this is lent to it in variables of the
//! thread. Each is set and taken back within one call.

use std::cell::RefCell;
use std::sync::Arc;

use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls13CipherSuite, HashAlgorithm, HmacProvider, KeyProvider,
    Nonce, SignatureAlgorithm, SigningKey, SupportedDtls13CipherSuite, TmpBuf, aws_lc_rs,
};
use dimpl::{CryptoError, CryptoOperation};

use crate::gate::Gate;
use crate::key::{Curve, Key};
use crate::record::{Secret, Suite};

thread_local! {
    static GATE: RefCell<Option<Gate>> = const { RefCell::new(None) };
    static SECRETS: RefCell<Option<Secrets>> = const { RefCell::new(None) };
    static LENT: RefCell<Option<Arc<Key>>> = const { RefCell::new(None) };
}

/// The cipher suites, in the order in which a client wants them. A server takes the first one of its client.
///
/// RFC 9147, 4.5.3: none of them is `TLS_AES_128_CCM_8_SHA256`.
type Suites = &'static [&'static dyn SupportedDtls13CipherSuite];

pub(crate) const AES_FIRST: Suites = &[
    &Gated(Suite::Aes128),
    &Gated(Suite::Aes256),
    &Gated(Suite::ChaCha20),
];
const AES_LAST: Suites = &[
    &Gated(Suite::ChaCha20),
    &Gated(Suite::Aes128),
    &Gated(Suite::Aes256),
];

/// Returns the cryptography.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        key_provider: &LentKeys,
        hmac_provider: &Splitting,
        dtls13_cipher_suites: suites(has_aes()),
        ..aws_lc_rs::default_provider()
    }
}

/// AES-GCM is two to four times as fast as ChaCha20-Poly1305 with instructions for both of its parts, and four to seven
/// times as slow without.
const fn suites(has_aes: bool) -> Suites {
    if has_aes { AES_FIRST } else { AES_LAST }
}

#[cfg(test)]
thread_local! {
    /// What a test says about its processor.
    pub(crate) static HAS_AES: std::cell::Cell<Option<bool>> = const { std::cell::Cell::new(None) };
}

/// Returns whether the processor has instructions for AES and for the multiplications of GCM.
fn has_aes() -> bool {
    #[cfg(test)]
    if let Some(has_aes) = HAS_AES.get() {
        return has_aes;
    }
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    let has_aes = std::arch::is_x86_feature_detected!("aes")
        && std::arch::is_x86_feature_detected!("pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    let has_aes = std::arch::is_aarch64_feature_detected!("aes")
        && std::arch::is_aarch64_feature_detected!("pmull");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    let has_aes = false;
    has_aes
}

/// What the library has derived for a session.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Whether this end is the client.
    pub(crate) is_client: bool,
    /// The cipher suite.
    pub(crate) suite: Option<Suite>,
    /// That of what a client says in its handshake (epoch 2).
    pub(crate) of_handshake: Option<Secret>,
    /// Those of what a client and a server say from epoch 3 on.
    pub(crate) of_client: Option<Split>,
    pub(crate) of_server: Option<Split>,
}

impl Secrets {
    /// Those of a client or a server, which has none yet.
    pub(crate) fn new(is_client: bool) -> Self {
        Self {
            is_client,
            ..Self::default()
        }
    }
}

/// Two secrets where the library knows of one.
#[derive(Debug)]
pub(crate) struct Split {
    /// The one of RFC 8446, section 7.1, which both ends derive. The library never has it.
    pub(crate) of_session: Secret,
    /// What the library has in its place. It differs between the ends, so that each key there is has one user.
    pub(crate) of_library: Secret,
}

/// Runs `run`, lets `gate` decide what the library gets of the records that it decrypts, and gives `secrets` what it
/// derives. `run` does not panic.
pub(crate) fn lent<T>(gate: &mut Gate, secrets: &mut Secrets, run: impl FnOnce() -> T) -> T {
    GATE.set(Some(*gate));
    SECRETS.set(Some(std::mem::take(secrets)));
    let result = run();
    if let Some(after) = GATE.take() {
        *gate = after;
    }
    if let Some(after) = SECRETS.take() {
        *secrets = after;
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

/// The labels of the secrets that a session wants, in what is hashed for HKDF-Expand-Label (RFC 8446, section 7.1): the
/// length of the secret, that of the label, the label, that of the context, the context, a count.
const LABEL: std::ops::Range<usize> = 3..21;
const OF_HANDSHAKE: &[u8] = b"dtls13c hs traffic";
const OF_CLIENT: &[u8] = b"dtls13c ap traffic";
const OF_SERVER: &[u8] = b"dtls13s ap traffic";

/// What the last two end with for the library.
const OF_CLIENTS_LIBRARY: &[u8] = b"-client";
const OF_SERVERS_LIBRARY: &[u8] = b"-server";

/// HMAC that derives the secrets of data twice: for the session, and others for the library.
#[derive(Debug)]
struct Splitting;

impl HmacProvider for Splitting {
    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let inner = aws_lc_rs::default_provider().hmac_provider;
        let length = inner.hmac(hash, key, data, out)?;
        let is_label = data.len() == LABEL.end + 1 + length + 1
            && data.get(..LABEL.start) == Some(&[0, out_length(length), 18])
            && data.get(LABEL.end) == Some(&out_length(length));
        let Some(label) = data.get(LABEL).filter(|_| is_label) else {
            return Ok(length);
        };
        SECRETS.with_borrow_mut(|secrets| {
            // The library's tests of itself have none.
            let Some(secrets) = secrets else {
                return Ok(length);
            };
            let end = if secrets.is_client {
                OF_CLIENTS_LIBRARY
            } else {
                OF_SERVERS_LIBRARY
            };
            let place = match label {
                OF_HANDSHAKE => {
                    secrets.of_handshake = Some(Secret::new(&out[..length]));
                    return Ok(length);
                }
                OF_CLIENT => &mut secrets.of_client,
                OF_SERVER => &mut secrets.of_server,
                _ => return Ok(length),
            };
            let of_session = Secret::new(&out[..length]);
            let other = [&data[..LABEL.end - end.len()], end, &data[LABEL.end..]].concat();
            inner.hmac(hash, key, &other, out)?;
            *place = Some(Split {
                of_session,
                of_library: Secret::new(&out[..length]),
            });
            Ok(length)
        })
    }
}

/// Returns the length of a hash in a byte.
const fn out_length(length: usize) -> u8 {
    let [.., low] = length.to_be_bytes();
    low
}

/// A cipher suite of `aws-lc-rs` whose ciphers ask the session's gate.
#[derive(Debug)]
struct Gated(Suite);

impl Gated {
    fn inner(&self) -> &'static dyn SupportedDtls13CipherSuite {
        let place = match self.0 {
            Suite::Aes128 => 0,
            Suite::Aes256 => 1,
            Suite::ChaCha20 => 2,
        };
        aws_lc_rs::default_provider().dtls13_cipher_suites[place]
    }
}

impl SupportedDtls13CipherSuite for Gated {
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
        SECRETS.with_borrow_mut(|secrets| {
            if let Some(secrets) = secrets {
                secrets.suite = Some(self.0);
            }
        });
        Ok(Box::new(GatedCipher {
            inner: self.inner().create_cipher(key)?,
            #[cfg(test)]
            id: key.to_vec(),
        }))
    }

    fn encrypt_sn(&self, key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        self.inner().encrypt_sn(key, sample)
    }
}

#[derive(Debug)]
struct GatedCipher {
    inner: Box<dyn Cipher>,
    #[cfg(test)]
    id: Vec<u8>,
}

impl Cipher for GatedCipher {
    fn encrypt(&mut self, text: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        GATE.with_borrow_mut(|gate| {
            if let Some(gate) = gate {
                gate.note(text);
                #[cfg(test)]
                crate::record::sealed::note(&self.id, nonce.0);
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
                Ok(()) if gate.admit(text.as_ref()) => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::{Dtls13CipherSuite, suites};

    /// A client offers ChaCha20-Poly1305 first where AES is slow, and last elsewhere; never a cipher whose tag is short.
    #[test]
    fn the_fastest_cipher_is_offered_first() {
        let offered =
            |has_aes| -> Vec<_> { suites(has_aes).iter().map(|suite| suite.suite()).collect() };
        let [aes_128, aes_256, chacha] = [
            Dtls13CipherSuite::AES_128_GCM_SHA256,
            Dtls13CipherSuite::AES_256_GCM_SHA384,
            Dtls13CipherSuite::CHACHA20_POLY1305_SHA256,
        ];
        assert_eq!(offered(true), [aes_128, aes_256, chacha]);
        assert_eq!(offered(false), [chacha, aes_128, aes_256]);
        assert!(suites(true).iter().all(|suite| suite.tag_len() == 16));
    }
}
