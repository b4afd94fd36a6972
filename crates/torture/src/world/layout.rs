//! Reading the bytes of packets without the codec under test (RFC 4340, section 5).

use std::ops::Range;

/// The positions of the fields in a head.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The sequence number.
    pub(super) seq: Range<usize>,
    /// The acknowledgement number.
    pub(super) ack: Option<Range<usize>>,
    pub(super) options: Range<usize>,
}

impl Layout {
    /// Returns the positions in `head`, or `None` if the head is shorter than its fields.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let (&offset, &byte) = (head.get(4)?, head.get(8)?);
        let (kind, long) = (byte >> 1 & 15, byte & 1 == 1);
        let (generic, seq) = if long { (16, 10..16) } else { (12, 9..12) };
        // Request, Data and Listen have no acknowledgement number.
        let has_ack = !matches!(kind, 0 | 2 | 10);
        let (ack, after_ack) = match (has_ack, long) {
            (false, _) => (None, generic),
            (true, true) => (Some(generic + 2..generic + 8), generic + 8),
            (true, false) => (Some(generic + 1..generic + 4), generic + 4),
        };
        // The Service Code, or the Reset Code and data.
        let begin = after_ack + if matches!(kind, 0 | 1 | 7 | 10) { 4 } else { 0 };
        let end = usize::from(offset) * 4;
        (begin <= end && end <= head.len()).then_some(Self {
            seq,
            ack,
            options: begin..end,
        })
    }

    /// Returns the type and position of each option, without padding.
    pub(super) fn list(&self, head: &[u8]) -> Vec<(u8, Range<usize>)> {
        let mut list = Vec::new();
        let mut at = self.options.start;
        while at < self.options.end {
            let kind = head[at];
            let len = match kind {
                0..32 => 1,
                _ => usize::from(head.get(at + 1).copied().unwrap_or(0)),
            };
            if len == 0 || at + len > self.options.end || (kind >= 32 && len < 2) {
                break;
            }
            if kind != 0 {
                list.push((kind, at..at + len));
            }
            at += len;
        }
        list
    }
}

/// Returns the number at `place`.
pub(super) fn number(head: &[u8], place: Range<usize>) -> u64 {
    head[place]
        .iter()
        .fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// Returns the sequence number in a head, and whether it has 24 bits.
pub(super) fn sequence_number(head: &[u8]) -> Option<(u64, bool)> {
    let layout = Layout::of(head)?;
    let is_short = layout.seq.len() == 3;
    Some((number(head, layout.seq), is_short))
}
