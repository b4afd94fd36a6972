//! Keys and random numbers from a seed, for simulations.
//!
//! A simulation gives the same bytes whenever it has the same seed, so nothing in it may come from the operating
//! system. This module replaces what does: the private keys of key exchanges, the nonces of signatures, and the seed of
//! the library's own numbers (hellos, cookies, the jitter of timers).
//!
//! The library takes its cryptography as references that live forever, so a session's numbers are lent to it in a
//! variable of the thread, like its gate. Without them no key exchange begins: it never falls back on other numbers,
//! and no other session ever gets these.

use std::cell::RefCell;
use std::fmt;

use aws_lc_rs::agreement::{
    Algorithm, ECDH_P256, ECDH_P384, PrivateKey, UnparsedPublicKey, X25519, agree,
};
use dimpl::crypto::{ActiveKeyExchange, Buf, CryptoProvider, NamedGroup, SupportedKxGroup};
use dimpl::{CryptoError, CryptoOperation};
use sha2::{Digest, Sha256};

/// The seed of one simulated end.
///
/// Anyone who knows the seed knows every key. It is for simulated networks only, where the same seed gives the same
/// bytes. One seed is for one session: two sessions with the same seed have the same keys.
#[derive(Clone)]
pub struct SimulationSeed([u8; 32]);

impl SimulationSeed {
    /// Creates a seed from the random numbers of a simulation.
    pub const fn new(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// Returns the seed of the library's own random numbers.
    pub(crate) fn of_library(&self) -> u64 {
        let bytes = self.draws("library").next();
        let (first, _) = bytes.split_first_chunk().expect("32 bytes hold eight");
        u64::from_le_bytes(*first)
    }

    /// Returns the random numbers for one purpose.
    pub(crate) fn draws(&self, purpose: &str) -> Draws {
        let mut seed = Sha256::new();
        seed.update(self.0);
        seed.update(purpose);
        Draws {
            seed: seed.finalize().into(),
            count: 0,
        }
    }
}

impl fmt::Debug for SimulationSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulationSeed")
    }
}

/// Random numbers from a seed: the hashes of the seed and a counter.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    seed: [u8; 32],
    count: u64,
}

impl Draws {
    /// Returns the next 32 bytes.
    pub(crate) fn next(&mut self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.count.to_le_bytes());
        self.count += 1;
        hash.finalize().into()
    }
}

thread_local! {
    static DRAWS: RefCell<Option<Draws>> = const { RefCell::new(None) };
}

/// Runs `run`, and lets key exchanges that begin in it draw their keys from `draws`. `run` does not panic.
pub(crate) fn lent<T>(draws: &mut Option<Draws>, run: impl FnOnce() -> T) -> T {
    DRAWS.set(draws.take());
    let result = run();
    *draws = DRAWS.take();
    result
}

/// Returns the cryptography with key exchanges that draw their keys from what is [`lent`], and with the same cipher on
/// each machine.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        kx_groups: GROUPS,
        dtls13_cipher_suites: crate::provider::AES_FIRST,
        ..crate::provider::provider()
    }
}

static GROUPS: &[&dyn SupportedKxGroup] = &[&X25519_GROUP, &P256_GROUP, &P384_GROUP];
static X25519_GROUP: Group = Group {
    name: NamedGroup::X25519,
    algorithm: &X25519,
    key_len: 32,
};
static P256_GROUP: Group = Group {
    name: NamedGroup::Secp256r1,
    algorithm: &ECDH_P256,
    key_len: 32,
};
static P384_GROUP: Group = Group {
    name: NamedGroup::Secp384r1,
    algorithm: &ECDH_P384,
    key_len: 48,
};

struct Group {
    name: NamedGroup,
    algorithm: &'static Algorithm,
    /// The length of a private key, in bytes.
    key_len: usize,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl Group {
    /// Draws a private key. Numbers beyond the order of a curve are none.
    fn draw(&self, draws: &mut Draws) -> PrivateKey {
        loop {
            let bytes = [draws.next(), draws.next()].concat();
            if let Ok(key) = PrivateKey::from_private_key(self.algorithm, &bytes[..self.key_len]) {
                return key;
            }
        }
    }
}

impl SupportedKxGroup for Group {
    fn name(&self) -> NamedGroup {
        self.name
    }

    fn start_exchange(&self, mut buf: Buf) -> Result<Box<dyn ActiveKeyExchange>, CryptoError> {
        let failed = |operation| CryptoError::OperationFailed(operation);
        let drawn = DRAWS.with_borrow_mut(|draws| Some(self.draw(draws.as_mut()?)));
        let private = drawn.ok_or(failed(CryptoOperation::GenerateEphemeralKey))?;
        let public = private
            .compute_public_key()
            .map_err(|_| failed(CryptoOperation::ComputePublicKey))?;
        buf.clear();
        buf.extend_from_slice(public.as_ref());
        Ok(Box::new(Exchange {
            group: self.name,
            algorithm: self.algorithm,
            private,
            public: buf,
        }))
    }
}

struct Exchange {
    group: NamedGroup,
    algorithm: &'static Algorithm,
    private: PrivateKey,
    public: Buf,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

impl ActiveKeyExchange for Exchange {
    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn complete(self: Box<Self>, peer: &[u8], out: &mut Buf) -> Result<(), CryptoError> {
        let refused = CryptoError::InvalidPublicKey(self.group);
        let peer = UnparsedPublicKey::new(self.algorithm, peer);
        agree(&self.private, peer, refused, |secret| {
            out.clear();
            out.extend_from_slice(secret);
            Ok(())
        })
    }

    fn group(&self) -> NamedGroup {
        self.group
    }
}
