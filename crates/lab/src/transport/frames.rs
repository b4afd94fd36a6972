//! Frames of a flow that wait for the rest of their packets, or of their bytes.
//!
//! The packets of a frame are offered at one moment, by which they are known where they come in. Over a stream a frame
//! is a stretch of bytes.

use std::collections::VecDeque;

use fairwire_units::Instant;

/// A frame of which something is missing.
#[derive(Clone, Copy, Debug)]
struct Frame {
    offered_at: Instant,
    /// Packets that have not come.
    packets: u32,
    /// Over a stream: the bytes before its end, from the stream's beginning.
    end: u64,
}

/// The frames of one direction, in the order of their offers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    open: VecDeque<Frame>,
    written: u64,
    read: u64,
}

impl Frames {
    /// A packet was offered; true if a frame begins with it.
    pub(crate) fn offered(&mut self, now: Instant) -> bool {
        self.add(now).1
    }

    /// `bytes` bytes of a stream were offered; true if a frame begins with them.
    pub(crate) fn written(&mut self, now: Instant, bytes: u64) -> bool {
        self.written += bytes;
        let end = self.written;
        let (frame, is_new) = self.add(now);
        frame.end = end;
        is_new
    }

    fn add(&mut self, now: Instant) -> (&mut Frame, bool) {
        let is_new = self.open.back().is_none_or(|last| last.offered_at != now);
        if is_new {
            self.open.push_back(Frame {
                offered_at: now,
                packets: 0,
                end: 0,
            });
        }
        let last = self.open.len() - 1;
        let frame = &mut self.open[last];
        frame.packets += 1;
        (frame, is_new)
    }

    /// A packet came that was offered at `offered_at`; true if its frame is whole now.
    pub(crate) fn received(&mut self, offered_at: Instant) -> bool {
        let found = self
            .open
            .binary_search_by_key(&offered_at, |frame| frame.offered_at);
        let Ok(place) = found else {
            return false;
        };
        let frame = &mut self.open[place];
        frame.packets -= 1;
        let is_whole = frame.packets == 0;
        if is_whole {
            self.open.remove(place);
        }
        is_whole
    }

    /// `bytes` more bytes of a stream came.
    pub(crate) fn read(&mut self, bytes: u64) {
        self.read += bytes;
    }

    /// The moment at which the next frame was offered whose last byte has come; each is told once.
    pub(crate) fn whole_by_now(&mut self) -> Option<Instant> {
        let frame = self.open.front().filter(|frame| frame.end <= self.read)?;
        let offered_at = frame.offered_at;
        self.open.pop_front();
        Some(offered_at)
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::Frames;

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// A frame is whole when its last packet has come, in any order; one that lacks a packet never is, and
    /// does not keep others from being whole.
    #[test]
    fn frames_are_whole_with_their_last_packet() {
        let mut frames = Frames::default();
        assert!(frames.offered(ms(0)));
        assert!(!frames.offered(ms(0)));
        assert!(frames.offered(ms(40)));
        assert!(!frames.offered(ms(40)));
        assert!(frames.offered(ms(80)));
        assert!(!frames.received(ms(0)));
        assert!(!frames.received(ms(40)));
        assert!(frames.received(ms(80)));
        assert!(frames.received(ms(40)));
        assert!(!frames.received(ms(40)), "a copy of what has come");
        assert!(frames.received(ms(0)));
    }

    /// Over a stream frames are whole in order, several at once if their bytes come at once.
    #[test]
    fn frames_of_a_stream_are_whole_with_their_last_byte() {
        let mut frames = Frames::default();
        assert!(frames.written(ms(0), 100));
        assert!(!frames.written(ms(0), 50));
        assert!(frames.written(ms(40), 30));
        assert!(frames.written(ms(80), 30));
        frames.read(149);
        assert_eq!(frames.whole_by_now(), None);
        frames.read(31);
        assert_eq!(frames.whole_by_now(), Some(ms(0)));
        assert_eq!(frames.whole_by_now(), Some(ms(40)));
        assert_eq!(frames.whole_by_now(), None);
    }
}
