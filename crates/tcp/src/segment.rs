//! A TCP segment as a value: what its headers would say and how long it would be.

use fairwire_units::Ecn;

use crate::sack::SackBlocks;

/// An IPv4 header without options, bytes.
pub const IPV4_HEADER: u32 = 20;
/// A TCP header without options, bytes.
pub const TCP_HEADER: u32 = 20;

/// Maximum segment size (4 bytes), window scale (3) and a no-operation to align them.
const SYN_OPTIONS: u32 = 8;
/// SACK-Permitted (2 bytes; RFC 2018, section 2) and two no-operations.
const SACK_PERMITTED: u32 = 4;
/// A timestamp option (10 bytes; RFC 7323, section 3.2) and two no-operations before it.
pub const TIMESTAMPS: u32 = 12;
/// Kind and length of the SACK option (RFC 2018, section 3) and two no-operations before it.
const SACK_HEAD: u32 = 4;
/// A block of it: two sequence numbers.
const SACK_BLOCK: u32 = 8;

/// A timestamp option (RFC 7323, section 3): times of the two sides' clocks, which count milliseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Timestamps {
    /// When this segment left (`TSval`).
    pub value: u32,
    /// The other side's time that is echoed (`TSecr`); zero on a SYN without ACK.
    pub echo: u32,
}

/// The header bits that are used here.
#[expect(
    clippy::struct_excessive_bools,
    reason = "one bit each, as in the header"
)]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flags {
    /// Opens a connection.
    pub syn: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// The sender has no more data at hand.
    pub psh: bool,
    /// Congestion was met on the way here; on a SYN, that this side uses ECN (RFC 3168, section 6.1).
    pub ece: bool,
    /// The window was reduced; on a SYN, that this side uses ECN (RFC 3168, section 6.1).
    pub cwr: bool,
}

/// One segment; every number as in its header, the payload as a length.
///
/// Sequence numbers count from an initial sequence number of zero and do not wrap: the header's
/// is the low 32 bits ([`seq_field`](Self::seq_field)). A SYN takes number 0, the first byte of data 1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TcpSegment {
    /// The first byte's number (the SYN's, if it is one).
    pub seq: u64,
    /// The number expected next from the other side, if the ACK flag is set.
    pub ack: u64,
    /// Header bits.
    pub flags: Flags,
    /// Bytes that this side takes beyond `ack`.
    pub window: u32,
    /// By how many bits this side scales the window field (RFC 7323, section 2); a SYN's is not scaled.
    pub window_shift: u8,
    /// The largest payload this side takes, as a SYN announces it.
    pub mss: u16,
    /// Bytes of payload.
    pub len: u32,
    /// A SYN's SACK-Permitted option (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// What has arrived beyond `ack` (RFC 2018, section 3); not on a SYN.
    pub sack: SackBlocks,
    /// The timestamp option, if the connection has them (RFC 7323, section 3).
    pub timestamps: Option<Timestamps>,
    /// The ECN field of the IP header around it: what the sender sets, and what the network left of it.
    pub ecn: Ecn,
}

impl TcpSegment {
    /// The length of its options, bytes: a SYN carries its segment size and window scale, and perhaps
    /// permits SACK; other segments carry SACK blocks, if there are any; and all of them timestamps, if the connection has
    /// them.
    pub const fn options_len(&self) -> u32 {
        let stamped = if self.timestamps.is_some() {
            TIMESTAMPS
        } else {
            0
        };
        match (self.flags.syn, self.sack_permitted, self.sack.len()) {
            // The two bytes that permit SACK stand where a timestamp has no-operations (RFC 7323, appendix A).
            (true, true, _) if stamped > 0 => SYN_OPTIONS + stamped,
            (true, false, _) => SYN_OPTIONS + stamped,
            (true, true, _) => SYN_OPTIONS + SACK_PERMITTED,
            (false, _, 0) => stamped,
            (false, _, blocks) => stamped + SACK_HEAD + SACK_BLOCK * blocks as u32,
        }
    }

    /// Its length as an IPv4 packet, bytes.
    pub const fn wire_len(&self) -> u32 {
        (IPV4_HEADER + TCP_HEADER + self.options_len()).saturating_add(self.len)
    }

    /// The number after its last byte.
    pub const fn end(&self) -> u64 {
        self.seq
            .saturating_add(self.len as u64)
            .saturating_add(self.flags.syn as u64)
    }

    /// The SACK blocks as the option has them.
    pub fn sack_fields(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.sack
            .iter()
            .map(|(start, end)| (low_bits(start), low_bits(end)))
    }

    /// The header's sequence number.
    pub const fn seq_field(&self) -> u32 {
        low_bits(self.seq)
    }

    /// The header's acknowledgement number: zero without the ACK flag.
    pub const fn ack_field(&self) -> u32 {
        if self.flags.ack {
            low_bits(self.ack)
        } else {
            0
        }
    }

    /// The header's window.
    pub fn window_field(&self) -> u16 {
        let shift = if self.flags.syn { 0 } else { self.window_shift };
        let field = self.window.checked_shr(u32::from(shift)).unwrap_or(0);
        u16::try_from(field).unwrap_or(u16::MAX)
    }
}

/// The low half, as numbers wrap on the wire (RFC 9293, section 3.4).
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

    /// A full segment of 1,000 bytes is the 1,040-byte packet of the simulators; a SYN has options.
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
        // RFC 7323, 3.2 and appendix A: twelve bytes on each segment; beside SACK-Permitted its no-operations are saved.
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
