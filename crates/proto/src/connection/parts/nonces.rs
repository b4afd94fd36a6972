//! The ECN nonces that we send (RFC 4340, section 12.2) and the numbers that we pass over (RFC 4342,
//! section 9): bits that nobody can tell beforehand, the receivers of earlier ones included.

use std::hash::Hasher;

use fairwire_wire::Seq;
use siphasher::sip::SipHasher24;
use zeroize::Zeroize;

/// What the ECN nonces of a connection are drawn from; overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct NonceKey(pub(crate) [u64; 2]);

impl Drop for NonceKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for NonceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NonceKey")
    }
}

/// A bit for each sequence number, from a keyed hash.
#[derive(Clone, Debug)]
pub(crate) struct NonceSource {
    key: NonceKey,
    /// The last 64 numbers asked for, divided by 64, and their bits.
    drawn: Option<(u64, u64)>,
    /// The last 4 numbers asked for, divided by 4, and their lots, 16 bits each.
    lots: Option<(u64, u64)>,
}

impl NonceSource {
    pub(crate) fn new(key: NonceKey) -> Self {
        Self {
            key,
            drawn: None,
            lots: None,
        }
    }

    /// The nonce of the packet with number `seq`.
    pub(crate) fn nonce(&mut self, seq: Seq) -> bool {
        let (block, bit) = (seq.get() / 64, seq.get() % 64);
        let bits = match self.drawn {
            Some((drawn, bits)) if drawn == block => bits,
            _ => {
                let mut hasher = SipHasher24::new_with_keys(self.key.0[0], self.key.0[1]);
                hasher.write_u64(block);
                hasher.finish()
            }
        };
        self.drawn = Some((block, bits));
        bits >> bit & 1 == 1
    }

    /// Is `seq` among those of 65,536 numbers that are passed over? `chosen` is how many are.
    pub(crate) fn is_skipped(&mut self, seq: Seq, chosen: u32) -> bool {
        let (block, place) = (seq.get() / 4, seq.get() % 4);
        let lots = match self.lots {
            Some((drawn, lots)) if drawn == block => lots,
            _ => {
                let mut hasher = SipHasher24::new_with_keys(self.key.0[0], self.key.0[1]);
                // Of another length than what nonces come from, so another stream.
                hasher.write_u64(block);
                hasher.write_u8(1);
                hasher.finish()
            }
        };
        self.lots = Some((block, lots));
        (lots >> (16 * place) & 0xFFFF) < u64::from(chosen)
    }
}
