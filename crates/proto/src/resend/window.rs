//! Which datagrams were delivered, so that one that was sent several times is delivered once.

use std::collections::VecDeque;

use fairwire_wire::Seq;

use crate::ring::{WORD, clear, place};

/// How far behind the newest number a datagram is still known. At 10,000 packets a second it is 1.6 seconds.
const SPAN: u64 = 16_384;

/// The number of delivered copies whose own packets are remembered.
const COPIES: usize = 256;

const WORDS: usize = (SPAN / WORD) as usize;

/// Whether a datagram was delivered before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Novelty {
    /// It was not.
    New,
    /// It was.
    Delivered,
    /// It is too old to tell.
    TooOld,
}

/// The datagrams that were delivered, by number: one bit for each of the last [`Self::SPAN`] numbers.
///
/// Numbers are 48 bits wide and are compared on the circle. Memory is constant, and so is the work of each call.
#[derive(Debug, Default)]
pub(crate) struct Window(Box<Delivered>);

#[derive(Debug)]
struct Delivered {
    /// The greatest number delivered.
    newest: Option<Seq>,
    bits: [u64; WORDS],
    /// The packets of the newest copies that were delivered, and the numbers of their datagrams.
    copies: VecDeque<(Seq, Seq)>,
}

impl Default for Delivered {
    fn default() -> Self {
        Self {
            newest: None,
            bits: [0; WORDS],
            copies: VecDeque::new(),
        }
    }
}

impl Window {
    /// How far behind the newest number a datagram is still known.
    pub(crate) const SPAN: u64 = SPAN;

    /// Returns whether the datagram with this number was delivered.
    pub(crate) fn check(&self, number: Seq) -> Novelty {
        let Some(newest) = self.0.newest.filter(|newest| !number.is_after(*newest)) else {
            return Novelty::New;
        };
        if number.distance(newest) >= SPAN {
            return Novelty::TooOld;
        }
        let (word, bit) = place(number, SPAN);
        if self.0.bits[word] & bit == 0 {
            Novelty::New
        } else {
            Novelty::Delivered
        }
    }

    /// Notes that the datagram with this number was delivered. A number that is too old has no effect.
    pub(crate) fn deliver(&mut self, number: Seq) {
        let newest = *self.0.newest.get_or_insert(number.prev());
        if number.is_after(newest) {
            clear(&mut self.0.bits, newest, number);
            self.0.newest = Some(number);
        } else if number.distance(newest) >= SPAN {
            return;
        }
        let (word, bit) = place(number, SPAN);
        self.0.bits[word] |= bit;
    }

    /// Notes that the datagram with this number was delivered by a copy of it in `packet`.
    pub(crate) fn deliver_copy(&mut self, packet: Seq, number: Seq) {
        self.deliver(number);
        let copies = &mut self.0.copies;
        if copies.len() == COPIES {
            copies.pop_front();
        }
        copies.push_back((packet, number));
    }

    /// Notes that the datagram that was delivered by `packet` was dropped after all, so that a copy of it is of use.
    pub(crate) fn take_back_packet(&mut self, packet: Seq) {
        let mut copies = self.0.copies.iter();
        let copy = copies.find(|(by, _)| *by == packet);
        self.take_back(copy.map_or(packet, |(_, number)| *number));
    }

    /// Notes that the datagram with this number was dropped after all, so that a copy of it is of use.
    fn take_back(&mut self, number: Seq) {
        if self.check(number) == Novelty::Delivered {
            let (word, bit) = place(number, SPAN);
            self.0.bits[word] &= !bit;
        }
    }

    /// Goes back to `number` as the greatest one that the peer has used, because greater ones were forged. Where the
    /// window no longer reaches back to `number`, it starts again there, and everything older counts as delivered.
    pub(crate) fn roll_back(&mut self, number: Seq) {
        let newest = self.0.newest.unwrap_or(number);
        if newest.is_after(number) && number.distance(newest) >= SPAN {
            self.0.newest = Some(number.prev());
            self.0.bits = [u64::MAX; WORDS];
        }
    }

    /// Returns its memory beside itself, bytes.
    pub(crate) fn footprint(&self) -> usize {
        size_of_val(&*self.0) + self.0.copies.capacity() * size_of::<(Seq, Seq)>()
    }
}

#[cfg(test)]
mod tests {
    use super::{Novelty, SPAN, Seq, WORDS, Window};
    use crate::work;

    /// A datagram is new until it was delivered, near and far, before and after the wrap, and too old behind the
    /// window.
    #[test]
    fn delivered_once() {
        for base in [5_000, (1 << 48) - 3] {
            let at = |n| Seq::new(base).add(n);
            let mut window = Window::default();
            for n in [0, 1, 7, 3] {
                assert_eq!(window.check(at(n)), Novelty::New, "{n}");
                window.deliver(at(n));
                assert_eq!(window.check(at(n)), Novelty::Delivered, "{n}");
            }
            assert_eq!(window.check(at(2)), Novelty::New);
            window.deliver(at(SPAN));
            assert_eq!(window.check(at(0)), Novelty::TooOld);
            assert_eq!(window.check(at(1)), Novelty::Delivered);
            assert_eq!(window.check(at(2)), Novelty::New);
            window.deliver(at(0));
            assert_eq!(window.check(at(SPAN)), Novelty::Delivered);
            window.take_back(at(1));
            assert_eq!(window.check(at(1)), Novelty::New);
        }
    }

    /// No number of a hostile peer costs more than one step for each word.
    #[test]
    fn a_jump_takes_bounded_work() {
        let mut window = Window::default();
        window.deliver(Seq::new(1));
        for jump in [1, SPAN - 1, SPAN, 1 << 46] {
            work::within(WORDS as u64 + 1, || window.deliver(Seq::new(1).add(jump)));
        }
    }

    /// After numbers far ahead were forged, the peer's own are new again.
    #[test]
    fn forged_numbers_are_forgotten() {
        let mut window = Window::default();
        window.deliver(Seq::new(10));
        window.deliver(Seq::new(10 + 3 * SPAN));
        assert_eq!(window.check(Seq::new(11)), Novelty::TooOld);
        window.roll_back(Seq::new(11));
        assert_eq!(window.check(Seq::new(11)), Novelty::New);
        assert_eq!(window.check(Seq::new(10)), Novelty::Delivered);
    }

    /// A datagram that was delivered by a copy and then dropped is new again, and others are not.
    #[test]
    fn a_dropped_copy_is_new_again() {
        let at = Seq::new;
        let mut window = Window::default();
        window.deliver(at(1));
        window.deliver(at(3));
        window.deliver_copy(at(4), at(2));
        window.take_back_packet(at(4));
        assert_eq!(window.check(at(2)), Novelty::New);
        window.take_back_packet(at(3));
        assert_eq!(window.check(at(3)), Novelty::New);
        assert_eq!(window.check(at(1)), Novelty::Delivered);
    }
}
