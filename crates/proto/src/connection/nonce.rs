//! The ECN nonces that we send (RFC 4340, section 12.2) and the numbers that we pass over (RFC 4342,
//! section 9): bits that nobody can tell beforehand, the receivers of earlier ones included.

use std::hash::Hasher;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;
use siphasher::sip::SipHasher24;

use super::{Connection, State};
use crate::endpoint::NonceKey;

/// A bit for each sequence number, from a keyed hash.
#[derive(Clone, Debug)]
pub(super) struct NonceSource {
    key: NonceKey,
    /// The last 64 numbers asked for, divided by 64, and their bits.
    drawn: Option<(u64, u64)>,
    /// The last 4 numbers asked for, divided by 4, and their lots, 16 bits each.
    lots: Option<(u64, u64)>,
}

impl NonceSource {
    pub(super) fn new(key: NonceKey) -> Self {
        Self {
            key,
            drawn: None,
            lots: None,
        }
    }

    /// The nonce of the packet with number `seq`.
    fn nonce(&mut self, seq: Seq) -> bool {
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
    fn is_skipped(&mut self, seq: Seq, chosen: u32) -> bool {
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

impl Connection {
    /// The ECN field of data packet `seq`, which takes part in the nonce where that is on.
    pub(super) fn data_ecn(&mut self, seq: Seq) -> Ecn {
        // RFC 4340, 12 and 12.1: not towards who cannot read marks.
        if !self.agreed.ect {
            return Ecn::NotEct;
        }
        if let Some(tx) = &mut self.tx
            && self.config.ecn_nonce
            && tx.acknowledges_packets()
            && self.nonces.nonce(seq)
        {
            tx.on_nonce(seq);
            return Ecn::Ect1;
        }
        // RFC 8311, 6: data is ECT(0).
        Ecn::Ect0
    }

    /// Passes the next number over if it is to show whether the peer tells the truth. Says whether it
    /// did.
    #[inline]
    pub(super) fn skip_number(&mut self, now: Instant) -> bool {
        (self.config.check_feedback || self.config.ecn_nonce) && self.skip_chosen(now)
    }

    fn skip_chosen(&mut self, now: Instant) -> bool {
        let chosen = self.tx.as_ref().map_or(0, |tx| tx.skips_of_65536());
        if chosen == 0 || self.state != State::Open {
            return false;
        }
        let seq = self.next_seq();
        if !self.nonces.is_skipped(seq, chosen) {
            return false;
        }
        self.sequence.next_sent();
        // RFC 4342, 9: to the receiver it is a data packet that was lost. An NDP Count that covered it
        // would give it away (RFC 4340, 7.7).
        self.ndp_run = 0;
        if let Some(tx) = &mut self.tx {
            tx.on_skipped(now, seq);
        }
        true
    }
}
