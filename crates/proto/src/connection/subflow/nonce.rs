//! ECN nonces and skipped sequence numbers of the packets we send (RFC 4340, section 12.2; RFC 4342, section 9).

use fairwire_units::{Ecn, Instant};
use fairwire_wire::Seq;

use super::{State, Subflow};

impl Subflow {
    /// Returns the ECN field of data packet `seq`, with a nonce if nonces are on.
    pub(super) fn data_ecn(&mut self, seq: Seq) -> Ecn {
        // RFC 4340, 12 and 12.1: not to a peer that cannot read marks.
        if !self.agreed.ect {
            return Ecn::NotEct;
        }
        // RFC 8311, 6: ECT(0), except for a controller that responds to marks in another way.
        let ecn = self.tx.as_ref().map_or(Ecn::Ect0, |tx| tx.ecn());
        if let Some(tx) = &self.tx
            && self.config.ecn_nonce
            && ecn == Ecn::Ect0
            && tx.acknowledges_packets()
            && self.nonces.nonce(seq)
        {
            return Ecn::Ect1;
        }
        ecn
    }

    /// Skips the next number if it is chosen to check the peer's honesty. Returns whether it did.
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
        // RFC 4342, 9: to the receiver it looks like a lost data packet. An NDP Count that covered it would reveal it
        // (RFC 4340, 7.7).
        self.ndp_run = 0;
        if let Some(tx) = &mut self.tx {
            tx.on_skipped(now, seq);
        }
        true
    }
}
