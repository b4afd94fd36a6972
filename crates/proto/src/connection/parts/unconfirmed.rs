//! A server's record of whether its client has left PARTOPEN (RFC 4340, section 8.1.5).

use fairwire_wire::Seq;

/// Number of Syncs that are remembered: those of one second, if packets with invalid numbers keep arriving.
const SYNCS: usize = 8;

/// A client that may still be in PARTOPEN: it has not acknowledged any packet that would have ended that state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unconfirmed {
    /// The first number sent in OPEN, or the one after a Sync that was forgotten.
    from: Seq,
    /// The newest Syncs since then, oldest first; numbers before `from` are placeholders.
    syncs: [Seq; SYNCS],
}

impl Unconfirmed {
    /// Returns the record of a client to which the first packet in OPEN has number `from`.
    pub(crate) fn new(from: Seq) -> Self {
        Self {
            from,
            syncs: [from.prev(); SYNCS],
        }
    }

    /// Records a Sync that leaves. It does not end PARTOPEN, so a client that acknowledges it may still be in that
    /// state.
    pub(crate) fn on_sync(&mut self, seq: Seq) {
        // Older packets may have been Syncs, too, so their acknowledgement proves nothing.
        self.from = Seq::max(self.from, self.syncs[0].next());
        self.syncs.rotate_left(1);
        self.syncs[SYNCS - 1] = seq;
    }

    /// Returns whether a client that acknowledges `ack` knows that the connection is open.
    pub(crate) fn is_over(&self, ack: Seq) -> bool {
        !ack.is_before(self.from) && !self.syncs.contains(&ack)
    }
}

#[cfg(test)]
mod tests {
    use super::{SYNCS, Seq, Unconfirmed};

    /// RFC 4340, 8.1.5: any packet in OPEN that is not a Sync ends PARTOPEN, before and after a Sync. No Sync does,
    /// however many follow, and also where numbers wrap.
    #[test]
    fn all_but_syncs_confirm() {
        for first in [1_000, (1 << 48) - 7] {
            let first = Seq::new(first);
            let mut client = Unconfirmed::new(first);
            assert!(!client.is_over(first.prev()), "the Response");
            assert!(client.is_over(first));
            // Every third packet is a Sync.
            let sync = |n: usize| first.add(3 * n as u64 + 1);
            for n in 0..4 * SYNCS {
                client.on_sync(sync(n));
                assert!((0..=n).all(|n| !client.is_over(sync(n))));
                assert!(client.is_over(sync(n).next()));
                let newest = n.saturating_sub(SYNCS - 1)..=n;
                assert!(newest.map(sync).all(|seq| client.is_over(seq.next())));
            }
            assert!(!client.is_over(first), "too long ago to know");
        }
    }
}
