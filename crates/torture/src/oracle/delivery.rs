//! Whether the datagram of a packet was delivered, and whether it may be delivered again.

use fairwire_wire::Seq;

/// The distance behind the newest number within which copies and late packets are recognised, or slightly more.
pub(crate) const REMEMBERED: u64 = 1_000;

/// What was delivered of the packets with one number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    is_over: bool,
    is_forged: bool,
    is_forgotten: bool,
}

impl Delivery {
    /// Records a delivery. Returns whether it may be: it is the first, or the one before was of a forged packet and the
    /// endpoint has forgotten it.
    pub fn take(&mut self) -> bool {
        let may = !self.is_over || (self.is_forged && self.is_forgotten);
        self.is_forgotten &= !self.is_over;
        self.is_over = true;
        may
    }

    /// Records whether the packet that was delivered was forged.
    pub fn set_forged(&mut self, is_forged: bool) {
        self.is_forged = is_forged;
    }

    /// Records for the number `seq` that GSR went back, which means that it was forged.
    ///
    /// The peer has shown that it never sent the numbers beyond the new GSR (`sequence::Verdict::Recede`), so its own
    /// packets with these numbers are yet to come. If the forged GSR was too far ahead for copies to be recognised
    /// behind it, the endpoint has forgotten everything that came with these numbers. This excuses repeated delivery
    /// only for forged packets, not for those of the peer.
    pub fn recede(&mut self, seq: Seq, from: Seq, to: Seq) {
        let is_far = to.is_before(from) && to.distance(from) >= REMEMBERED;
        self.is_forgotten |= is_far && seq.in_window(to.next(), from);
    }
}
