//! The ECN nonces that we send (RFC 4340, section 12.2) and the choice of skipped sequence numbers (RFC 4342, section
//! 9). Nobody can predict them, not even a receiver that knows the earlier ones.

use std::hash::Hasher;

use fairwire_wire::Seq;
use siphasher::sip::SipHasher24;

use super::draws::DrawKey;

/// A source of one bit for each sequence number, from a keyed hash.
#[derive(Clone, Debug)]
pub(crate) struct NonceSource {
    key: DrawKey,
    /// The last block of 64 numbers asked for (a number divided by 64), and its bits.
    drawn: Option<(u64, u64)>,
    /// The last block of 4 numbers asked for (a number divided by 4), and its 16-bit random values.
    lots: Option<(u64, u64)>,
}

impl NonceSource {
    pub(crate) fn new(key: DrawKey) -> Self {
        Self {
            key,
            drawn: None,
            lots: None,
        }
    }

    /// Returns the nonce of the packet with number `seq`.
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

    /// Returns whether to skip `seq`, if `chosen` of 65,536 numbers are to be skipped.
    pub(crate) fn is_skipped(&mut self, seq: Seq, chosen: u32) -> bool {
        let (block, place) = (seq.get() / 4, seq.get() % 4);
        let lots = match self.lots {
            Some((drawn, lots)) if drawn == block => lots,
            _ => {
                let mut hasher = SipHasher24::new_with_keys(self.key.0[0], self.key.0[1]);
                // The input has another length than that of the nonces, so this is another stream.
                hasher.write_u64(block);
                hasher.write_u8(1);
                hasher.finish()
            }
        };
        self.lots = Some((block, lots));
        (lots >> (16 * place) & 0xFFFF) < u64::from(chosen)
    }
}
