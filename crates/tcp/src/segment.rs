//! A TCP segment as a value: the fields of its headers and its length.

use fairwire_units::Ecn;

use crate::sack::SackBlocks;

/// The length of an IPv4 header without options, bytes.
pub const IPV4_HEADER: u32 = 20;
/// The length of a TCP header without options, bytes.
pub const TCP_HEADER: u32 = 20;

/// The options of a SYN, bytes: maximum segment size (4), window scale (3) and a no-operation for alignment.
const SYN_OPTIONS: u32 = 8;
/// SACK-Permitted (2 bytes; RFC 2018, section 2) and two no-operations.
const SACK_PERMITTED: u32 = 4;
/// The timestamp option (10 bytes; RFC 7323, section 3.2) and two no-operations before it.
pub const TIMESTAMPS: u32 = 12;
/// Kind and length of the SACK option (RFC 2018, section 3) and two no-operations before it.
const SACK_HEAD: u32 = 4;
/// A block of the SACK option, bytes: two sequence numbers.
const SACK_BLOCK: u32 = 8;

/// A timestamp option (RFC 7323, section 3) with times of both sides' clocks, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Timestamps {
    /// When this segment left (`TSval`).
    pub value: u32,
    /// The echo of the other side's time (`TSecr`); zero on a SYN without ACK.
    pub echo: u32,
}

/// The header flags used here.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one bit each, as in the header"
)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flags {
    /// The segment opens a connection.
    pub syn: bool,
    /// The acknowledgement number is valid.
    pub ack: bool,
    /// The sender has no more data now.
    pub psh: bool,
    /// A segment arrived with a congestion mark. On a SYN: this side uses ECN (RFC 3168, section 6.1).
    pub ece: bool,
    /// The window was reduced. On a SYN: this side uses ECN (RFC 3168, section 6.1).
    pub cwr: bool,
}

/// One segment, with all numbers as in its header and the payload as a length.
///
/// Sequence numbers begin at zero and do not wrap; the header field has the low 32 bits
/// ([`seq_field`](Self::seq_field)). A SYN has number 0, the first byte of data number 1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TcpSegment {
    /// The number of the first byte, or of the SYN.
    pub seq: u64,
    /// The next number expected from the other side; valid if the ACK flag is set.
    pub ack: u64,
    /// The header flags.
    pub flags: Flags,
    /// The receive window: the bytes that this side accepts beyond `ack`.
    pub window: u32,
    /// The scale of this side's window field, bits (RFC 7323, section 2); the field of a SYN is not scaled.
    pub window_shift: u8,
    /// The largest payload that this side accepts, as a SYN announces it, bytes.
    pub mss: u16,
    /// The length of the payload, bytes.
    pub len: u32,
    /// Whether a SYN has the SACK-Permitted option (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// The data that has arrived beyond `ack` (RFC 2018, section 3); not on a SYN.
    pub sack: SackBlocks,
    /// The timestamp option, if the connection uses it (RFC 7323, section 3).
    pub timestamps: Option<Timestamps>,
    /// The ECN field of the IP header: set by the sender and possibly changed by the network.
    pub ecn: Ecn,
}

impl TcpSegment {
    /// Returns the length of the options, bytes.
    ///
    /// A SYN has its segment size and window scale, and possibly SACK-Permitted. Other segments have SACK blocks, if
    /// there are any. All segments have timestamps if the connection uses them.
    pub const fn options_len(&self) -> u32 {
        let stamped = if self.timestamps.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        match (self.flags.syn, self.sack_permitted, self.sack.len()) {
            // SACK-Permitted takes the place of the two no-operations of the timestamps (RFC 7323, appendix A).
            (true, true, _) if stamped > 0 => SYN_OPTIONS + stamped,
            (true, false, _) => SYN_OPTIONS + stamped,
            (true, true, _) => SYN_OPTIONS + SACK_PERMITTED,
            (false, _, 0) => stamped,
            (false, _, blocks) => stamped + SACK_HEAD + SACK_BLOCK * blocks as u32,
        }
    }

    /// Returns the length of the segment as an IPv4 packet, bytes.
    pub const fn wire_len(&self) -> u32 {
        (IPV4_HEADER + TCP_HEADER + self.options_len()).saturating_add(self.len)
    }

    /// Returns the number after the last byte.
    pub const fn end(&self) -> u64 {
        self.seq
            .saturating_add(self.len as u64)
            .saturating_add(self.flags.syn as u64)
    }

    /// Returns the SACK blocks as they are in the option.
    pub fn sack_fields(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.sack
            .iter()
            .map(|(start, end)| (low_bits(start), low_bits(end)))
    }

    /// Returns the sequence number field.
    pub const fn seq_field(&self) -> u32 {
        low_bits(self.seq)
    }

    /// Returns the acknowledgement number field: zero without the ACK flag.
    pub const fn ack_field(&self) -> u32 {
        if self.flags.ack {
            low_bits(self.ack)
        } else {
            0
        }
    }

    /// Returns the window field.
    pub fn window_field(&self) -> u16 {
        let shift = if self.flags.syn { 0 } else { self.window_shift };
        let field = self.window.checked_shr(u32::from(shift)).unwrap_or(0);
        u16::try_from(field).unwrap_or(u16::MAX)
    }
}

/// Returns the low half, because numbers wrap on the wire (RFC 9293, section 3.4).
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is wanted"
)]
const fn low_bits(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::{Flags, TcpSegment, Timestamps};

    /// A full segment of 1,000 bytes is a 1,040-byte packet as in simulators; SYN, SACK and timestamp options add to
    /// it.
    #[test]
    fn sizes_on_the_wire() {
        let data = TcpSegment {
            seq: 1,
            len: 1_000,
            ..TcpSegment::default()
        };
        assert_eq!(data.wire_len(), 1_040);
        assert_eq!(data.end(), 1_001);
        let syn = TcpSegment {
            flags: Flags {
                syn: true,
                ..Flags::default()
            },
            ..TcpSegment::default()
        };
        assert_eq!(syn.wire_len(), 48);
        assert_eq!(syn.end(), 1);
        let permits = TcpSegment {
            sack_permitted: true,
            ..syn
        };
        assert_eq!(permits.wire_len(), 52);
        for (blocks, wire_len) in [(0, 40), (1, 52), (2, 60), (3, 68)] {
            let sack = (0..blocks).map(|at| (10 * at, 10 * at + 5)).collect();
            let ack = TcpSegment {
                sack,
                ..TcpSegment::default()
            };
            assert_eq!(ack.wire_len(), wire_len, "{blocks} blocks");
        }
        // RFC 7323, 3.2 and appendix A: twelve bytes on each segment; with SACK-Permitted its no-operations are saved.
        let stamped = |segment: TcpSegment| {
            let timestamps = Some(Timestamps::default());
            let segment = TcpSegment {
                timestamps,
                ..segment
            };
            segment.wire_len()
        };
        assert_eq!(stamped(data), 1_052);
        assert_eq!((stamped(syn), stamped(permits)), (60, 60));
        let three = TcpSegment {
            sack: (0..3).map(|at| (10 * at, 10 * at + 5)).collect(),
            ..TcpSegment::default()
        };
        assert_eq!(stamped(three), 80, "all the room that a header has");
    }

    /// Header fields wrap and scale as on the wire, and absurd values saturate.
    #[test]
    fn fields_wrap_and_scale() {
        let mut segment = TcpSegment {
            seq: (1 << 32) + 5,
            ack: u64::MAX,
            window: 200_000,
            window_shift: 2,
            ..TcpSegment::default()
        };
        assert_eq!(segment.seq_field(), 5);
        assert_eq!(segment.ack_field(), 0, "no ACK flag");
        segment.flags.ack = true;
        assert_eq!(segment.ack_field(), u32::MAX);
        assert_eq!(segment.window_field(), 50_000);
        segment.flags.syn = true;
        assert_eq!(segment.window_field(), u16::MAX);
        segment.flags.syn = false;
        segment.window_shift = 200;
        assert_eq!(segment.window_field(), 0);
        segment.seq = u64::MAX;
        assert_eq!(segment.end(), u64::MAX);
    }
}
