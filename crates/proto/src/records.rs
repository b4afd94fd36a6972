//! The memory in which records are sealed and opened.
//!
//! A record is made in memory that is used again, and leaves it as [`Bytes`] without a copy. The memory is free again
//! once the packets that carried its records have left, and the application has dropped the data that it read. While
//! others hold all of it, a record has memory of its own. So an endpoint has a bounded amount, and data that nobody
//! reads holds no more of it.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

/// The size of the first shared buffer, in bytes, and the longest record in one. Each buffer has twice the size of the
/// one before, up to the largest size: an endpoint with little to do needs the first one only.
const SMALLEST: usize = 2 << 10;
const LARGEST: usize = 64 << 10;

/// The most shared buffers of an endpoint: 510 KiB.
const MOST: usize = 12;

/// The memory for the records of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Buffers whose parts are handed out. Each is used again from its start once nobody holds a part of it.
    shared: Vec<BytesMut>,
    /// The shared buffer in use.
    at: usize,
    /// The memory of the last record for which no shared buffer had room.
    own: BytesMut,
    /// Whether the last record is in a shared buffer.
    is_shared: bool,
}

impl Records {
    /// Returns an empty buffer with room for `len` bytes. What is written there and not [taken](Self::take) is forgotten.
    #[inline]
    pub(crate) fn room(&mut self, len: usize) -> &mut BytesMut {
        self.is_shared = len <= SMALLEST && self.find(len);
        if self.is_shared {
            return &mut self.shared[self.at];
        }
        // No larger than it has to be, because whoever gets a part of it holds all of it.
        self.own = BytesMut::with_capacity(len);
        &mut self.own
    }

    /// Looks for a shared buffer, beginning with the one in use, and empties it. Returns whether there is one.
    #[inline]
    fn find(&mut self, len: usize) -> bool {
        let count = self.shared.len();
        for _ in 0..count {
            let buffer = &mut self.shared[self.at];
            buffer.clear();
            if buffer.try_reclaim(len) {
                return true;
            }
            self.at = (self.at + 1) % count;
        }
        if count == MOST {
            return false;
        }
        let size = (SMALLEST << count).min(LARGEST);
        self.shared.push(BytesMut::with_capacity(size));
        self.at = count;
        true
    }

    /// Hands out a part of what was written to the buffer. A range beyond it is a bug of the caller, and panics.
    #[inline]
    pub(crate) fn take(&mut self, part: Range<usize>) -> Bytes {
        let mut taken = if self.is_shared {
            self.shared[self.at].split()
        } else {
            std::mem::take(&mut self.own)
        };
        // A record may be filled up with zeros, which must not be held.
        if !self.is_shared && part.len() < taken.len() / 2 {
            return Bytes::copy_from_slice(&taken[part]);
        }
        taken.truncate(part.end);
        taken.advance(part.start);
        taken.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Records, SMALLEST};
    use bytes::Bytes;

    fn record(records: &mut Records, len: usize, number: u8) -> Bytes {
        let room = records.room(len);
        assert!(room.is_empty());
        room.resize(len, number);
        records.take(1..len - 1)
    }

    /// A record whose bytes nobody holds any more leaves its memory to the next ones, whatever lies between them.
    #[test]
    fn memory_is_used_again() {
        let mut records = Records::default();
        for number in 0..200 {
            records.room(1_222).resize(1_222, 0xff); // An unreadable one: it is not taken.
            assert_eq!(record(&mut records, 1_222, number), vec![number; 1_220]);
        }
        assert_eq!(records.shared.len(), 1);
        let mut held = Bytes::new();
        for number in 0..200 {
            let next = record(&mut records, 1_222, number);
            assert!(held.iter().all(|byte| *byte == number.wrapping_sub(1)));
            held = next;
        }
        assert_eq!(records.shared.len(), 2);
    }

    /// Bytes that are held stay as they are. When all shared buffers are held, a record has its own memory.
    #[test]
    fn held_bytes_bound_the_memory() {
        let mut records = Records::default();
        let numbers = 0..=u8::MAX;
        let held = numbers
            .clone()
            .map(|number| record(&mut records, 2_000, number));
        let held: Vec<Bytes> = held.collect();
        for (number, bytes) in numbers.zip(&held) {
            assert_eq!(bytes, &vec![number; 1_998]);
        }
        assert!(!records.is_shared);
        assert_eq!(records.shared.len(), MOST);
        drop(held);
        record(&mut records, 1_000, 0);
        assert!(records.is_shared);
    }

    /// A record that is longer than most has its own memory, which is never more than twice as large as what is held of
    /// it, whatever was there before.
    #[test]
    fn own_memory_is_as_large_as_what_is_held() {
        let mut records = Records::default();
        let held = |taken: Bytes| taken.try_into_mut().expect("nobody else").capacity();
        records.room(60_000).resize(60_000, 1); // Not taken.
        for len in [SMALLEST + 1, 10_000, 65_535] {
            records.room(len).resize(len, 2);
            assert_eq!(held(records.take(0..len)), len);
            for end in [len / 2 + 1, len / 3, 2] {
                records.room(len).resize(len, 2);
                let taken = records.take(1..end);
                assert_eq!(taken, vec![2; end - 1]);
                assert!(held(taken) <= 2 * end, "{len}, {end}");
            }
        }
        assert_eq!(records.own.capacity(), 0);
        assert!(records.shared.is_empty());
    }
}
