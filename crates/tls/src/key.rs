//! Private keys, held by the cryptographic library alone.

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
}

impl Key {
    /// Makes a new key on P-256 from the operating system's random bytes.
    pub(crate) fn generate() -> Result<Self, Unspecified> {
        EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map(|pair| Self {
            pair,
            curve: Curve::P256,
        })
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
            Some(Self { pair, curve })
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
    pub(crate) fn sign(&self, message: &[u8]) -> Result<impl AsRef<[u8]> + use<>, Unspecified> {
        self.pair.sign(&SystemRandom::new(), message)
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
        let signature = Self::sign(self, message).map_err(|_| rcgen::Error::RemoteKeyError)?;
        Ok(signature.as_ref().to_vec())
    }
}
