//! 24-bit sequence numbers: when packets carry them, and when they are given up (RFC 4340,
//! sections 7.5.5 and 7.6).

use fairwire_units::plant::{Plant, planted};
use fairwire_units::{Duration, Instant};
use fairwire_wire::feature::Feature;
use fairwire_wire::{PacketType, Seq, SeqNo};

use super::{Connection, State};
use crate::feature::Location;

/// The widest Sequence Window beside which 24-bit numbers are used: a Data packet forged with any
/// number then belongs to the connection once in 2^24 / 1,024 = 16,384 tries (RFC 4340, 7.5.5).
pub(crate) const MAX_SHORT_WINDOW: u64 = 1_024;

/// Numbers used up in a second at most. RFC 4340, 7.6.2: no number may come round again while an
/// old packet with it can still be on its way, two segment lifetimes or 240 s; at this rate the
/// circle lasts 256 s. Initial numbers move on at the same pace (section 7.2).
pub(crate) const MAX_SHORT_RATE: u64 = 1 << 16;

const SECOND: Duration = Duration::from_secs(1);

/// The watch over the rate at which our numbers are used up.
#[derive(Debug, Default)]
pub(super) struct ShortWatch {
    /// The second being counted: when and at which number it began.
    began: Option<(Instant, Seq)>,
    /// Was the rate too high once? Then our numbers stay long.
    too_fast: bool,
}

impl ShortWatch {
    /// We have sent `gss`. Are we too fast, now or ever before?
    fn is_too_fast(&mut self, now: Instant, gss: Seq) -> bool {
        let (began, first) = *self.began.get_or_insert((now, gss));
        self.too_fast |= first.distance(gss) > MAX_SHORT_RATE;
        if now.saturating_since(began) >= SECOND {
            self.began = Some((now, gss));
        }
        self.too_fast
    }
}

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

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, MAX_SHORT_RATE, Seq, ShortWatch};

    /// RFC 4340, 7.6.2: as many numbers as the circle bears pass in each second, one more in any of
    /// them does not, and that is not forgotten.
    #[test]
    fn one_number_too_many_in_a_second() {
        let mut watch = ShortWatch::default();
        let mut now = Instant::START;
        let mut gss = Seq::MAX;
        for _ in 0..3 {
            assert!(!watch.is_too_fast(now, gss));
            now += Duration::from_secs(1);
            gss = gss.add(MAX_SHORT_RATE);
        }
        assert!(!watch.is_too_fast(now, gss));
        now += Duration::from_millis(999);
        assert!(watch.is_too_fast(now, gss.add(MAX_SHORT_RATE + 1)));
        now += Duration::from_secs(9);
        assert!(watch.is_too_fast(now, gss.add(MAX_SHORT_RATE + 2)));
    }
}
