//! Private keys, held by the cryptographic library alone; those of simulations are elsewhere, too.

use std::fmt;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::pkcs8::Document;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, KeyPair,
};

/// The curve of a key, with the hash that it signs with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Curve {
    /// P-256 with SHA-256.
    P256,
    /// P-384 with SHA-384.
    P384,
}

/// A private key for ECDSA.
///
/// The secret lives in memory of the cryptographic library, which overwrites it before it frees it.
pub(crate) struct Key {
    pair: EcdsaKeyPair,
    curve: Curve,
    /// What signs in its place in a simulation, where a signature has the same bytes each time (RFC 6979).
    #[cfg(feature = "seeded")]
    seeded: Option<p256::ecdsa::SigningKey>,
}

impl Key {
    /// Makes a new key on P-256 from the operating system's random bytes.
    pub(crate) fn generate() -> Result<Self, Unspecified> {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING)
            .map(|pair| Self::new(pair, Curve::P256))
    }

    fn new(pair: EcdsaKeyPair, curve: Curve) -> Self {
        Self {
            pair,
            curve,
            #[cfg(feature = "seeded")]
            seeded: None,
        }
    }

    /// Makes the key on P-256 with this secret, which a simulation has drawn.
    #[cfg(feature = "seeded")]
    pub(crate) fn seeded(secret: &[u8; 32]) -> Result<Self, Unspecified> {
        use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
        let private = PrivateKey::from_private_key(&ECDH_P256, secret).map_err(|_| Unspecified)?;
        let public = private.compute_public_key()?;
        let pair = EcdsaKeyPair::from_private_key_and_public_key(
            &ECDSA_P256_SHA256_ASN1_SIGNING,
            secret,
            public.as_ref(),
        );
        let mut key = Self::new(pair.map_err(|_| Unspecified)?, Curve::P256);
        let seeded = p256::ecdsa::SigningKey::from_slice(secret).map_err(|_| Unspecified)?;
        key.seeded = Some(seeded);
        Ok(key)
    }

    /// Reads a key in DER, either PKCS #8 (RFC 5958) or as RFC 5915 writes keys of elliptic curves.
    ///
    /// Returns `None` if it is neither, or on another curve than P-256 and P-384.
    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        let curves = [
            (&ECDSA_P256_SHA256_ASN1_SIGNING, Curve::P256),
            (&ECDSA_P384_SHA384_ASN1_SIGNING, Curve::P384),
        ];
        curves.into_iter().find_map(|(algorithm, curve)| {
            let pair = EcdsaKeyPair::from_pkcs8(algorithm, der)
                .or_else(|_| EcdsaKeyPair::from_private_key_der(algorithm, der))
                .ok()?;
            Some(Self::new(pair, curve))
        })
    }

    /// Returns the key as PKCS #8, in memory that is overwritten when it is dropped.
    pub(crate) fn to_pkcs8(&self) -> Result<Document, Unspecified> {
        self.pair.to_pkcs8v1()
    }

    /// Returns the key's curve.
    pub(crate) const fn curve(&self) -> Curve {
        self.curve
    }

    /// Returns the public key: the point on the curve, not compressed.
    pub(crate) fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// Signs `message`; the signature is in ASN.1.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Unspecified> {
        #[cfg(feature = "seeded")]
        if let Some(seeded) = &self.seeded {
            use p256::ecdsa::signature::Signer;
            let signature: p256::ecdsa::Signature =
                seeded.try_sign(message).map_err(|_| Unspecified)?;
            return Ok(signature.to_der().as_bytes().to_vec());
        }
        let signature = self.pair.sign(&SystemRandom::new(), message)?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("curve", &self.curve)
            .finish_non_exhaustive()
    }
}

impl rcgen::PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.public()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        match self.curve {
            Curve::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Curve::P384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        }
    }
}

impl rcgen::SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Self::sign(self, message).map_err(|_| rcgen::Error::RemoteKeyError)
    }
}

#[cfg(all(test, feature = "seeded"))]
mod tests {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

    use super::Key;

    fn bytes(hex: &str) -> [u8; 32] {
        std::array::from_fn(|at| {
            let digits = &hex[2 * at..2 * at + 2];
            u8::from_str_radix(digits, 16).expect("two digits")
        })
    }

    /// RFC 6979, A.2.5: the signature of "sample" with SHA-256 on P-256.
    #[test]
    fn a_simulated_signature_is_that_of_the_standard() {
        let secret = bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
        let r = bytes("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716");
        let s = bytes("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
        let key = Key::seeded(&secret).expect("a key");
        let signature = key.sign(b"sample").expect("a signature");
        let integer = |value: [u8; 32]| [&[2, 33, 0][..], &value].concat();
        let both = [integer(r), integer(s)].concat();
        assert_eq!(signature, [&[0x30, 70][..], &both].concat());
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public())
            .verify(b"sample", &signature)
            .expect("it is genuine");
    }
}
