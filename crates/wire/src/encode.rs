//! The encoder of heads.

use std::fmt;

use crate::checksum::{self, PseudoHeader, Sum};
use crate::header::{MAX_HEAD, MIN_HEADER, Ports, at};
use crate::option::option_type as ty;
use crate::option::{
    AckEntry, DccpOption, DropBlock, DropCounts, LossInterval, LossIntervals, MAX_OPTION_DATA,
    RTT_TOO_LARGE,
};
use crate::{Kind, SeqNo};

/// The largest NDP Count, which has six bytes (RFC 4340, section 7.7).
const MAX_NDP_COUNT: u64 = (1 << 48) - 1;

/// A reusable buffer for one head.
#[derive(Clone)]
pub struct HeadBuf {
    bytes: [u8; MAX_HEAD],
    len: usize,
}

impl HeadBuf {
    /// Creates an empty buffer.
    pub const fn new() -> Self {
        Self {
            bytes: [0; MAX_HEAD],
            len: 0,
        }
    }

    /// Returns the head that was finished last. It is empty while a head is being written.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the length of that head in bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no finished head.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for HeadBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl AsRef<[u8]> for HeadBuf {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for HeadBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeadBuf").field(&self.as_slice()).finish()
    }
}

/// The error of an option that does not fit. Nothing of it was written.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("an option of {needed} bytes does not fit into {room}")]
pub struct NoRoom {
    /// Bytes that the option needs. For an option too long for any head: its data and two more bytes.
    pub needed: usize,
    /// Bytes available.
    pub room: usize,
}

/// A position in a head to return to; see [`Encoder::mark`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mark(usize);

/// A writer of one head: first the fixed part, then option by option, then [`Encoder::finish`].
///
/// If an encoder is dropped before it is finished, its buffer is left empty.
#[derive(Debug)]
pub struct Encoder<'a> {
    buf: &'a mut HeadBuf,
    /// Bytes written, at most `limit`.
    at: usize,
    /// The offset at which the options must end, a multiple of four.
    limit: usize,
    /// The offset at which the options begin.
    options_at: usize,
}

impl<'a> Encoder<'a> {
    /// Starts a head.
    ///
    /// Sequence numbers have 24 bits if `seq` is [`SeqNo::Short`]. `ccval` and `cscov` have four bits each.
    ///
    /// # Panics
    /// If `seq` is short on a type that forbids it, or if `seq` is long and the Acknowledgement Number short. A sender
    /// always knows its own full numbers.
    #[inline]
    pub fn new(
        buf: &'a mut HeadBuf,
        ports: Ports,
        seq: SeqNo,
        kind: &Kind,
        ccval: u8,
        cscov: u8,
    ) -> Self {
        let packet_type = kind.packet_type();
        let short = seq.is_short();
        // RFC 4340, 5.1, 5.2, 5.3, 5.5, 5.6 and 5.7: only Data, Ack and DataAck may set X to zero.
        assert!(
            !short || packet_type.may_be_short(),
            "a {packet_type} has 48-bit sequence numbers"
        );
        buf.len = 0;
        let bytes = &mut buf.bytes;
        bytes[0..2].copy_from_slice(&ports.source.to_be_bytes());
        bytes[2..4].copy_from_slice(&ports.destination.to_be_bytes());
        bytes[at::DATA_OFFSET] = 0;
        bytes[at::CCVAL_CSCOV] = ccval << 4 | (cscov & 0x0F);
        bytes[at::CHECKSUM..at::TYPE].fill(0);
        // RFC 4340, 3.1 and 5.1: the reserved bits are sent as zero.
        bytes[at::TYPE] = packet_type.number() << 1 | u8::from(!short);
        let mut end = match seq {
            SeqNo::Short(_) => {
                put_u24(&mut bytes[at::SHORT_SEQ..], seq.short());
                MIN_HEADER
            }
            SeqNo::Long(seq) => {
                bytes[at::LONG_SEQ - 1] = 0;
                put_u48(&mut bytes[at::LONG_SEQ..], seq.get());
                MIN_HEADER + 4
            }
        };
        if let Some(ack) = kind.ack() {
            end += put_ack(&mut bytes[end..], ack, short);
        }
        if let Some(service) = kind.service() {
            bytes[end..end + 4].copy_from_slice(&service.0.to_be_bytes());
            end += 4;
        } else if let Kind::Reset { code, data, .. } = *kind {
            bytes[end] = code.number();
            bytes[end + 1..end + 4].copy_from_slice(&data);
            end += 4;
        }
        Self {
            buf,
            at: end,
            limit: MAX_HEAD,
            options_at: end,
        }
    }

    /// Limits the head to `head_len` bytes, so that a payload still fits behind it.
    ///
    /// The limit is never below what is already written.
    pub fn limit(mut self, head_len: usize) -> Self {
        let written = self.at.next_multiple_of(4);
        self.limit = (head_len.min(MAX_HEAD) & !3).max(written);
        self
    }

    /// Returns the bytes left for options.
    #[inline]
    pub const fn room(&self) -> usize {
        self.limit - self.at
    }

    /// Returns the length in bytes that the head would have if it were finished now, padding included.
    #[inline]
    pub const fn padded_len(&self) -> usize {
        self.at.next_multiple_of(4)
    }

    /// Returns the bytes of options written so far.
    pub const fn options_len(&self) -> usize {
        self.at - self.options_at
    }

    /// Returns the current position, for [`Encoder::truncate`].
    pub const fn mark(&self) -> Mark {
        Mark(self.at)
    }

    /// Removes every option written since `mark`.
    pub fn truncate(&mut self, mark: Mark) {
        self.at = mark.0.clamp(self.options_at, self.at);
    }

    /// Writes an option in its smallest form.
    ///
    /// Numbers too large for their field are replaced by the largest that fits.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was written.
    #[inline]
    pub fn option(&mut self, option: &DccpOption<'_>) -> Result<(), NoRoom> {
        let option_type = option.option_type();
        match *option {
            DccpOption::Padding | DccpOption::Mandatory | DccpOption::SlowReceiver => {
                self.put(option_type, &[], &[])
            }
            DccpOption::ChangeL { feature, value }
            | DccpOption::ConfirmL { feature, value }
            | DccpOption::ChangeR { feature, value }
            | DccpOption::ConfirmR { feature, value } => self.put(option_type, &[feature], value),
            DccpOption::InitCookie(data)
            | DccpOption::CloseCode(data)
            | DccpOption::Unknown { data, .. } => self.put(option_type, &[], data),
            DccpOption::NdpCount(count) => {
                let bytes = count.min(MAX_NDP_COUNT).to_be_bytes();
                self.put(option_type, &[], significant(&bytes))
            }
            DccpOption::AckVector { entries, .. } => self.put(option_type, &[], entries.0),
            DccpOption::DataDropped(blocks) => self.put(option_type, &[], blocks.0),
            DccpOption::TimestampEcho { timestamp, elapsed } => {
                let bytes = elapsed.unwrap_or(0).to_be_bytes();
                let elapsed = elapsed.map_or(&[][..], |_| elapsed_form(&bytes));
                self.put(option_type, &timestamp.to_be_bytes(), elapsed)
            }
            DccpOption::ElapsedTime(elapsed) => {
                self.put(option_type, &[], elapsed_form(&elapsed.to_be_bytes()))
            }
            DccpOption::CopyOf(seq) => self.put(option_type, &[], &seq.get().to_be_bytes()[2..]),
            DccpOption::PartOf {
                message,
                index,
                last,
            } => self.put(option_type, &message.to_be_bytes(), &[index, last]),
            DccpOption::RttEstimate(us) => {
                let bytes = us.min(RTT_TOO_LARGE).to_be_bytes();
                self.put(option_type, &[], significant(&bytes))
            }
            DccpOption::Timestamp(word)
            | DccpOption::DataChecksum(word)
            | DccpOption::LossEventRate(word)
            | DccpOption::ReceiveRate(word) => self.put(option_type, &[], &word.to_be_bytes()),
            DccpOption::LossIntervals { skip, intervals } => {
                let LossIntervals(intervals) = intervals;
                self.put(option_type, &[skip], intervals.as_flattened())
            }
            DccpOption::DroppedPackets(DropCounts(counts)) => {
                self.put(option_type, &[], counts.as_flattened())
            }
        }
    }

    /// Writes an option from its type and data. Types 0 to 31 have no data, so `data` must be empty for them.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was written.
    pub fn raw_option(&mut self, option_type: u8, data: &[u8]) -> Result<(), NoRoom> {
        self.put(option_type, &[], data)
    }

    /// Writes an Ack Vector with these entries, newest packet first, with nonce 0.
    ///
    /// It writes as many options as needed, and none if there are no entries. (For nonce 1, write a
    /// [`DccpOption::AckVector`]. RFC 8311, section 6, made the nonce obsolete.)
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was written, not even the entries that would have fitted.
    pub fn ack_vector(
        &mut self,
        entries: impl IntoIterator<Item = AckEntry>,
    ) -> Result<(), NoRoom> {
        let entries = entries.into_iter().map(|entry| [entry.byte()]);
        self.split(ty::ACK_VECTOR_0, None, MAX_OPTION_DATA, entries)
    }

    /// Writes Data Dropped with these blocks, newest packet first.
    ///
    /// It writes as many options as needed, and none if there are no blocks.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was written, not even the blocks that would have fitted.
    pub fn data_dropped(
        &mut self,
        blocks: impl IntoIterator<Item = DropBlock>,
    ) -> Result<(), NoRoom> {
        let blocks = blocks.into_iter().map(|block| [block.byte()]);
        self.split(ty::DATA_DROPPED, None, MAX_OPTION_DATA, blocks)
    }

    /// Writes Loss Intervals, newest first, in as many options as needed.
    ///
    /// `skip` is in the first option, and zero in the others (RFC 4342, section 8.6.1).
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was written, not even the intervals that would have fitted.
    pub fn loss_intervals(
        &mut self,
        skip: u8,
        intervals: impl IntoIterator<Item = LossInterval>,
    ) -> Result<(), NoRoom> {
        let intervals = intervals.into_iter().map(LossInterval::to_bytes);
        let most = LossInterval::MAX_PER_OPTION;
        self.split(ty::LOSS_INTERVALS, Some(skip), most, intervals)
    }

    /// Writes Dropped Packets, newest interval first, in as many options as needed.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was written, not even the counts that would have fitted.
    pub fn dropped_packets(&mut self, counts: impl IntoIterator<Item = u32>) -> Result<(), NoRoom> {
        let counts = counts.into_iter().map(|count| {
            let [_, a, b, c] = count.min(DropCounts::MAX_COUNT).to_be_bytes();
            [a, b, c]
        });
        self.split(
            ty::DROPPED_PACKETS,
            None,
            DropCounts::MAX_PER_OPTION,
            counts,
        )
    }

    /// Finishes the head with a checksum of zero, for UDP encapsulation (RFC 6773, section 3.3).
    #[inline]
    pub fn finish(self) -> &'a HeadBuf {
        self.close()
    }

    /// Finishes the head with its checksum, for native DCCP.
    ///
    /// `covered` is the sum of the first [`checksum::coverage`] bytes of the payload. `payload_len` is the length of
    /// the whole payload.
    #[inline]
    pub fn finish_with_checksum(
        self,
        pseudo: PseudoHeader,
        covered: Sum,
        payload_len: usize,
    ) -> &'a HeadBuf {
        let cscov = self.buf.bytes[at::CCVAL_CSCOV] & 0x0F;
        debug_assert_eq!(
            covered.len(),
            checksum::coverage(cscov, payload_len),
            "the sum is of the part of the payload that CsCov covers"
        );
        let buf = self.close();
        let sum = checksum::compute(pseudo, buf.as_slice(), covered, payload_len);
        buf.bytes[at::CHECKSUM..at::TYPE].copy_from_slice(&sum.to_be_bytes());
        buf
    }

    /// Pads the head and writes its Data Offset.
    #[inline]
    fn close(self) -> &'a mut HeadBuf {
        // RFC 4340, 5.8 and 5.8.1: Padding fills the options up to a multiple of four bytes. The buffer may still hold
        // bytes of an earlier, longer head there.
        let end = self.padded_len();
        self.buf.bytes[self.at..end].fill(ty::PADDING);
        self.buf.bytes[at::DATA_OFFSET] = small(end / 4);
        self.buf.len = end;
        self.buf
    }

    /// Writes one option. Its data are `first` followed by `second`.
    #[inline]
    fn put(&mut self, option_type: u8, first: &[u8], second: &[u8]) -> Result<(), NoRoom> {
        let room = self.room();
        if option_type < ty::FIRST_WITH_LENGTH {
            debug_assert!(second.is_empty(), "option {option_type} has no data");
            if room == 0 {
                return Err(NoRoom { needed: 1, room });
            }
            self.buf.bytes[self.at] = option_type;
            self.at += 1;
            return Ok(());
        }
        let data_len = first.len() + second.len();
        let needed = data_len + 2;
        if needed > room || data_len > MAX_OPTION_DATA {
            let room = room.min(MAX_OPTION_DATA + 2);
            return Err(NoRoom { needed, room });
        }
        let out = &mut self.buf.bytes[self.at..self.at + needed];
        out[0] = option_type;
        // RFC 4340, 5.8: the length includes the type and length bytes.
        out[1] = small(needed);
        let (head, tail) = out[2..].split_at_mut(first.len());
        head.copy_from_slice(first);
        tail.copy_from_slice(second);
        self.at += needed;
        Ok(())
    }

    /// Writes `items` into as many options of one type as needed, at most `per_option` in each.
    ///
    /// `skip` is a byte before the items. It is zero in all options but the first.
    fn split<const N: usize>(
        &mut self,
        option_type: u8,
        mut skip: Option<u8>,
        per_option: usize,
        items: impl Iterator<Item = [u8; N]>,
    ) -> Result<(), NoRoom> {
        let start = self.mark();
        let mut length_at = 0;
        let mut left = 0;
        for item in items {
            let opening = if left == 0 {
                2 + usize::from(skip.is_some())
            } else {
                0
            };
            let (needed, room) = (opening + N, self.room());
            if needed > room {
                self.truncate(start);
                return Err(NoRoom { needed, room });
            }
            let bytes = &mut self.buf.bytes;
            if left == 0 {
                bytes[self.at] = option_type;
                length_at = self.at + 1;
                bytes[length_at] = small(opening);
                if let Some(skip) = &mut skip {
                    bytes[self.at + 2] = std::mem::take(skip);
                }
                self.at += opening;
                left = per_option;
            }
            bytes[self.at..self.at + N].copy_from_slice(&item);
            bytes[length_at] += small(N);
            self.at += N;
            left -= 1;
        }
        Ok(())
    }
}

/// Converts a length to a byte. An option has at most 255 bytes and a head at most 255 words.
#[inline]
fn small(length: usize) -> u8 {
    u8::try_from(length).expect("options and heads have at most 255 bytes and words")
}

/// Returns `bytes` without leading zeros, but always with the last byte.
///
/// RFC 4340, 7.7, and RFC 6323, 3.2.1, encode their numbers in this form.
#[inline]
fn significant(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    &bytes[zeros.min(bytes.len() - 1)..]
}

/// Returns an elapsed time in two bytes if it is below 0.65536 s, else in four (RFC 4340, sections 13.2 and 13.3).
#[inline]
fn elapsed_form(bytes: &[u8; 4]) -> &[u8] {
    match bytes {
        [0, 0, small @ ..] => small,
        _ => bytes,
    }
}

/// Writes the Acknowledgement Number with its reserved bytes, and returns the number of bytes written.
#[inline]
fn put_ack(out: &mut [u8], ack: SeqNo, short: bool) -> usize {
    match (short, ack) {
        (true, ack) => {
            out[0] = 0;
            put_u24(&mut out[1..], ack.short());
            4
        }
        (false, SeqNo::Long(ack)) => {
            out[..2].fill(0);
            put_u48(&mut out[2..], ack.get());
            8
        }
        (false, SeqNo::Short(_)) => {
            panic!("a packet with X = 1 needs all 48 bits of its Acknowledgement Number")
        }
    }
}

#[inline]
fn put_u24(out: &mut [u8], number: u32) {
    out[..3].copy_from_slice(&number.to_be_bytes()[1..]);
}

#[inline]
fn put_u48(out: &mut [u8], number: u64) {
    out[..6].copy_from_slice(&number.to_be_bytes()[2..]);
}

#[cfg(test)]
mod tests;
