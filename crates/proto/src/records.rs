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
    /// The memory of a record for which no shared buffer has room.
    own: BytesMut,
    /// Whether the last record is in a shared buffer.
    is_shared: bool,
}

impl Records {
    /// Returns an empty buffer with room for `len` bytes. What is written there and not [taken](Self::take) is forgotten.
    #[inline]
    pub(crate) fn room(&mut self, len: usize) -> &mut BytesMut {
        self.is_shared = len <= SMALLEST && self.find(len);
        let room = if self.is_shared {
            &mut self.shared[self.at]
        } else {
            &mut self.own
        };
        room.clear();
        room.reserve(len);
        room
    }

    /// Looks for a shared buffer: the one in use, or else the first one that is free, so that those in use are few and
    /// stay in the processor's caches. Returns whether there is one.
    #[inline]
    fn find(&mut self, len: usize) -> bool {
        let current = self.shared.get_mut(self.at);
        if current.is_some_and(|current| current.try_reclaim(len)) {
            return true;
        }
        let mut all = self.shared.iter_mut();
        let free = all.position(|buffer| buffer.try_reclaim(len));
        let count = self.shared.len();
        if free.is_none() && count < MOST {
            let size = (SMALLEST << count).min(LARGEST);
            self.shared.push(BytesMut::with_capacity(size));
            self.at = count;
            return true;
        }
        self.at = free.unwrap_or(0);
        free.is_some()
    }

    /// Hands out a part of what was written to the buffer. A range beyond it is a bug of the caller, and panics.
    #[inline]
    pub(crate) fn take(&mut self, part: Range<usize>) -> Bytes {
        let mut taken = if self.is_shared {
            self.shared[self.at].split()
        } else if part.len() == self.own.len() {
            std::mem::take(&mut self.own)
        } else {
            // A copy, which has the memory of its bytes only.
            let bytes = Bytes::copy_from_slice(&self.own[part]);
            if self.own.capacity() > LARGEST {
                self.own = BytesMut::new();
            }
            return bytes;
        };
        taken.truncate(part.end);
        taken.advance(part.start);
        taken.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, MOST, Records, SMALLEST};
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
        let mut held = Bytes::new();
        for number in 0..200 {
            records.room(100).resize(100, 0xff); // An unreadable one: it is not taken.
            let next = record(&mut records, 1_222, number);
            assert_eq!(next, vec![number; 1_220]);
            held = next;
        }
        assert_eq!(held[0], 199);
        assert!(records.shared.len() <= 2, "{}", records.shared.len());
    }

    /// Bytes that are held stay as they are, and when all shared buffers are held, a record has its own memory, which is
    /// that of its bytes.
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

    /// A record that is longer than most has its own memory, of which nothing stays.
    #[test]
    fn long_records_have_their_own_memory() {
        let mut records = Records::default();
        assert_eq!(record(&mut records, 2 * LARGEST, 1).len(), 2 * LARGEST - 2);
        assert_eq!(records.own.capacity(), 0);
        let room = records.room(SMALLEST + 1);
        room.resize(SMALLEST + 1, 2);
        assert_eq!(records.take(0..SMALLEST + 1), vec![2; SMALLEST + 1]);
        assert!(records.shared.is_empty());
    }
}
