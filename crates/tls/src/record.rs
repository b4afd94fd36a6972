//! Protected records of one epoch (RFC 9147, section 4): who seals them, and who opens them.
//!
//! A [`Sealer`] owns the numbers of an epoch. It takes the next one for each record and cannot be asked for another, so
//! no number is used twice with a key: that would be the end of the cipher. It uses up the [`Secret`] that it is made
//! from, so that no other can be made from it, and nothing outside of this file can reach a key.

#[cfg(test)]
pub(crate) mod sealed;
mod secret;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;

use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, MAX_TAG_LEN, Nonce,
    UnboundKey,
};
use bytes::{Bytes, BytesMut};
use zeroize::Zeroizing;

use crate::head;
use window::Window;

pub(crate) use secret::Secret;

/// The header of the records that are sealed here: flags, a number of two bytes, a length.
const HEADER: usize = 5;
const TAG: usize = MAX_TAG_LEN;

/// The bytes that a record adds to its data: its header, the content type and a tag of 16 (RFC 9147, section 4).
pub(crate) const OVERHEAD: usize = HEADER + 1 + TAG;

/// Flags of those records: a number of two bytes, and a length.
const FLAGS: u8 = 0b0010_1100;

/// Numbers have 48 bits (RFC 9147, section 4.2), and do not wrap.
const NUMBERS: u64 = (1 << 48) - 1;

/// How many records a key of AES-GCM may protect: 2^24.5, rounded down (RFC 8446, section 5.5; RFC 9147,
/// section 4.5.3).
const LIMIT_OF_AES: u64 = 1 << 24;

/// The memory of a cipher that is not Rust's, in bytes: a context of AWS-LC, rounded up.
pub(crate) const CIPHER_MEMORY: usize = 640;

/// A cipher suite.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Suite {
    /// Returns the ciphers for records and for their numbers.
    fn algorithms(self) -> (&'static Algorithm, &'static quic::Algorithm) {
        match self {
            Self::Aes128 => (&AES_128_GCM, &quic::AES_128),
            Self::Aes256 => (&AES_256_GCM, &quic::AES_256),
            Self::ChaCha20 => (&CHACHA20_POLY1305, &quic::CHACHA20),
        }
    }

    /// Returns how many records a key may protect.
    const fn limit(self) -> u64 {
        match self {
            Self::Aes128 | Self::Aes256 => LIMIT_OF_AES,
            Self::ChaCha20 => NUMBERS,
        }
    }
}

/// The keys of an epoch and direction.
struct Cipher {
    records: LessSafeKey,
    numbers: HeaderProtectionKey,
    iv: Zeroizing<[u8; 12]>,
    #[cfg(test)]
    id: Vec<u8>,
}

impl Cipher {
    /// Derives the keys from the secret of an epoch (RFC 8446, section 7.3; RFC 9147, section 4.2.3).
    fn new(suite: Suite, secret: &Secret) -> Self {
        let (records, numbers) = suite.algorithms();
        let mut bytes = Zeroizing::new([0; 32]);
        let key = &mut bytes[..records.key_len()];
        let mut iv = Zeroizing::new([0; 12]);
        secret.expand("iv", iv.as_mut());
        secret.expand("sn", key);
        let numbers = HeaderProtectionKey::new(numbers, key).expect("a key of the cipher's length");
        secret.expand("key", key);
        let records = UnboundKey::new(records, key).expect("a key of the cipher's length");
        Self {
            records: LessSafeKey::new(records),
            numbers,
            iv,
            #[cfg(test)]
            id: key.to_vec(),
        }
    }

    /// Returns the nonce of a record (RFC 8446, section 5.3).
    fn nonce(&self, number: u64) -> [u8; 12] {
        let mut nonce = *self.iv;
        if let Some(low) = nonce.last_chunk_mut() {
            *low = (u64::from_be_bytes(*low) ^ number).to_be_bytes();
        }
        nonce
    }

    /// Hides the number in the header of a record, or shows it (RFC 9147, section 4.2.3).
    fn mask(&self, number: &mut [u8], sample: &[u8]) {
        let mask = self.numbers.new_mask(sample);
        let mask = mask.expect("a sample has the length of a tag");
        for (byte, of_mask) in number.iter_mut().zip(mask) {
            *byte ^= of_mask;
        }
    }
}

/// Seals the records of an epoch.
pub(crate) struct Sealer {
    cipher: Cipher,
    flags: u8,
    /// The next number.
    next: u64,
    limit: u64,
}

impl Sealer {
    /// Makes the sealer of an epoch from its secret, in whose place is that of the next epoch then.
    pub(crate) fn new(suite: Suite, secret: &mut Secret, epoch: u64) -> Self {
        let [.., low] = epoch.to_be_bytes();
        let cipher = Cipher::new(suite, secret);
        secret.advance();
        Self {
            cipher,
            flags: FLAGS | low & head::EPOCH_BITS,
            next: 0,
            limit: suite.limit(),
        }
    }

    /// Returns how many records the key has protected, which is the number of the next one.
    pub(crate) const fn sealed(&self) -> u64 {
        self.next
    }

    /// Returns how many it may protect.
    pub(crate) const fn limit(&self) -> u64 {
        self.limit
    }

    #[cfg(test)]
    pub(crate) const fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Seals a record with this type and content. Returns `None` if the key is used up.
    pub(crate) fn seal(&mut self, kind: u8, content: &[u8]) -> Option<Bytes> {
        let mut record = BytesMut::with_capacity(content.len() + OVERHEAD);
        self.append(kind, &[content], &mut record)?;
        Some(record.freeze())
    }

    /// Seals a record with this type and content, which is given in parts and has at most 2^14 bytes, and appends it to
    /// `records`. Returns `None`, and appends nothing, if the key is used up.
    #[inline]
    pub(crate) fn append(
        &mut self,
        kind: u8,
        content: &[&[u8]],
        records: &mut BytesMut,
    ) -> Option<()> {
        let length: usize = content.iter().map(|part| part.len()).sum();
        if self.next >= self.limit || length > head::LONGEST_CONTENT {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let fragment = length + 1 + TAG;
        let [.., n0, n1] = number.to_be_bytes();
        let [.., l0, l1] = fragment.to_be_bytes();
        let header = [self.flags, n0, n1, l0, l1];
        let start = records.len();
        records.reserve(HEADER + fragment);
        records.extend_from_slice(&header);
        for part in content {
            records.extend_from_slice(part);
        }
        let mut end = [0; 1 + TAG];
        end[0] = kind;
        records.extend_from_slice(&end);
        let nonce = self.cipher.nonce(number);
        #[cfg(test)]
        sealed::note(&self.cipher.id, nonce);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let (outer, fragment) = records[start..].split_at_mut(HEADER);
        let (text, tag) = fragment.split_at_mut(length + 1);
        let (key, header) = (&self.cipher.records, Aad::from(header));
        if key
            .seal_in_place_scatter(nonce, header, text, &[], tag)
            .is_err()
        {
            records.truncate(start);
            return None;
        }
        self.cipher.mask(&mut outer[1..3], &fragment[..TAG]);
        Some(())
    }
}

/// A record that was opened.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Opened {
    pub(crate) epoch: u64,
    pub(crate) number: u64,
    pub(crate) kind: u8,
    /// Where in the record its content is.
    pub(crate) content: Range<usize>,
}

/// Why a record was not opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unopened {
    /// It failed authentication.
    Forged,
    /// It is a copy, so late that it may be one, or of an epoch without keys.
    Useless,
}

/// Opens the records of an epoch, each once.
pub(crate) struct Opener {
    cipher: Cipher,
    epoch: u64,
    window: Window,
}

impl Opener {
    pub(crate) fn new(suite: Suite, secret: &Secret, epoch: u64) -> Self {
        Self {
            cipher: Cipher::new(suite, secret),
            epoch,
            window: Window::new(),
        }
    }

    pub(crate) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the lowest number that is higher than all that have come.
    pub(crate) const fn next(&self) -> u64 {
        self.window.next()
    }

    /// Returns whether a record with this number would not be taken for a copy.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        self.window.is_new(number)
    }

    /// Returns whether a record that begins with these flags may be of this epoch.
    pub(crate) const fn fits(&self, flags: u8) -> bool {
        let [.., low] = self.epoch.to_be_bytes();
        (low ^ flags) & head::EPOCH_BITS == 0
    }

    /// Opens a record whose [head](head::Head) is that of a protected one, in its place. Its header stays as it is.
    ///
    /// RFC 9147, 4.5.1: whether it is a copy is looked at when it was opened, so that the time tells nobody where its
    /// number lies; a record that is not authentic changes nothing.
    #[inline]
    pub(crate) fn open(&mut self, record: &mut [u8]) -> Result<Opened, Unopened> {
        let opened = self.look_into(record)?;
        if !self.window.take(opened.number) {
            return Err(Unopened::Useless);
        }
        Ok(opened)
    }

    /// Opens a record and forgets that it did.
    pub(crate) fn look_into(&self, record: &mut [u8]) -> Result<Opened, Unopened> {
        let [flags, ..] = *record else {
            return Err(Unopened::Useless);
        };
        let length = head::sealed_header(flags);
        let Some((outer, fragment)) = record.split_at_mut_checked(length) else {
            return Err(Unopened::Useless);
        };
        let Some(sample) = fragment.get(..TAG) else {
            return Err(Unopened::Useless);
        };
        let mut header = [0; HEADER];
        let header = &mut header[..length];
        header.copy_from_slice(outer);
        let is_long = flags & head::HAS_LONG_NUMBER != 0;
        let of_number = &mut header[1..if is_long { 3 } else { 2 }];
        self.cipher.mask(of_number, sample);
        let (low, bits) = match *of_number {
            [high, low] => (u64::from(high) << 8 | u64::from(low), 16),
            [low] => (u64::from(low), 8),
            _ => return Err(Unopened::Useless),
        };
        let number = self.window.nearest(low, bits);
        let nonce = Nonce::assume_unique_for_key(self.cipher.nonce(number));
        let inner = self
            .cipher
            .records
            .open_in_place(nonce, Aad::from(&*header), fragment)
            .map_err(|_| Unopened::Forged)?;
        // RFC 9147, 4.1: the content, its type, and zeros. If all are zeros, it has no type that anybody knows.
        let end = inner.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        Ok(Opened {
            epoch: self.epoch,
            number,
            kind: inner.get(end).copied().unwrap_or(0),
            content: length..length + end,
        })
    }
}
