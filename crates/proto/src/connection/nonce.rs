//! The ECN nonces that we send (RFC 4340, section 12.2): bits that nobody can tell beforehand, the
//! receivers of earlier ones included.

use std::hash::Hasher;

use fairwire_units::Ecn;
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
}

impl NonceSource {
    pub(super) fn new(key: NonceKey) -> Self {
        Self { key, drawn: None }
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

    /// Passes a number over if the sending half wants to see whether the peer acknowledges it.
    pub(super) fn skip_number(&mut self) {
        if self.state != State::Open || !self.tx.as_ref().is_some_and(|tx| tx.wants_skip()) {
            return;
        }
        let seq = self.sequence.next_sent();
        // RFC 4340, 7.7: to who counts, it was no data.
        self.ndp_run = self.ndp_run.saturating_add(1);
        if let Some(tx) = &mut self.tx {
            tx.on_skipped(seq);
        }
    }
}
