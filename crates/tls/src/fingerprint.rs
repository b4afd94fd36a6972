//! Fingerprints of certificates.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// The length of a fingerprint in bytes.
const LEN: usize = 32;

/// The SHA-256 hash of a certificate in DER.
///
/// It prints as 32 bytes in lower-case hexadecimal digits with a colon between two bytes. It is read in upper or lower
/// case, and with or without the colons. A fingerprint is no secret.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fingerprint([u8; LEN]);

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// Creates a fingerprint from its bytes.
    pub const fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // As `openssl x509 -fingerprint -sha256` prints it.
        let prefix = text.split_once('=').filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            name == "sha256 fingerprint"
        });
        let text = prefix.map_or(text, |(_, rest)| rest);
        let mut bytes = [0; LEN];
        let mut digits = 0;
        let mut after_colon = true;
        for (position, character) in (1..).zip(text.chars()) {
            if character == ':' && !after_colon && digits % 2 == 0 {
                after_colon = true;
                continue;
            }
            after_colon = false;
            let value = character
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok())
                .ok_or(ParseFingerprintError::Character {
                    character,
                    position,
                })?;
            if let Some(byte) = bytes.get_mut(digits / 2) {
                *byte = *byte << 4 | value;
            }
            digits += 1;
        }
        if digits != 2 * LEN || after_colon {
            return Err(ParseFingerprintError::Length { digits });
        }
        Ok(Self(bytes))
    }
}

/// Why a text is not a fingerprint.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseFingerprintError {
    /// The text has too few or too many digits, or ends with a colon.
    #[error(
        "a fingerprint has 64 hexadecimal digits (32 bytes of SHA-256), with or without a colon between two \
         bytes, found {digits}"
    )]
    Length {
        /// The hexadecimal digits found; 64 are expected.
        digits: usize,
    },
    /// The text has something else than a digit, or a colon that is not between two bytes.
    #[error(
        "a fingerprint has hexadecimal digits, and colons only between two bytes, found {character:?} as \
         character {position}"
    )]
    Character {
        /// What stands there.
        character: char,
        /// Where it stands; the first character is 1.
        position: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, ParseFingerprintError};

    /// A fingerprint is read back as it prints, in upper case, and without its colons.
    #[test]
    fn prints_and_reads_back() {
        let fingerprint = Fingerprint::of(b"abc");
        let text = fingerprint.to_string();
        assert!(text.starts_with("ba:78:16:bf:8f:01:cf:ea:"), "{text}");
        assert_eq!(text.parse(), Ok(fingerprint));
        assert_eq!(text.to_uppercase().parse(), Ok(fingerprint));
        assert_eq!(text.replace(':', "").parse(), Ok(fingerprint));
        let openssl = format!("SHA256 Fingerprint={}", text.to_uppercase());
        assert_eq!(openssl.parse(), Ok(fingerprint));
    }

    /// A text that is too short or too long is refused with the number of its digits.
    #[test]
    fn a_wrong_length_is_told() {
        let text = Fingerprint::of(b"").to_string();
        let short = text[..92].parse::<Fingerprint>();
        assert_eq!(short, Err(ParseFingerprintError::Length { digits: 62 }));
        let long = format!("{text}:00").parse::<Fingerprint>();
        assert_eq!(long, Err(ParseFingerprintError::Length { digits: 66 }));
        let open = format!("{text}:").parse::<Fingerprint>();
        assert!(open.is_err(), "a colon at the end");
        assert_eq!(
            "".parse::<Fingerprint>(),
            Err(ParseFingerprintError::Length { digits: 0 })
        );
    }

    /// A wrong character is named with its place; so is a colon within a byte, at the start, or after another one.
    #[test]
    fn a_wrong_character_is_told() {
        for (text, character, position) in [
            ("ab:cx", 'x', 5),
            ("a:b", ':', 2),
            (":ab", ':', 1),
            ("ab::cd", ':', 4),
            ("ab cd", ' ', 3),
            ("äb", 'ä', 1),
        ] {
            let error = ParseFingerprintError::Character {
                character,
                position,
            };
            assert_eq!(text.parse::<Fingerprint>(), Err(error), "{text}");
        }
    }
}
