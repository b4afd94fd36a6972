//! The Internet checksum, computed in parts: pseudo-header, head, covered payload (RFC 4340, sections 9.1 and 9.2).
//!
//! Each part is summed where it lies and the [`Sum`]s are joined, so a payload is read once and never copied. Parts may
//! have odd lengths: the bytes of a part that starts at an odd offset count in the other half of each 16-bit word.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::DecodeError;
use crate::header::at;

/// The IP protocol number of DCCP.
pub const IP_PROTOCOL: u8 = 33;

/// The one's complement sum of some bytes, and their number.
///
/// The sum is zero only if every byte is zero. Any other multiple of 65535 is represented as 65535.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Sum {
    value: u16,
    len: usize,
}

impl Sum {
    /// The sum of no bytes.
    pub const EMPTY: Self = Self { value: 0, len: 0 };

    /// Returns the sum of `bytes`.
    #[inline]
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            value: fold(sum_words(bytes)),
            len: bytes.len(),
        }
    }

    /// Returns the sum of `len` zero bytes.
    pub const fn zeros(len: usize) -> Self {
        Self { value: 0, len }
    }

    /// Returns the sum of these bytes followed by those of `next`.
    #[inline]
    pub fn join(self, next: Self) -> Self {
        let value = if self.len.is_multiple_of(2) {
            next.value
        } else {
            next.value.swap_bytes()
        };
        Self {
            value: fold(u64::from(self.value) + u64::from(value)),
            len: self.len.saturating_add(next.len),
        }
    }

    /// Returns the folded sum. Bytes of an odd number are padded with a zero byte.
    pub const fn value(self) -> u16 {
        self.value
    }

    /// Returns the number of bytes summed.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Returns whether no bytes were summed.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Returns the sum of the big-endian words of `bytes`, not folded.
#[inline]
fn sum_words(bytes: &[u8]) -> u64 {
    // The words are added in the machine's byte order, 32 bits at a time. This only swaps the bytes of the sum (RFC
    // 1071, section 2B), and the last line swaps them back. The compiler vectorises the two parallel sums. 64 bits
    // cannot overflow below 2^33 bytes.
    let (blocks, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let (mut first, mut second) = (0u64, 0u64);
    for block in blocks.iter().chain([&last]) {
        let pair = u64::from_ne_bytes(*block);
        first += pair & 0xFFFF_FFFF;
        second += pair >> 32;
    }
    u64::from(u16::from_be(fold(first + second)))
}

/// Folds a sum into 16 bits by adding the carries back in.
#[inline]
const fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + ((sum >> 16) & 0xFFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    let [.., high, low] = ((sum & 0xFFFF) + (sum >> 16)).to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// The part of the checksum that comes from the IP header, without the length (RFC 4340, section 9.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct PseudoHeader {
    sum: u16,
}

impl PseudoHeader {
    /// Returns the pseudo-header of a DCCP packet between two IPv4 addresses.
    pub fn v4(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self::of_protocol(sum_v4(source, destination), IP_PROTOCOL)
    }

    /// Returns the pseudo-header of a DCCP packet between two IPv6 addresses.
    pub fn v6(source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self::of_protocol(sum_v6(source, destination), IP_PROTOCOL)
    }

    /// Returns the pseudo-header between two addresses of one family, or `None` if the families differ.
    pub fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        Self::with_protocol(source, destination, IP_PROTOCOL)
    }

    /// Returns the pseudo-header for another protocol with the same checksum, for example UDP.
    pub(crate) fn with_protocol(source: IpAddr, destination: IpAddr, protocol: u8) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Some(Self::of_protocol(sum_v4(source, destination), protocol))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Some(Self::of_protocol(sum_v6(source, destination), protocol))
            }
            _ => None,
        }
    }

    /// Returns the pseudo-header for a sum of addresses and a protocol number (RFC 4340, section 9.1).
    ///
    /// The zero bytes between them are at different places in IPv4 and IPv6, which does not change the sum.
    #[inline]
    fn of_protocol(addresses: u64, protocol: u8) -> Self {
        Self {
            sum: fold(addresses + u64::from(protocol)),
        }
    }

    /// Returns the sum of this pseudo-header, a length field with the length of `packet`, and `packet`.
    pub(crate) fn total(self, packet: Sum) -> u16 {
        self.with_length(packet.len, packet)
    }

    /// Returns the sum of this pseudo-header, a length field of `packet_len`, and the bytes `summed`.
    ///
    /// RFC 4340, 9.1: the length field has 16 bits over IPv4 and 32 over IPv6, which gives the same sum. It is the
    /// length of the whole packet; `summed` may be only a part of it.
    #[inline]
    fn with_length(self, packet_len: usize, summed: Sum) -> u16 {
        let length = fold(packet_len as u64);
        fold(u64::from(self.sum) + u64::from(length) + u64::from(summed.value))
    }
}

/// Returns the sum of two addresses, not folded.
#[inline]
fn sum_v4(source: Ipv4Addr, destination: Ipv4Addr) -> u64 {
    u64::from(source.to_bits()) + u64::from(destination.to_bits())
}

/// Returns the sum of two addresses, not folded.
#[inline]
fn sum_v6(source: Ipv6Addr, destination: Ipv6Addr) -> u64 {
    sum_words(&source.octets()) + sum_words(&destination.octets())
}

/// Returns how many bytes of a payload of `payload_len` bytes the checksum covers (RFC 4340, section 9.2).
///
/// `cscov` is the Checksum Coverage field. A result above `payload_len` means that the packet is invalid.
#[inline]
pub const fn coverage(cscov: u8, payload_len: usize) -> usize {
    match (cscov & 0x0F) as usize {
        0 => payload_len,
        words => (words - 1) * 4,
    }
}

/// Computes the Checksum field of a packet with this `head`.
///
/// The Checksum field of `head` counts as zero, whatever it holds. `covered` is the sum of the first [`coverage`] bytes
/// of the payload. `payload_len` is the length of the whole payload, which is part of the pseudo-header.
#[inline]
pub fn compute(pseudo: PseudoHeader, head: &[u8], covered: Sum, payload_len: usize) -> u16 {
    let packet_len = head.len().saturating_add(payload_len);
    let total = pseudo.with_length(packet_len, Sum::of(head).join(covered));
    // To take the field out of a one's complement sum, add its complement.
    !fold(u64::from(total) + u64::from(!field(head)))
}

/// Verifies the Checksum field of a received packet. The arguments are those of [`compute`].
///
/// # Errors
/// [`DecodeError::Checksum`]; ignore the packet (RFC 4340, section 9.1).
#[inline]
pub fn verify(
    pseudo: PseudoHeader,
    head: &[u8],
    covered: Sum,
    payload_len: usize,
) -> Result<(), DecodeError> {
    let packet_len = head.len().saturating_add(payload_len);
    // All ones equals zero in one's complement, so both forms of a zero checksum pass.
    if pseudo.with_length(packet_len, Sum::of(head).join(covered)) == u16::MAX {
        return Ok(());
    }
    Err(DecodeError::Checksum {
        found: field(head),
        expected: compute(pseudo, head, covered, payload_len),
    })
}

#[inline]
fn field(head: &[u8]) -> u16 {
    match head.get(at::CHECKSUM..at::CHECKSUM + 2) {
        Some(&[high, low]) => u16::from_be_bytes([high, low]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
