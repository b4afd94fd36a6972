//! Frames of a flow with packets or bytes that are missing.
//!
//! The packets of a frame are offered at one moment, which identifies the frame at the receiver. Over a stream a frame
//! is a range of bytes.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

use super::pending::{Times, is_open};

/// A frame of which something is missing.
#[derive(Clone, Copy, Debug)]
struct Frame {
    offered_at: Instant,
    /// The packets that have not arrived.
    packets: u32,
    /// Over a stream: the end of the frame, in bytes from the stream's beginning.
    end: u64,
}

/// The frames of one direction, in the order of their offers.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    open: VecDeque<Frame>,
    written: u64,
    read: u64,
}

impl Frames {
    /// Adds a packet that was offered; returns whether a frame begins with it.
    pub fn offered(&mut self, now: Instant) -> bool {
        self.add(now).1
    }

    /// Adds `bytes` bytes of a stream that were offered; returns whether a frame begins with them.
    pub fn written(&mut self, now: Instant, bytes: u64) -> bool {
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

    /// Removes a packet that arrived from the frame offered at `offered_at`; returns whether that frame is now whole.
    pub fn received(&mut self, offered_at: Instant) -> bool {
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

    /// Counts `bytes` more bytes of a stream as received.
    pub fn read(&mut self, bytes: u64) {
        self.read += bytes;
    }

    /// Returns the offer time of the next frame whose last byte has arrived. Each frame is returned once.
    pub fn next_whole(&mut self) -> Option<Instant> {
        let frame = self.open.front().filter(|frame| frame.end <= self.read)?;
        let offered_at = frame.offered_at;
        self.open.pop_front();
        Some(offered_at)
    }

    /// Returns the offer times of the frames that may still become whole within `limit` after `end`: frames of a
    /// stream, and those of which all missing packets are among the `open` ones.
    pub fn open(&self, end: Instant, limit: Option<Duration>, open: &Times) -> Vec<Instant> {
        let may_arrive = |frame: &&Frame| {
            let is_stream = frame.end > 0;
            let packets = open.get(&frame.offered_at).copied().unwrap_or(0);
            is_open(frame.offered_at, end, limit) && (is_stream || packets >= frame.packets)
        };
        let frames = self.open.iter().filter(may_arrive);
        frames.map(|frame| frame.offered_at).collect()
    }
}
