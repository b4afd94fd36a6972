//! Drop Codes by packet: a bounded memory that either side of Data Dropped needs.

use fairwire_wire::{DropCode, Seq};

/// How far behind the newest packet a code is remembered. Reports about older packets come too
/// late to have an effect (RFC 4340, section 11.7.2).
const PLACES: usize = 4_096;

const REMEMBERED: u64 = PLACES as u64;

/// The codes of the last packets. Takes no memory before the first code.
#[derive(Debug, Default)]
pub(super) struct Codes {
    /// The code plus one for each number, by number; zero is no code.
    ring: Option<Box<[u8; PLACES]>>,
    /// The greatest number that the ring knows of.
    newest: Seq,
}

impl Codes {
    /// The code of packet `seq`.
    pub(super) fn get(&self, seq: Seq) -> Option<DropCode> {
        let ring = self.ring.as_ref().filter(|_| self.is_remembered(seq))?;
        ring[place(seq)].checked_sub(1).map(DropCode::from_number)
    }

    /// Sets the code of packet `seq`; false if that is too long ago.
    pub(super) fn set(&mut self, seq: Seq, code: DropCode) -> bool {
        if self.ring.is_none() {
            self.ring = Some(Box::new([0; PLACES]));
            self.newest = seq;
        }
        self.advance(seq);
        let remembered = self.is_remembered(seq);
        if let Some(ring) = self.ring.as_mut().filter(|_| remembered) {
            ring[place(seq)] = code.number() + 1;
        }
        remembered
    }

    /// Packet `seq` exists: what is too far behind it is forgotten.
    pub(super) fn advance(&mut self, seq: Seq) {
        let Some(ring) = &mut self.ring else {
            return;
        };
        if !seq.is_after(self.newest) {
            return;
        }
        let steps = self.newest.distance(seq);
        if steps >= REMEMBERED {
            ring.fill(0);
        } else {
            for step in 1..=steps {
                ring[place(self.newest.add(step))] = 0;
            }
        }
        self.newest = seq;
    }

    /// The oldest packet from `from` on that has a code.
    pub(super) fn oldest_from(&self, from: Seq) -> Option<Seq> {
        self.ring.as_ref()?;
        let bound = self.newest.sub(REMEMBERED - 1);
        let mut seq = Seq::max(from, bound);
        while !seq.is_after(self.newest) {
            if self.get(seq).is_some() {
                return Some(seq);
            }
            seq = seq.next();
        }
        None
    }

    fn is_remembered(&self, seq: Seq) -> bool {
        !seq.is_after(self.newest) && seq.distance(self.newest) < REMEMBERED
    }
}

fn place(seq: Seq) -> usize {
    // Below 4,096: no platform's `usize` is smaller.
    (seq.get() % REMEMBERED) as usize
}

#[cfg(test)]
mod tests {
    use super::{Codes, DropCode, REMEMBERED, Seq};

    /// A code is found until its packet is too far behind, before and behind the wrap; a number
    /// that comes round again has none.
    #[test]
    fn codes_are_remembered_for_a_while() {
        for base in [7, (1 << 48) - 5] {
            let at = |n| Seq::new(base).add(n);
            let mut codes = Codes::default();
            assert_eq!(codes.get(at(0)), None);
            assert!(codes.set(at(10), DropCode::Corrupt));
            assert!(codes.set(at(3), DropCode::ProtocolConstraints));
            assert_eq!(codes.get(at(10)), Some(DropCode::Corrupt));
            assert_eq!(codes.get(at(3)), Some(DropCode::ProtocolConstraints));
            assert_eq!(codes.get(at(4)), None);
            assert_eq!(codes.oldest_from(at(0)), Some(at(3)));
            assert_eq!(codes.oldest_from(at(4)), Some(at(10)));
            assert_eq!(codes.oldest_from(at(11)), None);
            codes.advance(at(REMEMBERED + 2));
            assert_eq!(codes.get(at(3)), Some(DropCode::ProtocolConstraints));
            codes.advance(at(REMEMBERED + 3));
            assert_eq!(codes.get(at(3)), None);
            assert_eq!(codes.get(at(REMEMBERED + 3)), None, "the same place");
            assert!(!codes.set(at(3), DropCode::Corrupt), "too long ago");
            codes.advance(at(9 * REMEMBERED));
            assert_eq!(codes.get(at(10 + 8 * REMEMBERED)), None);
            assert_eq!(codes.oldest_from(at(0)), None);
        }
    }
}
