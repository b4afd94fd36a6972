//! 24-bit sequence numbers: when packets carry them, and when they are given up (RFC 4340,
//! sections 7.5.5 and 7.6).

use fairwire_units::Instant;
use fairwire_units::plant::{Plant, planted};
use fairwire_wire::feature::Feature;
use fairwire_wire::{PacketType, Seq, SeqNo};

use super::{Connection, State};
use crate::constants::MAX_SHORT_WINDOW;
use crate::feature::Location;

impl Connection {
    /// Do our Data, Ack and `DataAck` packets carry 24-bit numbers, in heads four bytes shorter
    /// (eight with an Acknowledgement Number)?
    pub(crate) fn is_short(&self) -> bool {
        // RFC 4340, 5.1 and 7.6.2: not beside a wide window, nor at a high rate. Not before OPEN: a server
        // that keeps no state (section 8.1.4) has nothing to extend a number by.
        self.state == State::Open
            && self.agreed.short
            && self.sequence.local_window <= MAX_SHORT_WINDOW
            && !self.short.too_fast
    }

    /// The number of the next packet in the form that a packet of this type carries.
    pub(super) fn next_seqno(&self, packet_type: PacketType) -> SeqNo {
        let seq = self.next_seq();
        if packet_type.may_be_short() && self.is_short() {
            SeqNo::Short(seq.short())
        } else {
            seq.into()
        }
    }

    /// The whole number of a packet received; `None` if it is short and must not be.
    pub(super) fn whole_seq(&self, seq: SeqNo) -> Option<Seq> {
        // RFC 4340, 7.6.1: ignored where they were not agreed on.
        let allowed = !seq.is_short() || self.agreed.short_received;
        allowed.then(|| seq.extend(self.sequence.gsr))
    }

    /// The whole number of a packet of ours that the peer acknowledges.
    pub(super) fn whole_ack(&self, ack: SeqNo) -> Seq {
        // Planted: both numbers are extended alike.
        if planted(Plant::ShortAck) {
            return ack.extend(self.sequence.gsr);
        }
        ack.extend(self.sequence.gss)
    }

    /// Takes back the agreement on 24-bit numbers where they have become unsafe; true if there is
    /// something to negotiate. Never asks for them again.
    pub(super) fn give_up_short(&mut self, now: Instant) -> bool {
        let (feature, gss) = (Feature::AllowShortSeqnos, self.sequence.gss);
        let mut asked = false;
        if self.agreed.short
            && (self.short.is_too_fast(now, gss) || self.sequence.local_window > MAX_SHORT_WINDOW)
        {
            asked |= self.negotiation.insist(feature, Location::Local, 0);
        }
        // RFC 4340, 7.5.5: who would take a forged packet for real is the one who prevents it.
        if self.agreed.short_received && self.sequence.remote_window > MAX_SHORT_WINDOW {
            asked |= self.negotiation.insist(feature, Location::Remote, 0);
        }
        asked
    }
}
