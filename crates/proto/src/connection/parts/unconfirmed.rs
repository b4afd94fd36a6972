//! What a server knows of whether its client has left PARTOPEN (RFC 4340, section 8.1.5).

use fairwire_wire::Seq;

/// How many Syncs are remembered: those of a second, if packets with invalid numbers keep coming.
const SYNCS: usize = 8;

/// A client that may still be in PARTOPEN: it has acknowledged nothing that would have ended that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unconfirmed {
    /// The first number sent in OPEN, or one behind a Sync that is forgotten.
    from: Seq,
    /// The newest Syncs since, oldest first; numbers before `from` stand for none.
    syncs: [Seq; SYNCS],
}

impl Unconfirmed {
    /// The first packet of OPEN has number `from`.
    pub(crate) fn new(from: Seq) -> Self {
        Self {
            from,
            syncs: [from.prev(); SYNCS],
        }
    }

    /// A Sync leaves. It does not end PARTOPEN, so who acknowledges it may still be there.
    pub(crate) fn on_sync(&mut self, seq: Seq) {
        // Of what is older than the Syncs remembered nobody knows what it was.
        self.from = Seq::max(self.from, self.syncs[0].next());
        self.syncs.rotate_left(1);
        self.syncs[SYNCS - 1] = seq;
    }

    /// Does who acknowledges `ack` know that the connection is open?
    pub(crate) fn is_over(&self, ack: Seq) -> bool {
        !ack.is_before(self.from) && !self.syncs.contains(&ack)
    }
}

#[cfg(test)]
mod tests {
    use super::{SYNCS, Seq, Unconfirmed};

    /// RFC 4340, 8.1.5: any packet of OPEN that is no Sync ends PARTOPEN, before and after a Sync. No
    /// Sync does, however many follow, and also where numbers wrap.
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
