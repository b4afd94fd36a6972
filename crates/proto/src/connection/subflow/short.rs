//! 24-bit sequence numbers: when packets carry them, and when we stop using them (RFC 4340, sections 7.5.5 and 7.6).

use fairwire_units::Instant;
use fairwire_wire::feature::Feature;
use fairwire_wire::{PacketType, Seq, SeqNo};

use super::{State, Subflow};
use crate::constants::MAX_SHORT_WINDOW;
use crate::feature::Location;

impl Subflow {
    /// Returns whether our Data, Ack and `DataAck` packets carry 24-bit numbers, which makes headers four bytes shorter
    /// (eight with an Acknowledgement Number).
    pub(crate) fn is_short(&self) -> bool {
        // RFC 4340, 5.1 and 7.6.2: not with a wide window, nor at a high rate. Not before OPEN: a server that keeps no
        // state (section 8.1.4) could not extend the numbers.
        self.state == State::Open
            && self.agreed.short
            && self.sequence.local_window <= MAX_SHORT_WINDOW
            && !self.short.too_fast
    }

    /// Returns the number of the next packet in the form that a packet of this type carries.
    pub(super) fn next_seqno(&self, packet_type: PacketType) -> SeqNo {
        let seq = self.next_seq();
        if packet_type.may_be_short() && self.is_short() {
            SeqNo::Short(seq.short())
        } else {
            seq.into()
        }
    }

    /// Returns the full number of a received packet, or `None` if it is short without an agreement.
    pub(super) fn full_seq(&self, seq: SeqNo) -> Option<Seq> {
        // RFC 4340, 7.6.1: ignored if they were not agreed on.
        let allowed = !seq.is_short() || self.agreed.short_received;
        allowed.then(|| seq.extend(self.sequence.gsr))
    }

    /// Returns the full number of the packet of ours that the peer acknowledges.
    pub(super) fn full_ack(&self, ack: SeqNo) -> Seq {
        ack.extend(self.sequence.gss)
    }

    /// Withdraws the agreement on 24-bit numbers if they have become unsafe, and never asks for them again. Returns
    /// whether there is something to negotiate.
    pub(super) fn give_up_short(&mut self, now: Instant) -> bool {
        let (feature, gss) = (Feature::AllowShortSeqnos, self.sequence.gss);
        let mut asked = false;
        if self.agreed.short
            && (self.short.is_too_fast(now, gss) || self.sequence.local_window > MAX_SHORT_WINDOW)
        {
            asked |= self.negotiation.request_only(feature, Location::Local, 0);
        }
        // RFC 4340, 7.5.5: the end that might accept a forged packet prevents it.
        if self.agreed.short_received && self.sequence.remote_window > MAX_SHORT_WINDOW {
            asked |= self.negotiation.request_only(feature, Location::Remote, 0);
        }
        asked
    }
}
