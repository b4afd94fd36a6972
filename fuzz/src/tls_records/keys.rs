//! Protected records (RFC 9147, section 4), written and read apart from the code that is tested: with any epoch, number
//! and form of the header.

use dimpl::crypto::{
    Aad, Buf, Cipher, HashAlgorithm, Nonce, SupportedDtls13CipherSuite, TmpBuf, aws_lc_rs,
};

/// Flags of a header: a number of two bytes, a length.
pub(super) const LONG_NUMBER: u8 = 0b1000;
pub(super) const HAS_LENGTH: u8 = 0b0100;
const TAG: usize = 16;

fn suite(number: u8) -> &'static dyn SupportedDtls13CipherSuite {
    aws_lc_rs::default_provider().dtls13_cipher_suites[usize::from(number)]
}

/// Returns how long the secrets of a suite are.
pub(super) fn secret_length(number: u8) -> usize {
    match suite(number).hash_algorithm() {
        HashAlgorithm::SHA384 => 48,
        _ => 32,
    }
}

/// HKDF-Expand-Label (RFC 8446, section 7.1) of one block.
fn expand(number: u8, secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let [.., length_low] = length.to_be_bytes();
    let [.., label_length] = (6 + label.len()).to_be_bytes();
    let parts = [
        &[0, length_low, label_length][..],
        b"dtls13",
        label.as_bytes(),
        &[0, 1],
    ];
    let mut out = [0; 48];
    let hash = suite(number).hash_algorithm();
    let hmac = aws_lc_rs::default_provider().hmac_provider;
    hmac.hmac(hash, secret, &parts.concat(), &mut out)
        .expect("a known hash");
    out[..length].to_vec()
}

/// The keys of an epoch and direction, and which numbers of it the session has opened.
pub(super) struct Epoch {
    suite: u8,
    secret: Vec<u8>,
    cipher: Box<dyn Cipher>,
    iv: Vec<u8>,
    numbers: Vec<u8>,
    number: u64,
    /// The next number that an honest sender uses.
    pub(super) next: u64,
}

impl Epoch {
    pub(super) fn new(number: u8, secret: Vec<u8>, epoch: u64) -> Self {
        let length = suite(number).key_len();
        let key = expand(number, &secret, "key", length);
        Self {
            suite: number,
            cipher: suite(number).create_cipher(&key).expect("a key"),
            iv: expand(number, &secret, "iv", 12),
            numbers: expand(number, &secret, "sn", length),
            secret,
            number: epoch,
            next: 0,
        }
    }

    /// The epoch after this one (RFC 8446, section 7.2).
    pub(super) fn following(&self) -> Self {
        let secret = expand(self.suite, &self.secret, "traffic upd", self.secret.len());
        Self::new(self.suite, secret, self.number + 1)
    }

    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce.copy_from_slice(&self.iv);
        for (byte, of_number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        Nonce(nonce)
    }

    fn mask(&self, sample: &[u8]) -> [u8; 16] {
        let sample = sample.first_chunk().expect("a tag at least");
        suite(self.suite).encrypt_sn(&self.numbers, sample)
    }

    /// Seals a content with its type and padding.
    pub(super) fn seal(&mut self, number: u64, form: u8, inner: &[u8]) -> Vec<u8> {
        let [.., low] = self.number.to_be_bytes();
        let mut header = vec![0b0010_0000 | form & (LONG_NUMBER | HAS_LENGTH) | low & 3];
        let [.., n0, n1] = number.to_be_bytes();
        if form & LONG_NUMBER != 0 {
            header.push(n0);
        }
        header.push(n1);
        if form & HAS_LENGTH != 0 {
            let [.., l0, l1] = (inner.len() + TAG).to_be_bytes();
            header.extend([l0, l1]);
        }
        let mut text = Buf::new();
        text.extend_from_slice(inner);
        let aad = Aad(header.iter().copied().collect());
        let nonce = self.nonce(number);
        self.cipher
            .encrypt(&mut text, aad, nonce)
            .expect("any text");
        let mask = self.mask(&text);
        let numbers = if form & LONG_NUMBER == 0 { 1 } else { 2 };
        for (byte, of_mask) in header[1..=numbers].iter_mut().zip(mask) {
            *byte ^= of_mask;
        }
        [&header[..], &text].concat()
    }

    /// Opens a record of the form that the session writes. It has the next number, or is none of the session's.
    pub(super) fn open(&mut self, record: &[u8]) -> (u8, Vec<u8>) {
        let [.., low] = self.number.to_be_bytes();
        assert_eq!(record[0], 0b0010_1100 | low & 3, "its header");
        let (header, text) = record.split_at(5);
        let mask = self.mask(text);
        let mut header = header.to_vec();
        header[1] ^= mask[0];
        header[2] ^= mask[1];
        let [.., n0, n1] = self.next.to_be_bytes();
        assert_eq!(header[1..3], [n0, n1], "numbers are used one by one");
        let mut text = text.to_vec();
        let mut opened = TmpBuf::new(&mut text);
        let aad = Aad(header.iter().copied().collect());
        let nonce = self.nonce(self.next);
        self.cipher
            .decrypt(&mut opened, aad, nonce)
            .expect("it is authentic");
        self.next += 1;
        let inner = opened.as_ref();
        let (kind, content) = inner.split_last().expect("a type");
        (*kind, content.to_vec())
    }
}
