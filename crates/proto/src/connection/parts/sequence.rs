//! Sequence-number validity (RFC 4340, sections 7.5.1 to 7.5.4, and steps 5 and 6 of section 8.5).
//!
//! It decides whether a packet belongs to the connection. It holds no timers and sends nothing; [`syncs`](super::syncs)
//! reacts to its verdicts.

use fairwire_units::Instant;
use fairwire_wire::{PacketType, Seq};

/// Both Sequence Windows of a new connection, packets (RFC 4340, section 7.5.2).
pub(crate) const INITIAL_WINDOW: u64 = 100;

/// Distance from the initial number up to which the windows do not reach back beyond it. Further on, the numbers may
/// have wrapped; no window is a quarter as wide.
const YOUNG: u64 = 1 << 46;

/// The verdict on a packet, from its numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// It belongs to the connection.
    Valid,
    /// It does not belong to it; ask the peer with a Sync that acknowledges this number.
    Sync(Seq),
    /// It does not belong to it, and a Sync would only make matters worse.
    Ignore,
    /// It belongs to the connection, and it shows that GSR was forged: the peer never sent that number.
    RollBack,
}

/// The sequence variables of one connection, named as in RFC 4340, section 7.1. Every packet sent gets the next number
/// (RFC 5348, sections 3.2.1 and 5.1).
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    /// Initial number sent.
    pub(crate) iss: Seq,
    /// Initial number received.
    pub(crate) isr: Seq,
    /// Greatest number sent.
    pub(crate) gss: Seq,
    /// Greatest number received on a sequence-valid packet.
    pub(crate) gsr: Seq,
    /// GSS at the time when GSR got its value.
    gss_at_gsr: Seq,
    /// Whether GSR came on a packet with a 24-bit number.
    gsr_was_short: bool,
    /// W at the time when GSR got its value.
    window_at_gsr: u64,
    /// Greatest acknowledgement number received, except on Syncs.
    pub(crate) gar: Seq,
    /// First number received in OPEN.
    pub(crate) osr: Seq,
    /// The number that we acknowledge: the greatest on an acknowledgeable packet (section 7.4). It differs from `gsr`
    /// only after packets of an unexpected type.
    pub(crate) acknowledgeable: Seq,
    /// Sequence Window of our numbers, W'.
    pub(crate) local_window: u64,
    /// Sequence Window of the peer's numbers, W.
    pub(crate) remote_window: u64,
    /// When the last valid packet arrived.
    pub(crate) heard_at: Option<Instant>,
    young_sent: bool,
    young_received: bool,
}

impl Sequence {
    /// Returns the state before any packet; the first packet sent gets number `iss`.
    pub(crate) fn new(iss: Seq) -> Self {
        Self {
            iss,
            isr: Seq::ZERO,
            gss: iss.prev(),
            gsr: Seq::ZERO,
            gss_at_gsr: iss.prev(),
            gsr_was_short: false,
            window_at_gsr: INITIAL_WINDOW,
            gar: iss,
            osr: Seq::ZERO,
            acknowledgeable: Seq::ZERO,
            local_window: INITIAL_WINDOW,
            remote_window: INITIAL_WINDOW,
            heard_at: None,
            young_sent: true,
            young_received: true,
        }
    }

    /// Starts with the peer's first packet, number `isr` (steps 3 and 4 of section 8.5).
    pub(crate) fn begin_receiving(&mut self, isr: Seq) {
        self.isr = isr;
        self.gsr = isr;
        self.gss_at_gsr = self.gss;
        self.window_at_gsr = self.remote_window;
        self.acknowledgeable = isr;
    }

    /// Goes back to `seq` as the greatest number that the peer may have sent, because GSR was forged.
    pub(crate) fn roll_back(&mut self, seq: Seq) {
        self.gsr = seq;
        self.gss_at_gsr = self.gss;
        self.gsr_was_short = false;
        self.window_at_gsr = self.remote_window;
        self.acknowledgeable = seq;
    }

    /// Returns whether a Sync or `SyncAck` with number `seq` shows that GSR was forged.
    ///
    /// It does if it acknowledges a packet of ours that left after GSR arrived. If the peer had sent GSR, it would have
    /// done so before it saw our packet, and this answer would have a greater number.
    ///
    /// This departs from RFC 4340, 7.5.3 and 7.5.4, which have no remedy for a GSR ahead of all that the peer sends.
    /// One packet with a number changed within the window stalls a connection until it times out. The rule gives an
    /// attacker no new way in. A copy of an older Sync acknowledges a packet that left before GSR arrived. A forged
    /// Sync has to hit two windows, like any that counts as valid on an active connection.
    ///
    /// The step back is limited to the window, unless GSR came on a 24-bit number. Anybody can hit such a number within
    /// 2^24 / W tries (7.5.5), and several hits may have added up to more than a window. The window is the one in force
    /// when GSR arrived, because the forged packet may have asked for another one.
    fn disproves_gsr(&self, seq: Seq, ack: Seq) -> bool {
        let begun = !self.young_received || !seq.is_before(self.isr);
        let near = self.gsr_was_short || seq.distance(self.gsr) <= self.window_at_gsr;
        begun && near && seq.is_before(self.gsr) && ack.is_after(self.gss_at_gsr)
    }

    /// Returns the number of the next packet sent.
    pub(crate) fn next_sent(&mut self) -> Seq {
        // RFC 4340, 7.1: by one for every packet.
        self.gss = self.gss.next();
        if self.iss.distance(self.gss) >= YOUNG {
            self.young_sent = false;
        }
        self.gss
    }

    /// Returns the lowest valid sequence number (SWL).
    pub(crate) fn swl(&self) -> Seq {
        let low = self.gsr.next().sub(self.remote_window / 4);
        // RFC 4340, 7.5.1: not below ISR, but only at the beginning of the connection.
        if self.young_received {
            Seq::max(low, self.isr)
        } else {
            low
        }
    }

    /// Returns the highest valid sequence number (SWH).
    pub(crate) fn swh(&self) -> Seq {
        self.gsr.add(self.remote_window - self.remote_window / 4)
    }

    /// Returns the lowest valid acknowledgement number (AWL).
    pub(crate) fn awl(&self) -> Seq {
        let low = self.gss.next().sub(self.local_window);
        // RFC 4340, 7.5.1: as for SWL.
        if self.young_sent {
            Seq::max(low, self.iss)
        } else {
            low
        }
    }

    /// Returns whether the peer may acknowledge the number `ack` now.
    pub(crate) fn is_ack_valid(&self, ack: Seq) -> bool {
        ack.in_window(self.awl(), self.gss)
    }

    /// Returns the verdict of section 7.5.3. `active` means that a valid packet arrived within the last three round
    /// trips.
    pub(crate) fn check(
        &self,
        packet_type: PacketType,
        seq: Seq,
        ack: Option<Seq>,
        active: bool,
    ) -> Verdict {
        let (swl, swh) = (self.swl(), self.swh());
        if matches!(packet_type, PacketType::Sync | PacketType::SyncAck) {
            let ack_valid = ack.is_some_and(|ack| self.is_ack_valid(ack));
            // RFC 4340, 7.5.5: recovery after a forged packet has hit the window.
            if ack_valid && ack.is_some_and(|ack| self.disproves_gsr(seq, ack)) {
                return Verdict::RollBack;
            }
            // RFC 4340, 7.5.3: these two may lie beyond the window's high end, but not on an active connection.
            let seq_valid = if active {
                seq.in_window(swl, swh)
            } else {
                !seq.is_before(swl)
            };
            return if ack_valid && seq_valid {
                Verdict::Valid
            } else {
                // RFC 4340, 7.5.4: if this were answered, two confused ends would talk for ever.
                Verdict::Ignore
            };
        }
        let ends = matches!(
            packet_type,
            PacketType::CloseReq | PacketType::Close | PacketType::Reset
        );
        // RFC 4340, 7.5.3: a packet that ends a connection must be newer than all packets before it.
        let (seq_low, ack_low) = if ends {
            (self.gsr.next(), self.gar)
        } else {
            (swl, self.awl())
        };
        let seq_valid = seq.in_window(seq_low, swh);
        if seq_valid && ack.is_none_or(|ack| ack.in_window(ack_low, self.gss)) {
            Verdict::Valid
        } else if packet_type == PacketType::Reset {
            // RFC 4340, 7.5.4: GSR, acknowledgeable or not. A peer that knows nothing of the connection sends its next
            // Reset with the number that follows (8.3.1), and only one beyond GSR is valid (7.5.3).
            Verdict::Sync(self.gsr)
        } else {
            Verdict::Sync(seq)
        }
    }

    /// Records the numbers of a valid packet (the updates of steps 5 and 6). `short` means that it carried 24 bits of
    /// its number.
    pub(crate) fn accept(
        &mut self,
        packet_type: PacketType,
        seq: Seq,
        ack: Option<Seq>,
        short: bool,
    ) {
        if seq.is_after(self.gsr) {
            self.gsr = seq;
            self.gss_at_gsr = self.gss;
            self.gsr_was_short = short;
            self.window_at_gsr = self.remote_window;
        }
        if self.isr.distance(self.gsr) >= YOUNG {
            self.young_received = false;
        }
        if packet_type != PacketType::Sync
            && let Some(ack) = ack
        {
            self.gar = Seq::max(self.gar, ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Seq, Sequence, Verdict};
    use fairwire_wire::PacketType;

    fn mid_connection(gss: u64, gsr: u64) -> Sequence {
        let mut s = Sequence::new(Seq::new(gss).sub(1 << 47));
        s.begin_receiving(Seq::new(gsr).sub(1 << 47));
        s.gss = Seq::new(gss).prev();
        s.next_sent();
        s.gar = s.gss.sub(10);
        s.accept(PacketType::Data, Seq::new(gsr).sub(1), None, false);
        s.accept(PacketType::Data, Seq::new(gsr), None, false);
        s
    }

    /// RFC 4340, 7.5.1: the window lies a quarter behind GSR and three quarters ahead, both ends valid, also where the
    /// numbers wrap.
    #[test]
    fn windows_just_inside_and_outside() {
        for gsr in [1 << 40, 3, (1 << 48) - 2] {
            let s = mid_connection(1 << 30, gsr);
            let gsr = Seq::new(gsr);
            let verdict = |seq| s.check(PacketType::Data, seq, None, true);
            assert_eq!(verdict(gsr.sub(24)), Verdict::Valid);
            assert_eq!(verdict(gsr.sub(25)), Verdict::Sync(gsr.sub(25)));
            assert_eq!(verdict(gsr.add(75)), Verdict::Valid);
            assert_eq!(verdict(gsr.add(76)), Verdict::Sync(gsr.add(76)));
            let ack = |ack| s.check(PacketType::Ack, gsr, Some(ack), true);
            assert_eq!(ack(s.gss), Verdict::Valid);
            assert_eq!(ack(s.gss.next()), Verdict::Sync(gsr));
            assert_eq!(ack(s.gss.sub(99)), Verdict::Valid);
            assert_eq!(ack(s.gss.sub(100)), Verdict::Sync(gsr));
        }
    }

    /// RFC 4340, 7.5.3: Close, `CloseReq` and Reset must be new and acknowledge nothing old. An invalid Reset is
    /// answered with the greatest number received (7.5.4).
    #[test]
    fn endings_must_be_new() {
        let s = mid_connection(1 << 30, 500);
        for packet_type in [PacketType::Close, PacketType::CloseReq] {
            let verdict = |seq, ack| s.check(packet_type, seq, Some(ack), true);
            assert_eq!(verdict(s.gsr.next(), s.gar), Verdict::Valid);
            assert_eq!(verdict(s.gsr, s.gar), Verdict::Sync(s.gsr));
            let early = verdict(s.gsr.next(), s.gar.prev());
            assert_eq!(early, Verdict::Sync(s.gsr.next()));
        }
        let far = s.gsr.add(1_000);
        let reset = s.check(PacketType::Reset, far, Some(s.gar), true);
        assert_eq!(reset, Verdict::Sync(s.gsr));
    }

    /// RFC 4340, 7.5.3: the acknowledgement on a Close, `CloseReq` or Reset is compared only with GAR. One that has
    /// fallen behind the window still ends a connection, although no Ack may carry it any more.
    #[test]
    fn an_ending_may_acknowledge_gar_behind_the_window() {
        let mut s = mid_connection(1 << 30, 500);
        s.gar = s.awl().sub(20);
        for packet_type in [PacketType::Close, PacketType::CloseReq, PacketType::Reset] {
            let verdict = s.check(packet_type, s.gsr.next(), Some(s.gar), true);
            assert_eq!(verdict, Verdict::Valid, "{packet_type:?}");
        }
        let ack = s.check(PacketType::Ack, s.gsr.next(), Some(s.gar), true);
        assert_eq!(ack, Verdict::Sync(s.gsr.next()));
    }

    /// RFC 4340, 7.5.3 and 7.5.4: a Sync may jump ahead, but not on an active connection; an invalid one is never
    /// answered.
    #[test]
    fn syncs_leap_only_when_quiet() {
        let s = mid_connection(1 << 30, 500);
        let far = s.gsr.add(1 << 40);
        for packet_type in [PacketType::Sync, PacketType::SyncAck] {
            let check = |seq, ack, active| s.check(packet_type, seq, Some(ack), active);
            assert_eq!(check(far, s.gss, false), Verdict::Valid);
            assert_eq!(check(far, s.gss, true), Verdict::Ignore);
            assert_eq!(check(s.gsr, s.gss, true), Verdict::Valid);
            assert_eq!(check(s.swl().prev(), s.gss, false), Verdict::Ignore);
            assert_eq!(check(s.gsr, s.gss.next(), false), Verdict::Ignore);
        }
    }

    /// A Sync with a smaller number than GSR shows that GSR was forged, if it acknowledges a packet that we sent after
    /// GSR arrived. A Sync that acknowledges an earlier packet, or has a greater number, is an ordinary one.
    #[test]
    fn a_forged_number_is_taken_back() {
        for packet_type in [PacketType::Sync, PacketType::SyncAck] {
            let mut s = mid_connection(1 << 30, 500);
            let before = s.gss;
            s.accept(PacketType::Data, Seq::new(570), None, true);
            let check =
                |s: &Sequence, seq, ack| s.check(packet_type, Seq::new(seq), Some(ack), true);
            assert_eq!(check(&s, 501, before), Verdict::Ignore);
            assert_eq!(check(&s, 560, before), Verdict::Valid);
            let after = s.next_sent();
            assert_eq!(check(&s, 501, before), Verdict::Ignore);
            assert_eq!(check(&s, 501, after.next()), Verdict::Ignore, "never sent");
            assert_eq!(check(&s, 571, after), Verdict::Valid);
            assert_eq!(check(&s, 560, after), Verdict::RollBack);
            assert_eq!(check(&s, 501, after), Verdict::RollBack);
            s.roll_back(Seq::new(501));
            assert_eq!(check(&s, 501, after), Verdict::Valid);
            let data = s.check(PacketType::Data, Seq::new(502), None, true);
            assert_eq!(data, Verdict::Valid);
        }
    }

    /// A GSR that came on a 48-bit number is taken back by a window at most, one that came on a 24-bit number any
    /// distance. Beyond that the Sync is invalid and ignored (RFC 4340, 7.5.4).
    #[test]
    fn a_forged_number_is_taken_back_so_far() {
        for short in [false, true] {
            let mut s = mid_connection(1 << 30, 500);
            s.accept(PacketType::Data, Seq::new(570), None, short);
            let after = s.next_sent();
            let check = |seq| s.check(PacketType::Sync, seq, Some(after), true);
            let gsr = Seq::new(570);
            assert_eq!(check(gsr.sub(100)), Verdict::RollBack);
            let beyond = [Verdict::Ignore, Verdict::RollBack][usize::from(short)];
            assert_eq!(check(gsr.sub(101)), beyond);
        }
    }

    /// The window that limits the step back is the one in which the forged number was valid, even if the window has
    /// changed since.
    #[test]
    fn a_forged_number_is_taken_back_by_the_window_it_came_in() {
        for later in [100, 9_000] {
            let mut s = mid_connection(1 << 30, 5_000);
            s.remote_window = 1_000;
            let forged = Seq::new(5_750);
            let data = s.check(PacketType::Data, forged, None, true);
            assert_eq!(data, Verdict::Valid);
            s.accept(PacketType::Data, forged, None, false);
            s.remote_window = later;
            let after = s.next_sent();
            let check = |seq| s.check(PacketType::Sync, seq, Some(after), true);
            assert_eq!(check(Seq::new(5_001)), Verdict::RollBack, "{later}");
            assert_eq!(check(forged.sub(1_000)), Verdict::RollBack, "{later}");
            let beyond = check(forged.sub(1_001));
            assert_ne!(beyond, Verdict::RollBack, "{later}");
        }
    }

    /// RFC 4340, 7.5.1: at first no number before the initial ones is valid; after a wrap they no longer count.
    #[test]
    fn initial_numbers_bound_the_windows_at_first_only() {
        let mut s = Sequence::new(Seq::new(5));
        s.begin_receiving(Seq::new(1_000));
        s.next_sent();
        assert_eq!(s.swl(), Seq::new(1_000));
        assert_eq!(s.awl(), Seq::new(5));
        s.accept(PacketType::Data, Seq::new(1_010), None, false);
        assert_eq!(s.swl(), Seq::new(1_000));
        // Three quarters round the circle they would seem to lie ahead of the windows.
        for quarter in 1..=3u64 {
            s.accept(
                PacketType::Data,
                Seq::new(1_000).add(quarter << 46),
                None,
                false,
            );
            s.gss = Seq::new(5).add(quarter << 46);
            s.next_sent();
        }
        assert!(s.isr.is_after(s.gsr) && s.iss.is_after(s.gss));
        assert_eq!(s.swl(), s.gsr.next().sub(25));
        assert_eq!(s.awl(), s.gss.next().sub(100));
    }
}
